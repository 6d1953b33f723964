"""Application of translation rules to the properties of a resource; see :mod:`orchestrator.plugins.translation`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from hooks.values.dataclass import dataclass
from hooks.values.frozen import thawed
from orchestrator.definition import UNKNOWN
from orchestrator.errors import PluginMistake, message_of
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.properties import (
    Property,
    PropertyError,
    PropertyNotVerified,
    PropertyPath,
    PropertyType,
    Walk,
    dotted,
)
from orchestrator.plugins.translation import (
    Add,
    Delete,
    Nothing,
    Replace,
    Resolve,
    Rule,
    RulePath,
    property_at,
    rule_mistakes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """Translated properties."""

    #: Converted; every name of the schema is a key.
    properties: dict[str, Any]
    #: The given properties, under their new names.
    given: Mapping[str, Any]
    #: The paths of deleted properties, whose faults are not reported.
    deleted: frozenset[RulePath] = frozenset()
    #: By place: where its value was written, if at another place.
    origins: Mapping[PropertyPath, PropertyPath] = field(default_factory=dict)

    def written_at(self, place: PropertyPath) -> PropertyPath:
        """Return the place where the value at a place was written."""
        return _origin(self.origins, place)


def translate(
    rules: Iterable[Rule],
    schema: Mapping[str, Property],
    properties: Mapping[str, object],
    given: Mapping[str, object],
    walk: Walk,
) -> Translated:
    """Apply rules to converted ``properties``, of which ``given`` were given; neither is changed.

    Errors are reported to ``walk`` with the path where the value was written: under its old name. With its clients,
    names are resolved; if it checks no constraints, names that do not exist are kept.

    Raises:
        PluginMistake: a rule refers to a property that does not exist.
        PropertyNotVerified: a name could not be looked up.
    """
    # Not deepcopy: values may be frozen.
    work = _Work(schema, thawed(properties), thawed(given), walk)
    ordered = sorted(rules, key=lambda rule: rule.rank)
    for rule in ordered:
        for mistake in rule_mistakes(schema, [rule]):
            raise PluginMistake(mistake)
        work.apply(rule)
    deleted = frozenset(rule.path for rule in ordered if isinstance(rule, Delete))
    return Translated(properties=work.properties, given=work.given, deleted=deleted, origins=work.origins)


class _Slot(NamedTuple):
    """The location of a property: the map that contains it, that map as given, its name, and its path."""

    held: dict[str, Any]
    given: dict[str, Any]
    name: str
    place: PropertyPath

    @property
    def value(self) -> object:
        return self.held.get(self.name)

    @property
    def is_given(self) -> bool:
        """Whether a value is given; null is no value, ``UNKNOWN`` is one."""
        return self.given.get(self.name) is not None

    def set(self, value: object) -> None:
        self.held[self.name] = self.given[self.name] = value

    def clear(self) -> None:
        self.held[self.name] = None
        self.given.pop(self.name, None)


@dataclass(slots=True)
class _Work:
    schema: Mapping[str, Property]
    properties: dict[str, Any]
    given: dict[str, Any]
    walk: Walk
    #: By place: where its value was written, if at another place.
    origins: dict[PropertyPath, PropertyPath] = field(default_factory=dict)
    #: By client, entity and name: the id, or the error.
    answers: dict[tuple[str, str, str], str | EntityNotFound | AmbiguousName] = field(default_factory=dict)

    def apply(self, rule: Rule) -> None:
        match rule:
            case Add():
                self._add(rule)
            case Replace():
                source = next(self._slots(rule.source), None) if rule.source else None
                if source is not None and (source.is_given or self._default_of(rule.source) is not None):
                    self._open(rule.path, is_given=source.is_given)
                for slot in self._slots(rule.path):
                    self._replace(rule, slot)
            case Resolve() if self.walk.clients is not None:
                for slot in self._slots(rule.path):
                    if slot.value:
                        slot.held[slot.name] = self._resolved(rule, slot.value, slot.place)
            case Delete():
                for slot in self._slots(rule.path):
                    slot.clear()

    def _slots(self, path: RulePath) -> Iterator[_Slot]:
        yield from _slots(self.properties, self.given, path, ())

    def _open(self, path: RulePath, *, is_given: bool) -> None:
        """Add the maps that contain a property, as far as they are not given; to the given ones, if it ``is_given``."""
        held, given = self.properties, self.given if is_given else {}
        for length, name in enumerate(path[:-1], 1):
            container = property_at(self.schema, path[:length])
            if container is None or container.type is not PropertyType.MAP:
                return
            if held.get(name) is None:
                held[name] = container.convert({}, (), Walk(lambda _: None, constraints=False))
            if not isinstance(given.get(name), dict):
                given[name] = {}
            if not isinstance(held[name], dict):
                return
            held, given = held[name], given[name]

    def _add(self, rule: Add) -> None:
        #: Each item with the place where it was written; None for those that the rule itself names.
        more: list[tuple[Any, PropertyPath | None]] = [(value, None) for value in rule.values]
        if rule.source:
            source = next(self._slots(rule.source), None)
            if source is None or not source.is_given:
                return
            value, place = source.value, source.place
            if isinstance(value, list):
                more = [(item, (*place, index)) for index, item in enumerate(value)]
            else:
                more = [(value, place)]
            source.clear()
        for slot in self._slots(rule.path):
            if slot.value is UNKNOWN or (slot.value is not None and not isinstance(slot.value, list)):
                continue
            items = [*(slot.value or ()), *(item for item, _ in more)]
            slot.set(items)
            slot.held[slot.name] = self._with_items_converted(rule, slot, items, more)

    def _with_items_converted(
        self, rule: Add, slot: _Slot, items: list[Any], more: list[tuple[Any, PropertyPath | None]]
    ) -> list[object]:
        """Return the items of a slot; the last ones, which a rule added, converted by the schema of the items."""
        found = property_at(self.schema, rule.path)
        schema = found.schema if found is not None and isinstance(found.schema, Property) else None
        converted = items[: len(items) - len(more)]
        for item, written in more:
            place = (*slot.place, len(converted))
            if written is not None:
                self.origins[place] = written
            converted.append(item if schema is None else schema.convert(item, written or place, self.walk))
        return converted

    def _replace(self, rule: Replace, slot: _Slot) -> None:
        found = property_at(self.schema, rule.path)
        if not isinstance(rule.value, Nothing):
            slot.set(rule.value)
            slot.held[slot.name] = _converted(found, rule.value, slot.place, self.walk)
            return
        other = rule.source or (*rule.path[:-1], rule.sibling)
        if rule.sibling:
            source: _Slot | None = slot._replace(name=rule.sibling, place=(*slot.place[:-1], rule.sibling))
        else:
            source = next(self._slots(rule.source), None)
        if source is None:
            return
        if not source.is_given:
            default = self._default_of(other)
            if default is not None:
                source.held[source.name] = None
            if default is not None and not slot.is_given:
                slot.held[slot.name] = _converted(found, default, slot.place, self.walk)
            return
        if slot.is_given:
            if not self.walk.constraints:
                return
            new, old = dotted(slot.place), dotted(source.place)
            message = f"it cannot be given together with {new}: they are two names of one thing"
            self.walk.report(PropertyError(source.place, message, f"give only {new}, and take {old} away"))
            return
        value = source.value
        self.origins[slot.place] = source.place
        source.clear()
        slot.set(value)
        # The value must satisfy the schema of its new name, too; errors have the path where it was written.
        slot.held[slot.name] = _converted(found, value, source.place, self.walk)

    def _default_of(self, path: RulePath) -> object:
        found = property_at(self.schema, path)
        return None if found is None else found.absent()

    def _resolved(self, rule: Resolve, value: object, place: PropertyPath) -> object:
        if isinstance(value, list):
            return [self._resolved(rule, item, (*place, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or not value:
            return value
        key = rule.client, rule.entity, value
        if key not in self.answers:
            self.answers[key] = self._found(rule, value, place)
        answer = self.answers[key]
        if isinstance(answer, str):
            return answer
        if self.walk.constraints:
            veiled = f"it must be the name or id of one {rule.entity}"
            self.walk.report(PropertyError(_origin(self.origins, place), str(answer), veiled=veiled))
        return value

    def _found(self, rule: Resolve, name: str, place: PropertyPath) -> str | EntityNotFound | AmbiguousName:
        assert self.walk.clients is not None  # noqa: S101  # see apply
        try:
            return self.walk.clients.get(rule.client).find(rule.entity, name, use_cache=True)
        except (EntityNotFound, AmbiguousName) as error:
            return error
        except PluginMistake:
            raise
        except Exception as error:
            why = message_of(error)
            veiled = f"cannot look up the {rule.entity} that it names"
            fault = PropertyError(_origin(self.origins, place), f"{veiled}: {why}", veiled=veiled)
            raise PropertyNotVerified(fault) from error


def _converted(schema: Property | None, value: object, place: PropertyPath, walk: Walk) -> object:
    return value if schema is None else schema.convert(value, place, walk)


def _origin(origins: Mapping[PropertyPath, PropertyPath], place: PropertyPath) -> PropertyPath:
    for length in range(len(place), 0, -1):
        if place[:length] in origins:
            return (*origins[place[:length]], *place[length:])
    return place


def _slots(held: object, given: object, path: RulePath, place: PropertyPath) -> Iterator[_Slot]:
    if isinstance(held, list):
        for index, item in enumerate(held):
            yield from _slots(item, _item(given, index), path, (*place, index))
    elif isinstance(held, dict):
        given = given if isinstance(given, dict) else {}
        name = path[0]
        if len(path) == 1:
            yield _Slot(held, given, name, (*place, name))
        else:
            yield from _slots(held.get(name), given.get(name), path[1:], (*place, name))


def _item(given: object, index: int) -> object:
    return given[index] if isinstance(given, list) and index < len(given) else None
