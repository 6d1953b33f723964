"""When what was done in an operation, and which chain decided how long it took."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.queries.timeline import timeline_of
from orchestrator.views.facts import EventFact, Facts
from orchestrator.views.operations import OperationView, Timeline
from tests.unit.orchestrator.queries.made import (
    BEGUN_AT,
    NOW,
    OPERATION,
    end,
    event,
    facts,
    failed_at,
    graphs,
    join,
    node,
    wired,
)

#: When a resource was claimed, and when it was done.
Times = dict[int, tuple[float, float]]


def complete(at: float) -> OperationView:
    return replace(OPERATION, status="COMPLETE", ended_at=at)


def done(requires: dict[int, tuple[int, ...]], times: Times) -> Facts:
    """Return the facts of an operation in which all was made; times are from its beginning on."""
    nodes = [node(no, state="done", attempt=1) for no in times]
    happened = sorted(
        (BEGUN_AT + at, no, turn)
        for no, (begun, over) in times.items()
        for turn, at in enumerate((begun, over))
    )
    states = ("CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    events = [event(index, at, f"r{no}", states[turn]) for index, (at, no, turn) in enumerate(happened)]
    over = BEGUN_AT + max(over for _, over in times.values())
    return facts(wired(nodes, requires), events, complete(over))


def names(timeline: Timeline) -> list[str]:
    return [bar.name for bar in timeline.bars]


def test_bars_are_in_the_order_in_which_they_were_begun() -> None:
    timeline = timeline_of(done({}, {0: (3, 4), 1: (1, 9), 2: (2, 3)}))
    assert names(timeline) == ["r1", "r2", "r0"]


def test_those_not_begun_come_last() -> None:
    nodes = wired([node(0, state="running", attempt=1), node(1), node(2, state="ready")], {1: (0,)})
    timeline = timeline_of(facts(nodes, [event(1, BEGUN_AT + 2, "r0", "CREATE_IN_PROGRESS")]))
    assert names(timeline) == ["r0", "r1", "r2"]
    assert [[span.kind for span in bar.spans] for bar in timeline.bars] == [
        ["queued", "running"],
        ["blocked"],
        ["queued"],
    ]


def test_a_resource_waits_until_the_last_that_it_requires_is_done() -> None:
    timeline = timeline_of(done({2: (0, 1)}, {0: (0, 3), 1: (0, 5), 2: (7, 8)}))
    assert [(span.kind, span.start - BEGUN_AT) for span in timeline.bars[2].spans] == [
        ("blocked", 0),
        ("queued", 5),
        ("running", 7),
    ]


def test_the_critical_path_is_the_chain_that_took_longest() -> None:
    timeline = timeline_of(done({2: (0, 1), 3: (2,)}, {0: (0, 3), 1: (1, 5), 2: (7, 8), 3: (8, 20)}))
    assert timeline.critical == (1, 2, 3)
    assert [bar.no for bar in timeline.bars if bar.critical] == [1, 2, 3]
    assert timeline.critical_seconds == {"queued": 3.0, "running": 17.0, "retrying": 0.0, "held": 0.0}


def test_the_critical_path_passes_points_where_edges_meet_and_what_was_not_to_be_done() -> None:
    nodes = wired(
        [
            node(0, state="done", attempt=1),
            join(1, state="done"),
            node(2, state="done", quiet=True),
            node(3, state="done", attempt=1),
        ],
        {1: (0,), 2: (1,), 3: (2,)},
    )
    events = [
        event(1, BEGUN_AT, "r0", "CREATE_IN_PROGRESS"),
        event(2, BEGUN_AT + 4, "r0", "CREATE_COMPLETE"),
        event(3, BEGUN_AT + 5, "r3", "CREATE_IN_PROGRESS"),
        event(4, BEGUN_AT + 6, "r3", "CREATE_COMPLETE"),
    ]
    timeline = timeline_of(facts(nodes, events, complete(BEGUN_AT + 6)))
    assert timeline.critical == (0, 3)
    assert names(timeline) == ["r0", "r3"]
    assert timeline.critical_seconds["queued"] == 1


def test_while_it_is_under_way_the_path_leads_to_what_has_been_under_way_longest() -> None:
    nodes = wired(
        [node(0, state="done", attempt=1), *(node(no, state="running", attempt=1) for no in (1, 2))],
        {1: (0,), 2: (0,)},
    )
    events = [
        event(1, BEGUN_AT, "r0", "CREATE_IN_PROGRESS"),
        event(2, BEGUN_AT + 4, "r0", "CREATE_COMPLETE"),
        event(3, BEGUN_AT + 5, "r2", "CREATE_IN_PROGRESS"),
        event(4, BEGUN_AT + 6, "r1", "CREATE_IN_PROGRESS"),
    ]
    timeline = timeline_of(facts(nodes, events))
    assert timeline.critical == (0, 2)
    assert sum(timeline.critical_seconds.values()) == NOW - BEGUN_AT


def test_what_goes_on_after_a_failure_did_not_decide_how_long_it_took() -> None:
    nodes = [
        node(0, state="failed", attempt=1),
        node(1, state="running", attempt=1),
        node(2, state="done", attempt=1),
    ]
    events = [
        event(1, BEGUN_AT, "r1", "CREATE_IN_PROGRESS"),
        event(2, BEGUN_AT + 1, "r0", "CREATE_IN_PROGRESS"),
        event(3, BEGUN_AT + 2, "r2", "CREATE_IN_PROGRESS"),
        event(4, BEGUN_AT + 4, "r0", "CREATE_FAILED", "no luck"),
        event(5, BEGUN_AT + 9, "r2", "CREATE_COMPLETE"),
    ]
    timeline = timeline_of(facts(nodes, events, failed_at(BEGUN_AT + 4)))
    assert timeline.critical == (0,)
    assert timeline.critical_seconds == {"queued": 1.0, "running": 3.0, "retrying": 0.0, "held": 0.0}


def test_what_was_under_way_when_time_ran_out_decided_how_long_it_took() -> None:
    nodes = wired(
        [node(0, state="done", attempt=1), node(1, state="waiting", attempt=9), node(2)], {1: (0,), 2: (1,)}
    )
    events = [
        event(1, BEGUN_AT, "r0", "CREATE_IN_PROGRESS"),
        event(2, BEGUN_AT + 2, "r0", "CREATE_COMPLETE"),
        event(3, BEGUN_AT + 2, "r1", "CREATE_IN_PROGRESS"),
    ]
    timeline = timeline_of(facts(nodes, events, failed_at(BEGUN_AT + 60)))
    assert timeline.critical == (0, 1)
    assert timeline.critical_seconds["running"] == 60


def test_what_was_never_begun_waits_until_the_operation_failed() -> None:
    nodes = wired([node(0, state="failed", attempt=1), node(1)], {1: (0,)})
    events = [
        event(1, BEGUN_AT, "r0", "CREATE_IN_PROGRESS"),
        event(2, BEGUN_AT + 4, "r0", "CREATE_FAILED", "no luck"),
    ]
    timeline = timeline_of(facts(nodes, events, failed_at(BEGUN_AT + 4)))
    failed, unreached = timeline.bars
    assert failed.spans[-1].reason == "no luck"
    assert [(span.kind, span.end) for span in unreached.spans] == [("blocked", BEGUN_AT + 4)]
    assert timeline.critical == (0,)


def test_a_cleanup_that_only_a_replacement_calls_for_has_no_bar() -> None:
    spare = node(1, "r0", phase="cleanup", action="DELETE", quiet=True)
    assert names(timeline_of(facts([node(0), spare, end(2)]))) == ["r0"]


def test_a_resource_that_is_changed_and_one_that_is_deleted_have_their_own_events() -> None:
    nodes = wired(
        [
            node(0, "a", state="done", attempt=3, resource_id="new"),
            node(1, "a", phase="cleanup", action="DELETE", state="done", attempt=1, resource_id="old"),
        ],
        {1: (0,)},
    )
    events = [
        event(1, BEGUN_AT, "a", "UPDATE_IN_PROGRESS", resource_id="old"),
        event(2, BEGUN_AT + 1, "a", "REPLACE_IN_PROGRESS", "its size changes", resource_id="old"),
        event(3, BEGUN_AT + 1, "a", "CREATE_IN_PROGRESS", resource_id="new"),
        event(4, BEGUN_AT + 3, "a", "CREATE_COMPLETE", resource_id="new"),
        event(5, BEGUN_AT + 4, "a", "DELETE_IN_PROGRESS", resource_id="old"),
        event(6, BEGUN_AT + 5, "a", "DELETE_COMPLETE", resource_id="old"),
    ]
    timeline = timeline_of(facts(nodes, events, complete(BEGUN_AT + 5)))
    assert [[span.kind for span in bar.spans] for bar in timeline.bars] == [
        ["running", "running"],
        ["blocked", "queued", "running"],
    ]
    assert timeline.critical == (0, 1)


def test_without_its_events_an_operation_tells_no_spans_and_says_so() -> None:
    bare: Facts = replace(facts([node(0, state="done", attempt=1)], (), complete(NOW)), trimmed=True)
    timeline = timeline_of(bare)
    assert timeline.trimmed
    assert [bar.spans for bar in timeline.bars] == [()]
    assert timeline.critical == ()


@settings(max_examples=40)
@given(
    requires=graphs(most=15),
    took=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=15, max_size=15),
)
def test_a_critical_path_is_a_chain_that_accounts_for_all_the_time(
    requires: dict[int, tuple[int, ...]], took: list[tuple[int, int]]
) -> None:
    times: Times = {}
    for no, others in requires.items():
        released = max((times[other][1] for other in others), default=0)
        times[no] = released + took[no][0], released + sum(took[no])
    timeline = timeline_of(done(requires, times))
    path = timeline.critical
    assert requires[path[0]] == ()
    for one, other in pairwise(path):
        assert one in requires[other]
        assert times[one][1] == max(times[each][1] for each in requires[other])
    assert times[path[-1]][1] == max(over for _, over in times.values())
    assert sum(timeline.critical_seconds.values()) == times[path[-1]][1]
    assert all(bar.spans[0].start == BEGUN_AT for bar in timeline.bars)


def test_signals_and_what_is_said_of_a_resource_afterwards_are_no_part_of_its_bar() -> None:
    nodes = [
        node(0, "a", state="done", attempt=1),
        node(1, "b"),
        node(2, "c", state="done", attempt=1, action="CHECK"),
    ]
    events = [
        event(1, BEGUN_AT, "a", "CREATE_IN_PROGRESS"),
        event(2, BEGUN_AT + 1, "a", "SIGNAL_COMPLETE", "it is time"),
        event(3, BEGUN_AT + 2, "a", "CREATE_COMPLETE"),
        event(4, BEGUN_AT, "c", "CHECK_IN_PROGRESS"),
        event(5, BEGUN_AT + 2, "c", "CHECK_COMPLETE"),
        *(
            event(no, BEGUN_AT + 60, name, "CHECK_FAILED", "it hums")
            for no, name in ((6, "a"), (7, "b"), (8, "c"))
        ),
    ]
    timeline = timeline_of(facts(nodes, events))
    assert {bar.name: [(span.kind, span.end) for span in bar.spans] for bar in timeline.bars} == {
        "a": [("running", BEGUN_AT + 2)],
        "b": [("blocked", None)],
        "c": [("running", BEGUN_AT + 2)],
    }
    assert [bar.reason for bar in timeline.bars] == ["", "", ""]


def test_events_of_what_is_in_no_plan_change_nothing() -> None:
    stray: EventFact = event(1, BEGUN_AT, "other", "CREATE_COMPLETE")
    assert names(timeline_of(facts([node(0)], [stray]))) == ["r0"]


def test_the_bar_of_what_is_replaced_names_the_one_that_replaces_it() -> None:
    nodes = wired(
        [
            node(0, "server", state="done", attempt=1),
            node(1, "server", phase="cleanup", action="DELETE", state="done", attempt=1, resource_id="old"),
            node(2, "spare", phase="cleanup", action="DELETE", state="done", attempt=1),
        ],
        {1: (0,), 2: (0,)},
    )
    timeline = timeline_of(facts(nodes, (), complete(BEGUN_AT + 9)))
    assert {bar.no: bar.replaced_by for bar in timeline.bars} == {0: None, 1: 0, 2: None}
