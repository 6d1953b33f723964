"""What became of one resource when."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.queries.phases import spans_of
from orchestrator.views.facts import EventFact
from orchestrator.views.operations import Span
from tests.unit.orchestrator.queries.made import BEGUN_AT, event

PAUSED = "CREATE paused until Hook pre-create is cleared"


def told(
    *events: EventFact, released_at: float | None = BEGUN_AT, over_at: float | None = None
) -> list[tuple[str, float, float | None]]:
    return [
        (span.kind, span.start - BEGUN_AT, None if span.end is None else span.end - BEGUN_AT)
        for span in spans(*events, released_at=released_at, over_at=over_at)
    ]


def spans(
    *events: EventFact, released_at: float | None = BEGUN_AT, over_at: float | None = None
) -> Sequence[Span]:
    return spans_of(events, begun_at=BEGUN_AT, released_at=released_at, over_at=over_at)


def at(seconds: float, state: str, reason: str = "", cause: str = "", worker: str = "") -> EventFact:
    return event(1, BEGUN_AT + seconds, "a", state, reason, cause=cause, worker=worker)


def test_waiting_queued_running() -> None:
    assert told(at(5, "CREATE_IN_PROGRESS"), at(9, "CREATE_COMPLETE"), released_at=BEGUN_AT + 3) == [
        ("blocked", 0, 3),
        ("queued", 3, 5),
        ("running", 5, 9),
    ]


def test_what_requires_nothing_never_waits() -> None:
    assert told(at(1, "CREATE_IN_PROGRESS")) == [("queued", 0, 1), ("running", 1, None)]


def test_what_is_not_released_waits() -> None:
    assert told(released_at=None) == [("blocked", 0, None)]


def test_what_is_never_begun_waits_until_the_operation_is_over() -> None:
    assert told(released_at=None, over_at=BEGUN_AT + 7) == [("blocked", 0, 7)]


def test_each_retry_is_an_attempt_with_the_reason_for_the_one_before() -> None:
    found = spans(
        at(1, "CREATE_IN_PROGRESS", worker="w1"),
        at(2, "CREATE_IN_PROGRESS", "busy", "retry", "w1"),
        at(6, "CREATE_IN_PROGRESS", "busier", "retry", "w2"),
        at(9, "CREATE_FAILED", "no luck", worker="w3"),
    )
    assert [(span.kind, span.attempt, span.reason, span.worker) for span in found] == [
        ("queued", 0, "", ""),
        ("running", 1, "busy", "w1"),
        ("retrying", 2, "busier", "w2"),
        ("retrying", 3, "no luck", "w3"),
    ]


def test_a_lost_worker_is_a_retry() -> None:
    lost = at(61, "CREATE_IN_PROGRESS", "worker w was not heard of", "lost")
    assert told(at(0, "CREATE_IN_PROGRESS"), lost) == [("running", 0, 61), ("retrying", 61, None)]


def test_the_hook_before_an_action_is_a_span() -> None:
    assert told(
        at(1, "HOOK_IN_PROGRESS", PAUSED),
        at(5, "HOOK_COMPLETE", "Hook pre-create is cleared"),
        at(6, "CREATE_IN_PROGRESS"),
        at(8, "CREATE_COMPLETE"),
    ) == [("queued", 0, 1), ("held", 1, 5), ("queued", 5, 6), ("running", 6, 8)]


def test_the_hook_after_an_action_is_a_span_and_the_end() -> None:
    assert told(
        at(1, "CREATE_IN_PROGRESS"),
        at(2, "CREATE_COMPLETE"),
        at(2, "HOOK_IN_PROGRESS", PAUSED),
        at(5, "HOOK_COMPLETE"),
        over_at=BEGUN_AT + 9,
    ) == [("queued", 0, 1), ("running", 1, 2), ("held", 2, 5)]


def test_an_action_that_follows_another_is_queued_in_between() -> None:
    assert told(
        at(0, "CREATE_IN_PROGRESS"),
        at(2, "CREATE_COMPLETE"),
        at(3, "UPDATE_IN_PROGRESS"),
        at(4, "UPDATE_COMPLETE"),
    ) == [("running", 0, 2), ("queued", 2, 3), ("running", 3, 4)]


def test_another_in_its_place_is_queued_anew() -> None:
    found = spans(
        at(0, "UPDATE_IN_PROGRESS"),
        at(1, "REPLACE_IN_PROGRESS", "its size changes"),
        at(2, "CREATE_IN_PROGRESS"),
        at(3, "CREATE_COMPLETE"),
    )
    assert [(span.kind, span.reason) for span in found] == [
        ("running", "its size changes"),
        ("queued", ""),
        ("running", ""),
    ]


def test_what_an_earlier_operation_had_begun_was_running() -> None:
    assert told(at(4, "CREATE_COMPLETE")) == [("running", 0, 4)]


def test_what_an_earlier_operation_had_begun_and_is_under_way_is_not_in_the_queue() -> None:
    (span,) = spans_of([], begun_at=BEGUN_AT, released_at=BEGUN_AT, over_at=None, is_begun=True)
    assert (span.kind, span.start, span.end, span.attempt) == ("running", BEGUN_AT, None, 1)


def test_a_release_after_the_first_event_is_put_before_it() -> None:
    assert told(at(2, "CREATE_IN_PROGRESS"), released_at=BEGUN_AT + 3) == [
        ("blocked", 0, 2),
        ("running", 2, None),
    ]


STATES = [
    ("CREATE_IN_PROGRESS", ""),
    ("CREATE_IN_PROGRESS", "retry"),
    ("CREATE_IN_PROGRESS", "lost"),
    ("CREATE_COMPLETE", ""),
    ("CREATE_FAILED", ""),
    ("UPDATE_IN_PROGRESS", ""),
    ("REPLACE_IN_PROGRESS", ""),
    ("HOOK_IN_PROGRESS", ""),
    ("HOOK_COMPLETE", ""),
]


@settings(max_examples=60)
@given(
    happened=st.lists(st.tuples(st.sampled_from(STATES), st.integers(-3, 9)), max_size=12),
    released=st.none() | st.integers(0, 30),
    over=st.none() | st.integers(0, 60),
)
def test_whatever_happens_spans_follow_each_other_without_gaps(
    happened: list[tuple[tuple[str, str], int]], released: int | None, over: int | None
) -> None:
    now, events = 0.0, []
    for (state, cause), seconds in happened:
        # Clocks may go back a little.
        now = max(0.0, now + seconds)
        events.append(at(now, state, cause=cause))
    found = spans(
        *events,
        released_at=None if released is None else BEGUN_AT + released,
        over_at=None if over is None else BEGUN_AT + over,
    )
    assert not found or found[0].start == BEGUN_AT
    for one, other in pairwise(found):
        assert one.end == other.start
    for span in found[:-1]:
        assert span.end is not None
        assert span.end >= span.start
    attempts = [span.attempt for span in found if span.kind in ("running", "retrying")]
    assert attempts == sorted(attempts)
    assert all(attempts)
    if over is not None and found:
        assert found[-1].end is not None
