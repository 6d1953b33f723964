"""Outputs that stacks read of each other, for faces: stacks of other projects are counted and not named."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.model.graph import Graph
from orchestrator.store.stacks.output_readers import OutputReader
from orchestrator.views.dependencies import DependenciesView, DependentView, OutputReadView, ShareView

if TYPE_CHECKING:
    from orchestrator.store.stacks.stacks import StackRow
    from orchestrator.store.store import Store


def dependencies_of(store: "Store", stack: "StackRow") -> DependenciesView:
    """Return what a stack reads of others, who reads its outputs, and who may."""
    readers = store.output_readers.of_source(stack.id)
    return DependenciesView(
        stack=stack.name,
        stack_id=stack.id,
        reads=tuple(_view(each) for each in store.output_readers.of_root(stack.root_id)),
        read_by=tuple(_view(each) for each in readers if each.project == stack.project),
        other_readers=_others(readers, stack.project),
        shares=tuple(
            ShareView(output=each.output, project=each.project, created_at=each.created_at)
            for each in store.output_shares.of(stack.id)
        ),
    )


def dependents_of(store: "Store", stack: "StackRow") -> tuple[tuple[DependentView, ...], int]:
    """Return the stacks of the project that read a stack, directly or through others, in the order of updates.

    The second value is the number of further such stacks in other projects. What can be reached through those alone is
    counted among them, or left to their owners.
    """
    readers = store.output_readers.arrows_from(stack.id)
    return in_layers(readers, stack), _others(readers, stack.project)


def in_layers(readers: Sequence[OutputReader], stack: "StackRow") -> tuple[DependentView, ...]:
    """Return the stacks in ``readers`` that are of the project of ``stack``, by layer and name."""
    own = [each for each in readers if each.project == stack.project]
    names = {each.root_id: each.root for each in own}
    sources: dict[str, set[str]] = {each: set() for each in names}
    for each in own:
        sources[each.root_id].add(each.source_id)
    graph = Graph({each: frozenset(some & names.keys()) for each, some in sources.items()})
    layers: dict[str, int] = {}
    for root_id in graph.in_order():
        layers[root_id] = max((layers[before] + 1 for before in graph.requirements[root_id]), default=0)
    stale = {each.root_id for each in own if each.stale}
    known = {**names, stack.id: stack.name}
    found = [
        DependentView(
            name=names[each],
            id=each,
            layer=layer,
            after=tuple(sorted(known[source] for source in sources[each] if source in known)),
            stale=each in stale,
        )
        for each, layer in layers.items()
    ]
    return tuple(sorted(found, key=lambda each: (each.layer, each.name)))


def _others(readers: Sequence[OutputReader], project: str) -> int:
    return len({each.root_id for each in readers if each.project != project})


def _view(row: OutputReader) -> OutputReadView:
    return OutputReadView(
        stack=row.root,
        stack_id=row.root_id,
        resource=row.resource,
        source=row.source,
        source_id=row.source_id,
        source_project=row.source_project,
        output=row.output,
        stale=row.stale,
    )
