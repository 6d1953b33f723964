"""A stack indexed for rules: its resources by type, and their requirements."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from hooks.builtin.policy.truth import Truth
from hooks.builtin.wildcards import matches_any
from hooks.stack import FrozenResource, FrozenStack


@dataclass(frozen=True, slots=True)
class Related:
    """The resources in a relation: those certainly in it, and those perhaps in it."""

    certain: frozenset[str]
    perhaps: frozenset[str]

    def holds(self, name: str) -> Truth:
        """Return whether a resource is in it."""
        if name in self.certain:
            return True
        return None if name in self.perhaps else False


class StackView:
    """One stack while it is judged; caches what it computes."""

    def __init__(self, stack: FrozenStack) -> None:
        self.stack = stack
        self._related: dict[int, Related] = {}

    @cached_property
    def by_type(self) -> Mapping[str, list[FrozenResource]]:
        """The resources by their types."""
        by_type: dict[str, list[FrozenResource]] = {}
        for resource in self.stack.resources.values():
            by_type.setdefault(resource.type, []).append(resource)
        return by_type

    @cached_property
    def requirements(self) -> Mapping[str, tuple[str, ...]]:
        """The names of each resource's requirements."""
        return {name: resource.requires for name, resource in self.stack.resources.items()}

    @cached_property
    def dependents(self) -> Mapping[str, list[str]]:
        """The names of each resource's dependents."""
        dependents: dict[str, list[str]] = {}
        for name, requirements in self.requirements.items():
            for other in requirements:
                dependents.setdefault(other, []).append(name)
        return dependents

    def of_types(self, patterns: Iterable[str], excepted: Iterable[str] = ()) -> list[FrozenResource]:
        """Return the resources whose types match ``patterns``, and none of the excepted ones."""
        return [
            resource
            for type_, resources in self.by_type.items()
            if matches_any(type_, patterns) and not matches_any(type_, excepted)
            for resource in resources
        ]

    def related(self, relation: object, find: Callable[["StackView"], Related]) -> Related:
        """Return the members of a relation, computed once for all resources."""
        found = self._related.get(id(relation))
        if found is None:
            found = self._related[id(relation)] = find(self)
        return found


def reached(starts: Iterable[str], neighbours: Mapping[str, Iterable[str]], *, far: bool) -> frozenset[str]:
    """Return the nodes one step from ``starts``, or with ``far`` any number of steps; each is visited once."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        further = [other for name in waiting for other in neighbours.get(name, ())]
        waiting = [name for name in dict.fromkeys(further) if name not in found] if far else []
        found.update(further)
    return frozenset(found)
