"""How far each node of an operation is, in the words of :data:`~orchestrator.views.operations.STATES`, and why."""

from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.model.actions import CHECK
from orchestrator.model.breakpoints import HOOK, paused_until
from orchestrator.model.messages import CLEANUP, CONVERGE, JOIN, OPERATE
from orchestrator.views.facts import LOST, RETRY, EventFact, Facts, NodeFact
from orchestrator.views.operations import (
    BLOCKED,
    DONE,
    FAILED,
    HELD,
    READY,
    RETRYING,
    RUNNING,
    UNCHANGED,
    UNREACHED,
    WAITING,
    OperationView,
)

#: The action of events that tell of a signal.
_SIGNAL: Final = "SIGNAL"
#: What stands in the place of a reason of what was planned and never done.
_HELD_BACK: Final = "not deleted: something that requires it could not be"
#: The same of what was begun and was not done when its operation was over.
_LEFT: Final = "begun, and not done when the operation was over"


def is_under_way(operation: OperationView) -> bool:
    """Whether an operation is not over."""
    return operation.status == "IN_PROGRESS"


def is_spare(node: NodeFact) -> bool:
    """Whether nothing was done by a node, nor is as long as nothing changes."""
    return not node.attempt and (node.quiet or not node.action)


def phase_of(node: NodeFact) -> str:
    """Return a node's phase. What was held back became a join, and is a cleanup all the same."""
    return CLEANUP if node.phase == JOIN and node.resource_id is not None else node.phase


def events_by_node(facts: Facts) -> Mapping[int, Sequence[EventFact]]:
    """Return what happened at each node, by its number, in the order of the events.

    Events tell a resource, not a node. One resource may be changed by one node and deleted by another; and another row
    may have taken its place meanwhile: then the name tells.
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
    """Return which of the events of a node tell of what the node did.

    A resource may be signalled at any time, and marked as unhealthy, or sound, when nothing is done with it.
    """
    own: list[EventFact] = []
    is_over = False
    for event in events:
        is_end = event.status in ("COMPLETE", "FAILED") and event.action != HOOK
        is_aside = event.action == _SIGNAL or (event.action == CHECK and node.action != CHECK)
        if is_aside or (is_end and is_over):
            continue
        own.append(event)
        if event.action != HOOK:
            is_over = is_end
    return own


class _Finder(dict[str | None, int]):
    """Numbers of nodes; of several, the first."""

    def add(self, key: str | None, no: int) -> None:
        """Note a node."""
        if key is not None:
            self.setdefault(key, no)


def _is_deletion(event: EventFact) -> bool:
    if event.action == HOOK:
        return "-delete " in event.reason
    return event.action == "DELETE"


def state_of(node: NodeFact, events: Sequence[EventFact], *, is_over: bool) -> str:
    """Return how far a resource's node is; ``events`` are those of the node, ``is_over`` is its operation's."""
    if node.phase == JOIN or node.state == "superseded":
        return UNREACHED
    if is_over and not node.attempt and node.state in (BLOCKED, READY, WAITING):
        # What has not begun by then never is.
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
        # Its events are gone, or nobody wrote down why.
        return bool(node.retries and node.reason)
    last = events[-1]
    begun = node.resource_status == "IN_PROGRESS"
    # An action that goes on after a retry is looked at again, and its resource has no fault, or another one.
    return last.cause == RETRY and (not begun or node.reason == last.reason)


def counter_state(node: NodeFact, operation: OperationView) -> str:
    """Return how far a point is where edges meet."""
    if node.state == DONE:
        return DONE
    return BLOCKED if is_under_way(operation) else UNREACHED


def reason_of(node: NodeFact, operation: OperationView, state: str, events: Sequence[EventFact]) -> str:
    """Return why a node is in its state; empty where nobody knows more than the state says."""
    if state == HELD:
        return paused_until(node.hook or "")
    if node.phase == JOIN:
        return _HELD_BACK
    if state == UNREACHED and was_begun(node, events):
        return _LEFT
    if state in (BLOCKED, UNCHANGED, UNREACHED):
        return ""
    said = events[-1].reason if events else ""
    # What is on record with the resource is what is so now, for the operation in force alone.
    now = node.reason if operation.in_force else ""
    if state in (RUNNING, READY, WAITING, RETRYING):
        return now or (said if events and events[-1].cause else "")
    return said or (now if state == FAILED else "")


def was_begun(node: NodeFact, events: Sequence[EventFact]) -> bool:
    """Whether the action of a node was ever begun; what only came as far as a hook before it was not."""
    if not events:
        # Another operation had begun it; or its events are gone.
        return bool(node.attempt) and not node.hook
    return any(event.action != HOOK for event in events)


def tries_of(node: NodeFact, events: Sequence[EventFact]) -> int:
    """Return how often an action was begun: 1, and one more for each time that it was lost or tried again.

    The store's attempts are more: to look again at what is under way is one there.
    """
    if not node.attempt:
        return 0
    again = sum(event.cause in (RETRY, LOST) for event in events)
    return 1 + max(again, node.retries)
