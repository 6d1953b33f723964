"""Why an operation failed: the failures of their own, the likely root first, and the resources that they block."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from orchestrator.queries.graph import ObservedOperation
from orchestrator.views.facts import Facts, NodeFact
from orchestrator.views.operations import FailedView, FailureView
from orchestrator.views.states import was_begun
from orchestrator.views.vertex_states import FAILED, UNREACHED

#: The most blocked resources that a failure names.
NAMED: Final = 20
#: The most nested stacks that are followed; the real depth is always less.
_DEEPEST: Final = 50

#: Finds the facts of a failed operation on a nested stack, by the stack's id and the facts of the outer operation.
FindNested = Callable[[str, Facts], Facts | None]


@dataclass(frozen=True)
class Failures:
    """The failures of one operation, and the resources that were never begun."""

    seen: ObservedOperation

    @cached_property
    def unreached(self) -> frozenset[int]:
        """The resources that were never begun."""
        states = self.seen.states
        return frozenset(
            node.no
            for node in self.seen.resources
            if states[node.no] == UNREACHED and not was_begun(node, self.seen.events.get(node.no, ()))
        )

    @cached_property
    def failed(self) -> tuple[FailedView, ...]:
        """All failures, the likely root first: by time, and of simultaneous ones by how many resources they block."""
        nodes = [node for node in self.seen.resources if self.seen.states[node.no] == FAILED]
        views = [self._view(node) for node in nodes]
        return tuple(sorted(views, key=_likelihood))

    def split(self) -> tuple[tuple[FailedView, ...], tuple[FailedView, ...]]:
        """Return the roots, and the other failures.

        A root is a failure of a resource whose requirements were done, before the operation had failed. There may be
        many, because the failures of cleanups and checks do not end the operation.
        """
        ended_at, wiring = self.seen.facts.operation.ended_at, self.seen.wiring
        roots: list[FailedView] = []
        later: list[FailedView] = []
        for view in self.failed:
            is_late = ended_at is not None and view.at is not None and view.at > ended_at
            required = wiring.beyond_joins(view.no, wiring.requirements)
            is_root = not is_late and all(self.seen.states[other] != FAILED for other in required)
            (roots if is_root else later).append(view)
        return tuple(roots), tuple(later)

    def _view(self, node: NodeFact) -> FailedView:
        vertex = self.seen.vertices[node.no]
        behind = self._names(self.unreached & self.seen.wiring.behind(node.no))
        events = self.seen.events.get(node.no, ())
        failed_at = [event.at for event in events if event.status == "FAILED"]
        workers = [event.worker for event in events if event.status == "FAILED" and event.worker]
        return FailedView.of(
            node,
            name=node.key,
            action=next((event.action for event in reversed(events)), node.action),
            reason=vertex.reason,
            at=failed_at[-1] if failed_at else None,
            attempts=vertex.attempt,
            worker=workers[-1] if workers else vertex.worker,
            blocks=len(behind),
            blocked=tuple(behind[:NAMED]),
        )

    def _names(self, numbers: Collection[int]) -> list[str]:
        layers: Mapping[int, int] = {no: self.seen.vertices[no].layer for no in numbers}
        # In the order of the graph.
        return [self.seen.wiring.nodes[no].key for no in sorted(numbers, key=lambda no: (layers[no], no))]


def failure_of(facts: Facts, nested: FindNested = lambda _stack_id, _outer: None) -> FailureView:
    """Return why an operation failed; ``nested`` finds the facts of failed operations on nested stacks.

    The likely root is followed into nested stacks, down to the resource that failed by itself.
    """
    failures = Failures(ObservedOperation(facts))
    roots, later = failures.split()
    view = FailureView.of(facts, roots=roots, later=later, unreached=len(failures.unreached))
    return _with_path(view, facts, nested) if roots else view


def _with_path(view: FailureView, facts: Facts, nested: FindNested) -> FailureView:
    root, path, stack_id = view.roots[0], [view.roots[0].name], None
    while root.nested_stack_id is not None and len(path) < _DEEPEST:
        deeper = nested(root.nested_stack_id, facts)
        if deeper is None:
            break
        found, _ = Failures(ObservedOperation(deeper)).split()
        if not found:
            break
        stack_id, facts, root = root.nested_stack_id, deeper, found[0]
        path.append(root.name)
    if stack_id is None:
        return view
    return replace(view, path=tuple(path), path_stack_id=stack_id, innermost=root)


def _likelihood(view: FailedView) -> tuple[bool, float, int, int]:
    return view.at is None, view.at or 0.0, -view.blocks, view.no
