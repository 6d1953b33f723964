"""What took longer in one operation than in another, and why."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.queries.comparison import comparison_of
from orchestrator.queries.timeline import timeline_of
from orchestrator.views.operations import Bar, Span, Timeline
from tests.unit.orchestrator.queries.made import BEGUN_AT, NOW, OPERATION
from tests.unit.orchestrator.queries.test_timeline import done


def bar(name: str, *spans: tuple[str, float], **fields: Any) -> Bar:
    """Return the bar of a resource with these kinds of spans, of so many seconds."""
    made: list[Span] = []
    start = BEGUN_AT
    for kind, seconds in spans:
        made.append(Span(kind=kind, start=start, end=start + seconds))
        start += seconds
    values: dict[str, Any] = {
        "no": 0,
        "type": "T",
        "phase": "converge",
        "action": "UPDATE",
        "state": "done",
        "attempts": 1,
    }
    return Bar(name=name, spans=tuple(made), **{**values, **fields})


def timeline(*bars: Bar, took: float = 10.0, **fields: Any) -> Timeline:
    operation = replace(OPERATION, status="COMPLETE", ended_at=BEGUN_AT + took)
    return Timeline(operation=operation, cursor=0, as_of=NOW, bars=bars, **fields)


def test_the_largest_differences_come_first_and_those_in_one_alone_last() -> None:
    first = timeline(bar("a", ("running", 1)), bar("b", ("running", 9)), bar("gone", ("running", 50)))
    second = timeline(bar("a", ("running", 3)), bar("b", ("running", 2)), bar("new", ("running", 60)), took=4)
    seen = comparison_of(first, second)
    assert [(row.name, row.difference) for row in seen.rows] == [("b", -7), ("a", 2), ("new", 0), ("gone", 0)]
    assert list(seen.seconds) == [10, 4]
    assert [(row.a is None, row.b is None) for row in seen.rows[2:]] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    ("before", "after", "mainly"),
    [
        ({"queued": 1, "running": 2}, {"queued": 9, "running": 3}, "queued"),
        ({"queued": 1, "running": 2}, {"queued": 1, "running": 5}, "running"),
        ({"running": 2}, {"running": 2, "retrying": 4}, "retrying"),
        ({"running": 9, "held": 3}, {"running": 2, "held": 5}, "running"),
        ({"running": 2}, {"running": 2}, ""),
        # How long it waited for its requirements is their matter.
        ({"blocked": 1, "running": 2}, {"blocked": 50, "running": 2}, ""),
    ],
)
def test_the_kind_of_time_that_accounts_for_a_difference_is_named(
    before: dict[str, float], after: dict[str, float], mainly: str
) -> None:
    sides = [timeline(bar("a", *spans.items())) for spans in (before, after)]
    (row,) = comparison_of(*sides).rows
    assert row.mainly == mainly


def test_a_replacement_is_one_resource() -> None:
    new = bar("a", ("running", 3), action="CREATE", attempts=2, no=1)
    old = bar("a", ("blocked", 3), ("running", 1), action="DELETE", phase="cleanup", no=7)
    (row,) = comparison_of(timeline(bar("a", ("running", 1))), timeline(old, new)).rows
    assert row.b is not None
    assert (row.b.actions, row.b.total, row.b.attempts) == (("CREATE", "DELETE"), 4, 2)
    failed = replace(old, state="failed")
    (row,) = comparison_of(timeline(), timeline(new, failed)).rows
    assert row.b is not None
    assert row.b.state == "failed"


def test_what_has_not_begun_is_not_compared_and_what_goes_on_counts_until_now() -> None:
    going = replace(bar("a"), spans=(Span(kind="running", start=NOW - 7, end=None),), state="running")
    (row,) = comparison_of(timeline(), timeline(going, bar("b", ("blocked", 3)))).rows
    assert row.b is not None
    assert (row.name, row.b.total) == ("a", 7)


def test_too_many_resources_are_left_out_and_counted() -> None:
    many = [bar(f"r{number}", ("running", number)) for number in range(10)]
    seen = comparison_of(
        timeline(*(bar(each.name, ("running", 0)) for each in many)), timeline(*many), most=3
    )
    assert ([row.name for row in seen.rows], seen.omitted) == (["r9", "r8", "r7"], 7)


TIMES = st.dictionaries(st.integers(0, 5), st.tuples(st.floats(0, 50), st.floats(50, 99)), min_size=1)


@given(TIMES, TIMES)
def test_an_operation_compared_the_other_way_round_differs_the_other_way(
    first: dict[int, tuple[float, float]], second: dict[int, tuple[float, float]]
) -> None:
    a, b = timeline_of(done({}, first)), timeline_of(done({}, second))
    there = {row.name: row.difference for row in comparison_of(a, b).rows}
    back = {row.name: -row.difference for row in comparison_of(b, a).rows}
    assert there == back
    assert not any(row.difference or row.mainly for row in comparison_of(a, a).rows)
