"""Old names of properties, and names in place of ids: what a type lists so that templates may use them.

A type returns rules from ``Resource.translation_rules``; :mod:`orchestrator.plugins.translating` applies them, in the
order Add, Replace, Resolve, Delete, whatever the order they are listed in. What a type is given, what its groups and
its ``validate`` see, and what an update compares is what the rules leave: an old name exchanged for the new one is no
change.

A path leads from the properties down through maps and into every item of lists: ``("networks", "port")``.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from orchestrator.errors import PluginMistake
from orchestrator.plugins.properties import (
    Property,
    PropertyType,
)

#: Names down to a property; lists on the way take no step.
RulePath = tuple[str, ...]


class Nothing:
    """The type of what stands where no literal is given: any value, also None, may be one."""


_NOTHING: Final = Nothing()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Base of the rules; ``path`` is the property that a rule is about."""

    path: RulePath
    #: Which rules come first.
    rank: ClassVar[int]


@dataclass(frozen=True, kw_only=True)
class Add(Rule):
    """A list gets more items: ``values``, or what ``source`` holds (each item, if that is a list itself).

    What ``source`` holds moves: it reads as null from then on.

    Raises:
        PluginMistake: it is not said which.
    """

    values: tuple[Any, ...] = ()
    source: RulePath = ()
    rank = 0

    def __post_init__(self) -> None:
        if bool(self.values) == bool(self.source):
            raise PluginMistake(f"an Add to {'.'.join(self.path)} needs either values or a source")


@dataclass(frozen=True, kw_only=True)
class Replace(Rule):
    """A property takes the value of another one, its old name; or a literal, whatever was given.

    The other is at ``source``, or stands beside it in the same map as ``sibling``. What it holds moves: it reads as
    null from then on. Nobody may give both.

    Raises:
        PluginMistake: it is not said which.
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
    """A name becomes the id that the client plugin ``client`` finds for it, as does each item of a list of names.

    Only where clients are there: where a template is looked at without them, names stay names.
    """

    client: str
    entity: str
    rank = 2


@dataclass(frozen=True, kw_only=True)
class Delete(Rule):
    """A property reads as null, whatever was given, and nothing that is wrong with it is told."""

    rank = 3


def rule_mistakes(schema: Mapping[str, Property], rules: Iterable[Rule]) -> Iterator[str]:
    """Yield what is wrong with rules for a schema, in sentences."""
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
