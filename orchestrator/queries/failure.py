"""Why an operation failed: what failed by itself, the likely root first, and what was never begun because of it."""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from orchestrator.queries.graph import Seen
from orchestrator.views.facts import Facts, NodeFact
from orchestrator.views.operations import FAILED, UNREACHED, FailedView, FailureView
from orchestrator.views.states import was_begun
from orchestrator.views.wiring import is_counter

#: How many of those that were never begun because of a failure are named.
NAMED: Final = 20
#: How many stacks in stacks are looked into at most; there are never so many.
_DEEPEST: Final = 50

#: What is told of one operation on a stack in a stack: by the stack's id, as of an operation that it was a part of.
Inside = Callable[[str, Facts], Facts | None]


@dataclass(frozen=True)
class Failures:
    """What failed in one operation, and what was never begun."""

    seen: Seen

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
        """All that failed, the likely root first: what failed first; of those at the same time, what blocks most."""
        nodes = [node for node in self.seen.resources if self.seen.states[node.no] == FAILED]
        views = [self._view(node) for node in nodes]
        return tuple(sorted(views, key=_likelihood))

    def split(self) -> tuple[tuple[FailedView, ...], tuple[FailedView, ...]]:
        """Return the roots, and the failures after the operation had failed already.

        A root is what failed while all that it required was done. What a cleanup or a check failed at stops nothing
        else, so there may be many before the operation is over.
        """
        ended_at = self.seen.facts.operation.ended_at
        roots: list[FailedView] = []
        later: list[FailedView] = []
        for view in self.failed:
            is_late = ended_at is not None and view.at is not None and view.at > ended_at
            (later if is_late or not self._is_root(view.no) else roots).append(view)
        return tuple(roots), tuple(later)

    def _is_root(self, no: int) -> bool:
        """Whether nothing failed that a resource required, through points where edges meet."""
        following = deque(self.seen.wiring.requirements[no])
        while following:
            other = following.popleft()
            if is_counter(self.seen.wiring.nodes[other]):
                following.extend(self.seen.wiring.requirements[other])
            elif self.seen.states[other] == FAILED:
                return False
        return True

    def _view(self, node: NodeFact) -> FailedView:
        vertex = self.seen.vertices[node.no]
        behind = self._names(self.unreached & self.seen.wiring.behind(node.no))
        events = self.seen.events.get(node.no, ())
        failed_at = [event.at for event in events if event.status == "FAILED"]
        workers = [event.worker for event in events if event.status == "FAILED" and event.worker]
        return FailedView(
            no=node.no,
            name=node.key,
            type=node.type,
            action=next((event.action for event in reversed(events)), node.action),
            reason=vertex.reason,
            at=failed_at[-1] if failed_at else None,
            attempts=vertex.attempt,
            worker=workers[-1] if workers else vertex.worker,
            physical_id=node.physical_id,
            nested_stack_id=node.nested_stack_id,
            blocks=len(behind),
            blocked=tuple(behind[:NAMED]),
        )

    def _names(self, numbers: Collection[int]) -> list[str]:
        layers: Mapping[int, int] = {no: self.seen.vertices[no].layer for no in numbers}
        # What comes first in the graph is missed first.
        return [self.seen.wiring.nodes[no].key for no in sorted(numbers, key=lambda no: (layers[no], no))]


def failure_of(facts: Facts, inside: Inside = lambda _stack_id, _outer: None) -> FailureView:
    """Return why an operation failed; ``inside`` finds what was done meanwhile to a stack that a resource is.

    The likely root is followed into the stacks in stacks, down to the resource that failed by itself.
    """
    failures = Failures(Seen(facts))
    roots, later = failures.split()
    view = FailureView(
        operation=facts.operation,
        cursor=facts.cursor,
        as_of=facts.as_of,
        roots=roots,
        later=later,
        unreached=len(failures.unreached),
    )
    return _with_path(view, facts, inside) if roots else view


def _with_path(view: FailureView, facts: Facts, inside: Inside) -> FailureView:
    """Add where the likely root really is."""
    root, path, stack_id = view.roots[0], [view.roots[0].name], None
    while root.nested_stack_id is not None and len(path) < _DEEPEST:
        deeper = inside(root.nested_stack_id, facts)
        if deeper is None:
            break
        found, _ = Failures(Seen(deeper)).split()
        if not found:
            break
        stack_id, facts, root = root.nested_stack_id, deeper, found[0]
        path.append(root.name)
    if stack_id is None:
        return view
    return replace(view, path=tuple(path), path_stack_id=stack_id, innermost=root)


def _likelihood(view: FailedView) -> tuple[bool, float, int, int]:
    return view.at is None, view.at or 0.0, -view.blocks, view.no
