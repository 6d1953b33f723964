"""Translation rules: old names of properties, and names in place of ids, as resource types declare them.

A type returns rules from ``Resource.translation_rules``; :mod:`orchestrator.plugins.translating` applies them, in the
order Add, Replace, Resolve, Delete, whatever the order they are listed in. Actions, properties groups, ``validate`` and
the comparison of an update see translated properties: replacing an old name by the new one is no change.

A path leads from the properties down through maps and into every item of lists: ``("networks", "port")``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import PluginMistake
from orchestrator.plugins.properties import (
    Property,
    PropertyType,
)

#: Names down to a property; lists on the way take no step.
RulePath = tuple[str, ...]


class Nothing:
    """The type of the marker for a missing literal: any value, including None, may be a literal."""


_NOTHING: Final = Nothing()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Base of the rules; ``path`` is the property that a rule changes."""

    path: RulePath
    #: Rules of lower ranks are applied first.
    rank: ClassVar[int]


@dataclass(frozen=True, kw_only=True)
class Add(Rule):
    """Appends items to a list: ``values``, or the value of ``source`` (its items, if it is a list itself).

    The value moves: ``source`` is null afterwards. The schema of the list's items applies to the added ones.

    Raises:
        PluginMistake: neither or both are given.
    """

    values: tuple[Any, ...] = ()
    source: RulePath = ()
    rank = 0

    def __post_init__(self) -> None:
        if bool(self.values) == bool(self.source):
            raise PluginMistake(f"an Add to {'.'.join(self.path)} needs either values or a source")


@dataclass(frozen=True, kw_only=True)
class Replace(Rule):
    """Replaces a property by the value of another one, its old name, or by a literal.

    The other is at ``source``, or in the same map as ``sibling``. Its value moves: it is null afterwards. Templates may
    not give both; if they give neither, the default of the old name counts, if it has one.

    Raises:
        PluginMistake: not exactly one of the three is given.
    """

    source: RulePath = ()
    sibling: str = ""
    value: Any = _NOTHING
    rank = 1

    def __post_init__(self) -> None:
        if [bool(self.source), bool(self.sibling), self.value is not _NOTHING].count(True) != 1:
            raise PluginMistake(f"a Replace of {'.'.join(self.path)} needs a source, a sibling, or a value")


@dataclass(frozen=True, kw_only=True)
class Resolve(Rule):
    """Replaces a name, or each item of a list of names, by the id that the client plugin ``client`` finds for it.

    Validation without clients keeps the names.
    """

    client: str
    entity: str
    rank = 2


@dataclass(frozen=True, kw_only=True)
class Delete(Rule):
    """Replaces a property by null; problems with its value are not reported."""

    rank = 3


def rule_mistakes(schema: Mapping[str, Property], rules: Iterable[Rule]) -> Iterator[str]:
    """Yield a sentence about each mistake in the rules for a schema."""
    for rule in rules:
        found = property_at(schema, rule.path)
        described = f"{type(rule).__name__} of {'.'.join(rule.path)}"
        if found is None:
            yield f"{described}: there is no such property"
            continue
        for other in _others(rule):
            if property_at(schema, other) is None:
                yield f"{described}: there is no property {'.'.join(other)}"
        if isinstance(rule, Add) and found.type is not PropertyType.LIST:
            yield f"{described}: only a list can have more items, and this is a {found.type}"
        if isinstance(rule, Add | Replace) and rule.source and _passes_list(schema, rule.source):
            yield f"{described}: its source is in a list, of which it may be any item"


def property_at(schema: Mapping[str, Property], path: RulePath) -> Property | None:
    """Return the schema of the property at a path; None if there is none."""
    found: Property | None = None
    children: Any = schema
    for name in path:
        found = children.get(name) if isinstance(children, Mapping) else None
        if found is None:
            return None
        children = found.schema.schema if isinstance(found.schema, Property) else found.schema
    return found


def _others(rule: Rule) -> Iterator[RulePath]:
    if isinstance(rule, Add | Replace) and rule.source:
        yield rule.source
    if isinstance(rule, Replace) and rule.sibling:
        yield (*rule.path[:-1], rule.sibling)


def _passes_list(schema: Mapping[str, Property], path: RulePath) -> bool:
    above = (property_at(schema, path[:length]) for length in range(1, len(path)))
    return any(each is not None and each.type is PropertyType.LIST for each in above)
