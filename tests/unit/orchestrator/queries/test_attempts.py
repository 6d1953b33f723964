"""The attempts at a resource's actions, from its events."""

from typing import Any

from orchestrator.queries.attempts import attempts_of
from orchestrator.store.history.events import EventRow
from orchestrator.store.history.past import TraversalRow
from orchestrator.views.resource_page import AttemptView


def event(at: float, state: str, reason: str = "", **fields: Any) -> EventRow:
    action, _, status = state.partition("_")
    values: dict[str, Any] = {"traversal_id": "t1", "resource_id": "id-a", "type": "T", "physical_id": None}
    given = {**values, "action": action, "status": status, "reason": reason, **fields}
    return EventRow(id=int(at), at=at, stack_id="s", resource="a", **given)


def operation(traversal_id: str) -> TraversalRow | None:
    if traversal_id == "purged":
        return None
    ended_at = 50.0 if traversal_id == "t1" else None
    return TraversalRow(
        id=traversal_id,
        action="CREATE" if traversal_id == "t1" else "UPDATE",
        status="FAILED" if ended_at else "IN_PROGRESS",
        reason="",
        template_id="x",
        user="ann",
        created_at=0.0,
        ended_at=ended_at,
        counts={},
    )


def told(*events: EventRow) -> list[tuple[object, ...]]:
    return [
        (each.action, each.number, each.worker, each.begun_at, each.ended_at, each.outcome, each.reason)
        for each in attempts_of(events, operation)
    ]


def test_each_retry_and_each_lost_worker_ends_an_attempt() -> None:
    assert told(
        event(1, "CREATE_IN_PROGRESS", worker="w1"),
        event(2, "CREATE_IN_PROGRESS", "no route", cause="retry", worker="w1"),
        event(5, "CREATE_IN_PROGRESS", "w2 was not heard of any more", cause="lost", worker="w2"),
        event(7, "CREATE_FAILED", "quota", worker="w3"),
    ) == [
        ("CREATE", 1, "w1", 1, 2, "retry", "no route"),
        ("CREATE", 2, "w2", 2, 5, "lost", "w2 was not heard of any more"),
        ("CREATE", 3, "w3", 5, 7, "failed", "quota"),
    ]


def test_an_attempt_under_way_has_no_end_until_its_operation_ends() -> None:
    begun = event(3, "UPDATE_IN_PROGRESS", worker="w1")
    assert told(begun) == [("UPDATE", 1, "w1", 3, 50.0, "left", "")]
    present = event(3, "UPDATE_IN_PROGRESS", worker="w1", traversal_id="t2")
    assert told(present) == [("UPDATE", 1, "w1", 3, None, "", "")]


def test_without_the_event_of_its_beginning_an_attempt_has_no_beginning() -> None:
    assert told(event(4, "CREATE_COMPLETE", worker="w1")) == [("CREATE", 1, "w1", None, 4, "complete", "")]


def test_signals_hooks_and_marks_of_health_are_no_attempts() -> None:
    aside = [event(1, "SIGNAL_COMPLETE"), event(2, "HOOK_IN_PROGRESS"), event(3, "CHECK_FAILED", "by hand")]
    assert told(*aside) == []
    checked = [event(4, "CHECK_IN_PROGRESS", worker="w"), event(5, "CHECK_COMPLETE", worker="w")]
    assert told(*checked) == [("CHECK", 1, "w", 4, 5, "complete", "")]


def test_a_row_and_the_one_that_replaces_it_have_attempts_of_their_own() -> None:
    assert told(
        event(1, "UPDATE_IN_PROGRESS", worker="w1"),
        event(2, "REPLACE_IN_PROGRESS", "size changed", worker="w1"),
        event(3, "CREATE_IN_PROGRESS", resource_id="id-new", worker="w2"),
        event(4, "CREATE_COMPLETE", resource_id="id-new", worker="w2"),
        event(5, "DELETE_IN_PROGRESS", worker="w1"),
        event(6, "DELETE_COMPLETE", worker="w1"),
    ) == [
        ("UPDATE", 1, "w1", 1, 2, "replaced", "size changed"),
        ("CREATE", 1, "w2", 3, 4, "complete", ""),
        ("DELETE", 1, "w1", 5, 6, "complete", ""),
    ]


def test_an_action_in_place_of_another_leaves_that_one() -> None:
    assert told(
        event(1, "ADOPT_IN_PROGRESS"), event(2, "CREATE_IN_PROGRESS"), event(3, "CREATE_COMPLETE")
    ) == [
        ("ADOPT", 1, "", 1, 2, "left", ""),
        ("CREATE", 1, "", 2, 3, "complete", ""),
    ]


def test_each_names_its_operation_and_its_user_unless_that_is_purged() -> None:
    named, purged = attempts_of(
        [event(1, "CREATE_COMPLETE"), event(2, "CREATE_COMPLETE", traversal_id="purged")], operation
    )
    assert (named.operation, named.user) == ("CREATE_FAILED", "ann")
    assert isinstance(purged, AttemptView)
    assert (purged.operation, purged.user, purged.traversal_id) == ("", "", "purged")
