"""Implied requirements: those that resource types add to what a template says, as a port comes after its subnets."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import Any

from orchestrator.definition import ResourceProxy, StackDefinition
from orchestrator.errors import IsothermError, PluginMistake, typed_message
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.siblings import Sibling, Siblings, reference_to
from orchestrator.plugins.validating import typed_properties
from orchestrator.template.definitions import ResourceDefinition


class _Referred(ResourceProxy):
    """A resource that is not made yet, whose id is a text that names it."""

    __slots__ = ()

    def reference_id(self) -> str:
        return reference_to(self.name)


def implied_requirements(
    definitions: Mapping[str, ResourceDefinition],
    kinds: Mapping[str, type[Resource] | None],
    blank: StackDefinition,
) -> dict[str, frozenset[str]]:
    """Return the requirements that types add, by the resource's name, without those that the template has itself.

    A requirement that would close a circle is left out: what a template says comes first, then the template's order.

    Raises:
        PluginMistake: a type failed, or named what is no resource of the stack.
    """
    # Many resources have few types.
    able = {
        kind for kind in {*kinds.values()} if kind is not None and kind.implements("implied_requirements")
    }
    implying = {name: kind for name, kind in kinds.items() if kind in able}
    if not implying:
        return {}
    stack = replace(
        blank, resources={name: _Referred(name=name, type=each.type) for name, each in definitions.items()}
    )
    siblings = Siblings(
        {
            name: Sibling(name, kinds.get(name), partial(_properties, each, kinds.get(name), stack))
            for name, each in definitions.items()
        }
    )
    requires: dict[str, Set[str]] = {name: each.requirements for name, each in definitions.items()}
    found: dict[str, frozenset[str]] = {}
    for name, kind in implying.items():
        added = set()
        for other in sorted(set(_asked(kind, siblings[name], siblings)) - requires[name] - {name}):
            if name not in _reached(other, requires):
                added.add(other)
                requires[name] = requires[name] | {other}
        if added:
            found[name] = frozenset(added)
    return found


def _asked(kind: type[Resource], own: Sibling, siblings: Siblings) -> Iterator[str]:
    try:
        names = list(kind.implied_requirements(own, siblings))
    except Exception as error:
        owner = f"{kind.__module__}:{kind.__qualname__}.implied_requirements"
        raise PluginMistake(f"{owner} failed for resource {own.name!r}: {typed_message(error)}") from error
    for name in names:
        if name not in siblings:
            owner = f"{kind.__module__}:{kind.__qualname__}.implied_requirements"
            raise PluginMistake(f"{owner} named {name!r}, which is no resource of the stack")
        yield name


def _reached(name: str, requires: Mapping[str, Iterable[str]]) -> set[str]:
    """Return what a resource requires, directly or not, with itself."""
    reached, rest = {name}, [name]
    while rest:
        for other in requires.get(rest.pop(), ()):
            if other not in reached:
                reached.add(other)
                rest.append(other)
    return reached


def _properties(
    definition: ResourceDefinition, kind: type[Resource] | None, stack: StackDefinition
) -> Mapping[str, Any]:
    if kind is None or definition.external_id is not None:
        return {}
    try:
        return typed_properties(kind, definition.resolve_properties(stack))
    except (IsothermError, PropertyError):
        # It is reported with the resource's properties.
        return {}
