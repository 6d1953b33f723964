"""The states of an operation's nodes, as :data:`~orchestrator.views.vertex_states.STATES`, and their reasons."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from hooks.values.states import ASIDE
from orchestrator.model.actions import CHECK
from orchestrator.model.breakpoints import HOOK, paused_until
from orchestrator.model.messages import CLEANUP, CONVERGE, JOIN, OPERATE
from orchestrator.views.facts import LOST, RETRY, EventFact, Facts, NodeFact
from orchestrator.views.vertex_states import (
    BLOCKED,
    DONE,
    FAILED,
    HELD,
    READY,
    RETRYING,
    RUNNING,
    STATES,
    UNCHANGED,
    UNREACHED,
    WAITING,
)

if TYPE_CHECKING:
    from orchestrator.views.operations import OperationView

#: Of the actions that record no work, those that come at any time; that of a breakpoint is a state of its own.
_ASIDE: Final = ASIDE - {HOOK}
#: The reason of a cleanup that was planned and held back.
_HELD_BACK: Final = "not deleted: something that requires it could not be"
#: The reason of an action that was begun and not done when its operation was over.
_LEFT: Final = "begun, and not done when the operation was over"


def is_under_way(operation: "OperationView") -> bool:
    """Return whether an operation is in progress."""
    return operation.status == "IN_PROGRESS"


def is_spare(node: NodeFact) -> bool:
    """Return whether a node has done nothing, and will do nothing unless a requirement changes."""
    return not node.attempt and (node.quiet or not node.action)


def phase_of(node: NodeFact) -> str:
    """Return a node's phase; a join with a resource is a cleanup that was held back."""
    return CLEANUP if node.phase == JOIN and node.resource_id is not None else node.phase


def events_by_node(facts: Facts) -> Mapping[int, Sequence[EventFact]]:
    """Return the events of each node, by its number, in the order of the events.

    Events name a resource, not a node. One node may change a resource and another delete it. If the row was replaced
    meanwhile, the node is found by the resource's name.
    """
    cleanups, others, names, removed = _Finder(), _Finder(), _Finder(), _Finder()
    for node in facts.nodes:
        if phase_of(node) == CLEANUP:
            cleanups.add(node.resource_id, node.no)
            removed.add(node.key, node.no)
        elif node.phase in (CONVERGE, OPERATE):
            others.add(node.resource_id, node.no)
            names.add(node.key, node.no)
    found: dict[int, list[EventFact]] = {}
    for event in facts.events:
        by_id, by_name = (cleanups, removed) if _is_deletion(event) else (others, names)
        no = by_id.get(event.resource_id, by_name.get(event.resource))
        if no is None:
            no = removed.get(event.resource, names.get(event.resource))
        if no is not None:
            found.setdefault(no, []).append(event)
    return found


def own_events(node: NodeFact, events: Sequence[EventFact]) -> Sequence[EventFact]:
    """Return the events of a node that record its own work.

    Left out are those of signals and drift, which come at any time, and of health marks of a resource at rest.
    """
    own: list[EventFact] = []
    is_over = False
    for event in events:
        is_end = event.status in ("COMPLETE", "FAILED") and event.action != HOOK
        is_aside = event.action in _ASIDE or (event.action == CHECK and node.action != CHECK)
        if is_aside or (is_end and is_over):
            continue
        own.append(event)
        if event.action != HOOK:
            is_over = is_end
    return own


class _Finder(dict[str | None, int]):
    def add(self, key: str | None, no: int) -> None:
        """Note a node."""
        if key is not None:
            self.setdefault(key, no)


def _is_deletion(event: EventFact) -> bool:
    if event.action == HOOK:
        return "-delete " in event.reason
    return event.action == "DELETE"


def state_of(node: NodeFact, events: Sequence[EventFact], *, is_over: bool) -> str:
    """Return the state of a resource's node, from its events and whether its operation is over."""
    if node.phase == JOIN or node.state == "superseded":
        return UNREACHED
    if is_over and not node.attempt and node.state in (BLOCKED, READY, WAITING):
        # It will never begin.
        return UNREACHED
    if node.hook and not is_over:
        return HELD
    if node.state == DONE:
        return DONE if node.attempt else UNCHANGED
    if node.state == WAITING:
        return RETRYING if _is_tried_again(node, events) else WAITING
    return node.state


def _is_tried_again(node: NodeFact, events: Sequence[EventFact]) -> bool:
    if not any(event.cause for event in events):
        # Its events are purged, or recorded no cause.
        return bool(node.retries and node.reason)
    last = events[-1]
    begun = node.resource_status == "IN_PROGRESS"
    # An action that continues after a retry has no reason, or another one.
    return last.cause == RETRY and (not begun or node.reason == last.reason)


def reason_of(node: NodeFact, operation: "OperationView", state: str, events: Sequence[EventFact]) -> str:
    """Return the reason of a node's state; empty if none is known."""
    if state == HELD:
        return paused_until(node.hook or "")
    if node.phase == JOIN:
        return _HELD_BACK
    if state == UNREACHED and was_begun(node, events):
        return _LEFT
    if state in (BLOCKED, UNCHANGED, UNREACHED):
        return ""
    recorded = events[-1].reason if events else ""
    # The resource's stored reason is that of the operation in force.
    now = node.reason if operation.in_force else ""
    if state in (RUNNING, READY, WAITING, RETRYING):
        return now or (recorded if events and events[-1].cause else "")
    return recorded or (now if state == FAILED else "")


def was_begun(node: NodeFact, events: Sequence[EventFact]) -> bool:
    """Return whether the action of a node was ever begun; one that stopped at a hook before it was not."""
    if not events:
        # Another operation had begun it, or its events are purged.
        return bool(node.attempt) and not node.hook
    return any(event.action != HOOK for event in events)


def tries_of(node: NodeFact, events: Sequence[EventFact]) -> int:
    """Return how often an action was begun: once, and once more for each time that it was lost or tried again.

    The store counts more attempts, because each check of an action under way is one.
    """
    if not node.attempt:
        return 0
    again = sum(event.cause in (RETRY, LOST) for event in events)
    return 1 + max(again, node.retries)


def counted(alike: Iterable[tuple[NodeFact, int]], *, is_over: bool) -> dict[str, int]:
    """Return the number of an operation's resources in each state, in the order of ``STATES``.

    ``alike`` has nodes that each stand for a number of equal ones.
    """
    counts: Counter[str] = Counter()
    for node, count in alike:
        counts[state_of(node, (), is_over=is_over)] += count
    return {state: counts[state] for state in STATES if counts[state]}
