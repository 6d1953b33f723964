"""Planned deletions: what the deletion of a stack does to its resources, and to those of the stacks nested in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from orchestrator.engine.update_preview import DELETE, refusal_of, why_kept
from orchestrator.model.graph import Graph
from orchestrator.planning.decision import Action
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.store import Store
from orchestrator.views.plans import PlannedResource


class PlannedDeletions:
    """The deletions of stacks of one tree, in as many reads as there are stacks in what is deleted."""

    def __init__(
        self, store: Store, root_id: str, *, rows: Callable[[str], Sequence[ResourceRow]] | None = None
    ) -> None:
        """Keep the arguments; nothing is read before it is needed.

        ``rows`` returns those of a stack by its id; without it they are as they are stored.
        """
        self._store, self._root_id = store, root_id
        self._rows = rows or store.stacks.resources

    def of(self, stack_id: str) -> Iterator[PlannedResource]:
        """Yield what is done to the resources of a stack, in the order of the work, those of nested stacks included."""
        yield from self.of_rows(stack_id, self._rows(stack_id))

    def of_rows(
        self, stack_id: str, rows: Sequence[ResourceRow], held: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[PlannedResource]:
        """Yield the same of the stack with these rows; ``held`` is protected, by the id of its row, and is refused.

        A nested stack that is kept, or refused, is one line.
        """
        by_id, refused = {row.id: row for row in rows}, held or {}
        fragments = self._store.histories.planned(stack_id)
        graph = Graph({row.id: frozenset(row.requires) & by_id.keys() for row in rows}).reversed()
        for row_id in graph.in_order():
            row = by_id[row_id]
            kept = why_kept(fragments.get(row_id, {}))
            yield PlannedResource(
                name=row.name,
                type=row.type,
                action=Action.REFUSE.value if row_id in refused else DELETE,
                reason=refusal_of(row.name, refused[row_id]) if row_id in refused else kept,
                after=tuple(sorted(by_id[each].name for each in graph.requirements[row_id])),
            )
            # What is kept of it becomes a stack of its own.
            if row_id in self._stacks and row_id not in refused and not kept:
                yield from (under(row.name, each) for each in self.of(row_id))

    @cached_property
    def _stacks(self) -> frozenset[str]:
        return frozenset(each.id for each in self._store.families.in_tree(self._root_id))


def under(name: str, resource: PlannedResource) -> PlannedResource:
    """Return a resource with its path in the stack that the resource ``name`` is."""
    return replace(
        resource,
        name=f"{name}/{resource.name}",
        after=tuple(f"{name}/{each}" for each in resource.after),
        moved_from=resource.moved_from and f"{name}/{resource.moved_from}",
    )
