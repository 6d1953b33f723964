"""The changes of properties by an update, as a plan shows them: possible secrets are masked, part by part."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from hooks.values.secret_texts import masked, texts_in
from orchestrator.definition import UNKNOWN, StackDefinition, is_unknown
from orchestrator.errors import IsothermError
from orchestrator.model.plan import is_imported
from orchestrator.planning.applied import AppliedDefinitions
from orchestrator.planning.decision import WHOLE, Action, Decision, meaning_of
from orchestrator.plugins.properties import dotted
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.sensitive import is_sensitive
from orchestrator.sandbox.budget import TooMuch, keep
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.hiding import HIDDEN
from orchestrator.views.stacks import PartChange, PropertyChange

#: Shown in place of a value that is known only once a resource exists.
KNOWN_LATER: Final = "(known once it exists)"
#: In the place of a part that is not there.
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanges:
    """Shows the changes of the properties of a stack's resources."""

    applied: AppliedDefinitions
    #: The stack as far as it is known before the update.
    stack: StackDefinition
    hidden: Collection[str]

    def of(
        self,
        definition: ResourceDefinition,
        row: ResourceRow,
        fragment: Mapping[str, Any] | None,
        kind: type[Resource],
        decided: Decision,
    ) -> Iterator[PropertyChange]:
        """Yield the changes of one resource; ``fragment`` is the definition that was applied to its row last."""
        names = sorted(decided.changed | decided.possible)
        if not names or decided.changes is None:
            return
        if names == [WHOLE]:
            yield PropertyChange(
                name="", before=HIDDEN, after=KNOWN_LATER, meaning=Action.UPDATE.value, is_certain=False
            )
            return
        whole = definition.properties_expression
        parts = whole.entries()
        shown_after = whole.shown(self.stack, self.hidden, later=KNOWN_LATER)
        shown_before = {**self.applied.shown(row, fragment), **self._as_imported(row, fragment, kind)}
        given = self._given(definition)
        for name in names:
            default = _default(kind, name)
            before = shown_before.get(name, _or_hidden(decided.changes.before.get(name), default))
            if name in parts:
                before = parts[name].replaced_by_secrets(before, self.hidden)
            elif whole.is_call:
                before = whole.replaced_by_secrets(before, self.hidden)
            after: object = KNOWN_LATER
            if isinstance(shown_after, dict) and name in shown_after:
                after = shown_after[name]
            elif not isinstance(shown_after, dict) and shown_after is not None:
                after = shown_after
            elif name in decided.changed:
                after = _or_hidden(decided.changes.after.get(name), default)
            before, after = kept(before), kept(after)
            old = (row.properties or {}).get(name, _ABSENT)
            differing = _parts((), (old, given.get(name, _ABSENT)), (before, after))
            yield PropertyChange(
                name=name,
                before=before,
                after=after,
                meaning=meaning_of(kind.properties_schema.get(name)).value,
                is_certain=name in decided.changed,
                parts=tuple(part for part in differing if part.path),
            )

    def _as_imported(
        self, row: ResourceRow, fragment: Mapping[str, Any] | None, kind: type[Resource]
    ) -> dict[str, object]:
        """Return the properties of an object as it was imported, which its definition does not contain.

        Left out are those that are declared as sensitive or computed from secrets, and those with a hidden value.
        """
        if not fragment or not is_imported(fragment):
            return {}
        whole = ResourceDefinition.from_fragment(
            row.name, fragment["definition"], self.applied.limits
        ).properties_expression
        parts = whole.entries()
        values = self.applied.context.get("parameters", {})
        secrets = [text for name in self.hidden if name in values for text in texts_in(values[name])]

        def is_open(name: str, value: object) -> bool:
            if is_sensitive(kind.properties_schema, (name,)):
                return False
            if name in parts and parts[name].reads_secret(self.stack, self.hidden):
                return False
            return not any(text in secrets or masked(text, secrets) != text for text in texts_in(value))

        if whole.is_call:
            return {}
        return {name: value for name, value in (row.properties or {}).items() if is_open(name, value)}

    def _given(self, definition: ResourceDefinition) -> Mapping[str, object]:
        try:
            return definition.resolve_properties(self.stack)
        except IsothermError:
            return {}


def kept(value: object) -> object:
    """Return a value to be shown, or the reason why it is left out if it exceeds the limits."""
    try:
        keep(value)
    except TooMuch as error:
        return f"(left out: this value {error})"
    return value


def _default(kind: type[Resource], name: str) -> object:
    prop = kind.properties_schema.get(name)
    return None if prop is None else prop.absent()


def _or_hidden(value: object, default: object) -> object:
    """Return the value of a property that is not given; one that a translation rule made may be a secret."""
    if is_unknown(value):
        return KNOWN_LATER
    return value if value == default else HIDDEN


def _parts(
    path: tuple[str | int, ...], real: tuple[Any, Any], shown: tuple[Any, Any]
) -> Iterator[PartChange]:
    """Yield what differs between two values, or may; the change of a whole has an empty path."""
    old, new = real
    if old is not UNKNOWN and not is_unknown(new) and old == new:
        return
    keys: list[tuple[str | int, tuple[Any, Any], tuple[Any, Any]]] = []
    if all(isinstance(each, dict) for each in (*real, *shown)):
        keys = [
            (key, tuple(each.get(key, _ABSENT) for each in real), tuple(each.get(key) for each in shown))
            for key in {**old, **new}
        ]
    elif all(isinstance(each, list) for each in (*real, *shown)):
        items = zip_longest(old, new, *shown, fillvalue=_ABSENT)
        keys = [
            (index, (a, b), (_none(shown_a), _none(shown_b)))
            for index, (a, b, shown_a, shown_b) in enumerate(items)
        ]
    if not keys:
        yield PartChange(path=dotted(path), before=shown[0], after=shown[1])
    for key, real_part, shown_part in keys:
        yield from _parts((*path, key), real_part, shown_part)


def _none(value: object) -> object:
    return None if value is _ABSENT else value
