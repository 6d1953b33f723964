"""Match each desired resource to an existing row, and decide whether the row is left as it is.

Pure: the rows and what was applied to them are given.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import ResourceProxy, is_unknown
from orchestrator.errors import IsothermError
from orchestrator.model.actions import is_suspended
from orchestrator.model.graph import Graph
from orchestrator.model.plan import IMPORTED, DesiredResource, Match, Row
from orchestrator.planning.decision import (
    PROTECTED,
    WHOLE,
    Action,
    meaning_of,
    restricting,
    restrictions_of,
    takes_its_place,
)
from orchestrator.planning.fingerprints import definition_hash, metadata_hash
from orchestrator.planning.preparation import Prepared, blank_stack
from orchestrator.planning.rows import names_of, node_data_of
from orchestrator.plugins.resource import Resource
from orchestrator.store.stacks.presences import Presence
from orchestrator.store.stacks.resource_history import History
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.definitions import PLACE_KEYS
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types

Fragment = Mapping[str, Any]

NO_METADATA: Final = metadata_hash({})
#: Why a resource is replaced that the update names.
REQUESTED: Final = "its replacement was requested"


class Matcher:
    """Matches the desired resources of one stack with its rows."""

    def __init__(
        self,
        prepared: Prepared,
        desired_resources: Sequence[DesiredResource],
        rows: Sequence[ResourceRow],
        history: History,
        types: Types,
        *,
        values_before: Mapping[str, object] | None = None,
        refresh: bool = False,
        doubted: Collection[str] = (),
        renews: bool = False,
        protected: Collection[str] = (),
        unprotect: bool = False,
        has_moves: bool = False,
        focus: Collection[str] | None = None,
        replaces: Collection[str] = (),
    ) -> None:
        """Keep the arguments; ``values_before`` are the present values of the stack's parameters.

        With ``refresh``, no row is left as it is; ``doubted`` are the ids of single ones of that kind. With
        ``renews``, rows that every update replaces are replaced. Rows with the ids ``protected`` are not replaced,
        unless ``unprotect``, which holds for their nested stacks as well. With ``has_moves``, matches say whether
        definitions are only reworded. With ``focus``, all of this holds for the resources of these names alone. The
        resources ``replaces`` are replaced in any case.
        """
        self._has_moves = has_moves
        self._focus, self._replaces = focus, frozenset(replaces)
        self._protected, self._unprotect = protected, unprotect
        self._values_before = values_before or {}
        self._by_id = {row.id: row for row in rows}
        self._refresh, self._renews = refresh, renews
        self._doubted = frozenset(row.id for row in rows if row.id in doubted and self._has_focus(row))
        #: The rows that are not clean, whatever is on record.
        self._unclear = self._doubted | history.unsettled
        self._template, self._types, self._history = prepared.template, types, history
        self._desired = {desired.name: desired for desired in desired_resources}
        self._rows: dict[str, list[ResourceRow]] = {}
        for row in rows:
            self._rows.setdefault(row.name, []).append(row)
        self._chosen: dict[str, ResourceRow] = {}
        #: The resources that may come to differ from their rows, or depend on one that may.
        self._visited: set[str] = set()
        #: The class of each type that was looked up.
        self._kinds: dict[str, type[Resource] | None] = {}
        #: The stack as it is, as far as rows are chosen.
        self._proxies, self._stack = blank_stack(prepared)

    def matches(self) -> dict[str, Match]:
        """Return the match of each desired resource, by name."""
        graph = Graph({name: desired.requires for name, desired in self._desired.items()})
        return {name: self._match(self._desired[name]) for name in graph.in_order()}

    def _match(self, desired: DesiredResource) -> Match:
        rows = [row for row in self._rows.get(desired.name, ()) if self._fits(desired, row)]
        refusal = self._refusal(desired, rows)
        clean = [row for row in rows if self._is_clean(desired, row)]
        if not rows:
            self._visited.add(desired.name)
            return Match(refusal=refusal)
        row = self._first(desired, rows) or self._best(desired, rows, clean)
        self._chosen[desired.name] = row
        # What was found when it was replaced is not on record: perhaps that it is gone.
        is_taken_back = row.replaced_by is not None
        is_replaced = desired.name in self._replaces
        is_clean = row in clean and not is_taken_back and not is_replaced
        if not is_clean or not self._visited.isdisjoint(desired.requires):
            self._visited.add(desired.name)
        data = node_data_of(row, self._kind(row.type))
        if _is_complete(row):
            kind = self._proxies[desired.name].type
            self._proxies[desired.name] = ResourceProxy(name=desired.name, type=kind, data=data)
        new_metadata = self._has_new_metadata(desired, row)
        return Match(
            row=plan_row(row),
            clean=is_clean,
            read_only=not (is_clean or is_taken_back or is_replaced)
            and self._has_all_but_attributes(desired, row),
            reworded=self._has_moves
            and not (is_clean or is_taken_back or is_replaced)
            and self._is_reworded(desired, row),
            node_data=data.to_wire() if _is_complete(row) else None,
            new_metadata=new_metadata,
            adopting=self._adopting(row),
            refusal=refusal,
            step_data=self._step_data(
                row,
                others=[each.id for each in rows if each is not row] if is_taken_back else [],
                is_in_doubt=self._is_refreshed(row) or is_taken_back or row.id in self._doubted,
                is_other=row not in clean and (new_metadata or self._may_be_other(desired, row)),
            ),
        )

    def _kind(self, name: str) -> type[Resource] | None:
        if name not in self._kinds:
            self._kinds[name] = kind_of_type(self._types, name)
        return self._kinds[name]

    def _refusal(self, desired: DesiredResource, fitting: Sequence[ResourceRow]) -> str:
        """Return why a desired resource is refused that would replace rows which cannot become it."""
        if any(row.action != "INIT" for row in fitting):
            return ""
        others = [row for row in self._rows.get(desired.name, ()) if row.action not in ("INIT", "DELETE")]
        protects = not self._unprotect and any(row.id in self._protected for row in others)
        restricted = restrictions_of(desired.fragment, {PROTECTED: protects})
        return restricting(restricted, Action.REPLACE) if others else ""

    def _first(self, desired: DesiredResource, rows: Sequence[ResourceRow]) -> ResourceRow | None:
        """Return the row that was there before updates renewed it, where that is brought back; else None.

        Such rows have equal definitions.
        """
        kind = self._kind(desired.type)
        if self._renews or kind is None or not kind.renewed_by_updates:
            return None
        return min(rows, key=lambda row: (not _is_sound(row), row.created_at, row.replaced_by is None))

    def _best(
        self, desired: DesiredResource, rows: Sequence[ResourceRow], clean: Sequence[ResourceRow]
    ) -> ResourceRow:
        """Return the row that comes nearest to the desired resource.

        A clean row is the right one if everything that it depends on stays as it is. Otherwise it is clean by values
        that this traversal is about to change, such as those that a rollback takes back: then a sound row that was made
        for the same definition is preferred, whether it is replaced by now or not; then one that can be changed in
        place. The worker decides by the real values what becomes of it.
        """
        if len(rows) == 1 or (clean and self._visited.isdisjoint(desired.requires)):
            return max(clean or rows, key=standing)
        sound = [row for row in rows if (_is_sound(row) or _is_in_doubt(row)) and not self._is_renewed(row)]
        for different in (self._differs, self._differs_for_good):
            if made_for_it := [row for row in sound if not different(desired, row)]:
                return max(made_for_it, key=standing)
        return max(clean or rows, key=standing)

    def _differs(self, desired: DesiredResource, row: ResourceRow) -> frozenset[str]:
        """Return the properties for which a row was made otherwise than is desired.

        It contains ``WHOLE`` if that is not known, and "" if the template of a nested stack differs.
        """
        before = self._history.applied.get(row.id, {})
        recipe, desired_recipe = before.get("recipe"), desired.fragment["recipe"]
        if recipe is None:
            return frozenset((WHOLE,))
        names = recipe.keys() | desired_recipe.keys()
        different = frozenset(name for name in names if recipe.get(name) != desired_recipe.get(name))
        return different if before.get("child") == desired.fragment.get("child") else different | {""}

    def _differs_for_good(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether a row was made otherwise than is desired, and cannot be changed in place."""
        kind = self._kind(desired.type)
        schema = kind.properties_schema if kind else {}
        return any(
            name == WHOLE or meaning_of(schema.get(name)) is not Action.UPDATE
            for name in self._differs(desired, row)
        )

    def _adopting(self, row: ResourceRow) -> dict[str, object] | None:
        """Return the adoption data of a row whose object is not adopted yet; else None.

        ``certain``: the objects that it depends on are still as the adoption data describe them.
        """
        if row.action != "ADOPT" or row.status == "COMPLETE":
            return None
        planned = self._history.planned.get(row.id, {})
        data = planned.get("adopting") or {
            "definition": planned.get("definition", {}),
            "files": planned.get("files", {}),
            "parameters": dict(self._values_before),
            "certain": True,
            **({IMPORTED: True} if planned.get(IMPORTED) else {}),
        }
        required = [self._by_id[each] for each in row.requires if each in self._by_id]
        return {**data, "certain": data["certain"] and all(map(_is_as_found, required))}

    def _step_data(
        self, row: ResourceRow, *, others: Sequence[str], is_in_doubt: bool, is_other: bool
    ) -> dict[str, object]:
        data: dict[str, Any] = {"refresh": True} if is_in_doubt else {}
        data |= names_of(row)
        if others:
            data["others"] = others
        if is_other:
            data["reread"] = True
        if self._unprotect:
            data["unprotect"] = True
        elif row.id in self._protected:
            data[PROTECTED] = True
        if row.unhealthy:
            data["replace"] = row.reason or "it was marked unhealthy"
        elif row.name in self._replaces:
            data["replace"] = REQUESTED
        elif self._is_renewed(row):
            data["replace"] = "every update makes another one"
        return data

    def _may_be_other(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether another type or other code applied what is on record, or it may still be changed."""
        if row.id in self._history.unsettled:
            return True
        kind = self._kind(desired.type)
        if kind is None or row.properties is None:
            return True
        return row.definition_hash != definition_hash(desired.type, row.properties, kind.type_version)

    def _is_renewed(self, row: ResourceRow) -> bool:
        kind = self._kind(row.type)
        return self._renews and self._has_focus(row) and kind is not None and kind.renewed_by_updates

    def _is_refreshed(self, row: ResourceRow) -> bool:
        return self._refresh and self._has_focus(row)

    def _has_focus(self, row: ResourceRow) -> bool:
        return self._focus is None or row.name in self._focus

    def _fits(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether the row can become the desired resource."""
        before = self._history.planned.get(row.id, {}).get("definition", {})
        return (
            (row.type == desired.type or self._takes_its_place(desired, row))
            and row.action != "DELETE"
            and before.get("e") == desired.fragment["definition"].get("e")
        )

    def _takes_its_place(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether the desired type is the row's under another name, and can read what was applied."""
        named = frozenset(row.properties or ())
        if row.id in self._history.unsettled:
            # What is being made of it by now is not on record yet.
            named |= frozenset(self._history.planned.get(row.id, {}).get("definition", {}).get("p", ()))
        before, after = self._kind(row.type), self._kind(desired.type)
        return takes_its_place((row.type, desired.type), before, after, named)

    def _has_new_metadata(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether the template's metadata changed, or are not known yet."""
        definition = self._template.resources[desired.name]
        if not definition.metadata:
            return row.metadata_hash not in (None, NO_METADATA)
        try:
            metadata = definition.resolve_metadata(self._stack)
        except IsothermError:
            return True
        return is_unknown(metadata) or row.metadata_hash != metadata_hash(metadata)

    def _is_clean(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether visiting the row would change nothing, as long as what it depends on stays as it is."""
        return (
            self._is_sound_as_defined(desired, row)
            and self._has_attributes(desired, row)
            and self._is_applied(desired, row)
        )

    def _is_sound_as_defined(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether the row is sound, and its definition and requirements are those on record."""
        is_unclear = self._is_refreshed(row) or row.id in self._unclear
        if is_unclear or self._is_renewed(row) or not _is_sound(row):
            return False
        if not _are_alike(self._history.applied.get(row.id, {}), desired.fragment):
            return False
        required = [self._chosen.get(name) for name in desired.requires]
        if any(each is None or not _is_complete(each) for each in required):
            return False
        return set(row.requires) == {each.id for each in required if each}

    @staticmethod
    def _has_attributes(desired: DesiredResource, row: ResourceRow) -> bool:
        return desired.wanted <= {tuple(path) for path, _ in row.attributes}

    def _has_all_but_attributes(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether visiting the row would only read attributes, as long as what it depends on stays as it is."""
        return (
            not self._has_attributes(desired, row)
            and self._is_sound_as_defined(desired, row)
            and self._is_applied(desired, row)
        )

    def _is_reworded(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether visiting the row would update nothing, as long as what it depends on stays as it is."""
        kind = self._kind(desired.type)
        is_unclear = self._is_refreshed(row) or row.id in self._unclear
        if kind is None or kind.always_updates or is_unclear or self._is_renewed(row) or not _is_sound(row):
            return False
        return row.type == desired.type and self._is_applied(desired, row)

    def _is_applied(self, desired: DesiredResource, row: ResourceRow) -> bool:
        """Whether the desired properties and metadata are those on record."""
        # The fingerprint includes the type: the row's type may be one that was never applied.
        return row.definition_hash == self._wanted_hash(desired) and not self._has_new_metadata(desired, row)

    def _wanted_hash(self, desired: DesiredResource) -> str | None:
        """Return the fingerprint of the desired resource, given its requirements as they are; None if unknown."""
        definition = self._template.resources[desired.name]
        try:
            external = definition.external_id is not None
            properties = {} if external else definition.resolve_properties(self._stack)
        except IsothermError:
            return None
        # Those of a nested stack whose parameters are not known yet.
        if is_unknown(properties):
            return None
        kind = self._kind(desired.type)
        # It was installed when the job was examined.
        return None if kind is None else definition_hash(desired.type, properties, kind.type_version)


def successors(rows: Iterable[ResourceRow], matches: Mapping[str, Match]) -> dict[str, str | None]:
    """Return, by row id, which row takes its place from now on, where that is another one than is on record.

    One row of a name is in service, however many others cannot be taken away: that which the name is matched with. It
    may have been replaced before by one that is old now.
    """
    chosen = {name: match.row.id for name, match in matches.items() if match.row is not None}
    return {
        row.id: None if row.id == chosen[row.name] else chosen[row.name]
        for row in rows
        if row.name in chosen and (row.id == chosen[row.name]) is (row.replaced_by is not None)
    }


def plan_row(row: ResourceRow, fragment: Fragment | None = None) -> Row:
    """Return the columns of a row that planning needs; ``fragment`` is the additional data of its cleanup."""
    return Row(
        id=row.id,
        name=row.name,
        type=row.type,
        action=row.action,
        status=row.status,
        requires=row.requires,
        fragment=fragment or {},
    )


def _is_complete(row: ResourceRow | Presence) -> bool:
    return row.action not in ("INIT", "DELETE") and row.status == "COMPLETE"


def _is_as_found(row: ResourceRow) -> bool:
    """Whether nothing was done to a resource but to adopt it."""
    return row.action == "ADOPT" and row.replaced_by is None


def _is_sound(row: ResourceRow) -> bool:
    return _is_complete(row) and not row.unhealthy and not is_suspended(row.action, row.status)


def _is_in_doubt(row: ResourceRow) -> bool:
    """Whether a row was replaced after a worker had died at it: the worker that takes it back looks at its object."""
    return row.replaced_by is not None and (row.action, row.status) == ("UPDATE", "IN_PROGRESS")


def standing(row: ResourceRow | Presence) -> tuple[bool, bool, float]:
    """Return the sort key of the rows of one name: complete, not replaced yet, younger."""
    return _is_complete(row), row.replaced_by is None, row.created_at


def _are_alike(one: Fragment, other: Fragment) -> bool:
    """Return whether two fragments differ in nothing that is applied to a resource."""
    # In an unchanged template all places are the same, too.
    return one == other or _definition_and_files(one) == _definition_and_files(other)


def _definition_and_files(fragment: Fragment) -> object:
    """Return the definition and the files of a fragment, without places in the template's text."""
    definition = fragment.get("definition", {})
    plain = {key: value for key, value in definition.items() if key not in PLACE_KEYS and key != "v"}
    return plain, fragment.get("files"), fragment.get("child")
