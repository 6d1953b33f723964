"""Why an operation failed."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.queries.failure import NAMED, failure_of
from orchestrator.queries.graph import picture_of
from orchestrator.views.facts import EventFact, Facts, NodeFact
from tests.unit.orchestrator.queries.made import (
    BEGUN_AT,
    event,
    facts,
    failed_at,
    graphs,
    join,
    node,
    wired,
)


def failed(
    nodes: list[NodeFact],
    requires: Mapping[int, tuple[int, ...]],
    events: list[EventFact],
    at: float = BEGUN_AT + 5,
) -> Facts:
    return facts(wired(nodes, requires), events, failed_at(at))


def no_luck(name: str, seconds: float, **fields: str) -> EventFact:
    return event(1, BEGUN_AT + seconds, name, "CREATE_FAILED", "no luck", **fields)


def test_a_root_tells_what_was_never_begun_because_of_it() -> None:
    nodes = [
        node(0, "net", state="done", attempt=1),
        node(1, "port", state="failed", attempt=3, retries=2, physical_id="p-1", worker="w1"),
        node(2, "server"),
        node(3, "volume", state="done", attempt=1),
        node(4, "alarm"),
    ]
    view = failure_of(failed(nodes, {1: (0,), 2: (1, 3), 4: (2,)}, [no_luck("port", 5, worker="w2")]))
    (root,) = view.roots
    assert (root.name, root.reason, root.at, root.attempts, root.worker, root.physical_id) == (
        "port",
        "no luck",
        BEGUN_AT + 5,
        3,
        "w2",
        "p-1",
    )
    assert (root.blocks, root.blocked) == (2, ("server", "alarm"))
    assert view.unreached == 2
    assert view.later == ()


def test_what_fails_after_the_operation_had_failed_is_told_apart() -> None:
    nodes = [node(no, f"r{no}", state="failed", attempt=1) for no in range(3)]
    view = failure_of(failed(nodes, {}, [no_luck("r2", 5), no_luck("r0", 9), no_luck("r1", 7)]))
    assert [root.name for root in view.roots] == ["r2"]
    assert [each.name for each in view.later] == ["r1", "r0"]


def test_of_two_that_failed_at_the_same_time_that_which_blocks_more_comes_first() -> None:
    nodes = [
        node(0, "a", state="failed", attempt=1),
        node(1, "b", state="failed", attempt=1),
        node(2),
        node(3),
    ]
    view = failure_of(failed(nodes, {2: (1,), 3: (1,)}, [no_luck("a", 5), no_luck("b", 5)]))
    assert [(root.name, root.blocks) for root in view.roots] == [("b", 2), ("a", 0)]


def test_what_is_required_through_points_where_edges_meet_blocks_all_the_same() -> None:
    nodes = [node(0, "a", state="failed", attempt=1), join(1), node(2, "b")]
    view = failure_of(failed(nodes, {1: (0,), 2: (1,)}, [no_luck("a", 5)]))
    assert view.roots[0].blocked == ("b",)
    assert view.unreached == 1


def test_a_failure_that_another_led_to_is_no_root() -> None:
    # A check goes on after what it found fault with.
    nodes = [
        node(0, "a", state="failed", attempt=1),
        join(1, state="done"),
        node(2, "b", state="failed", attempt=1),
    ]
    view = failure_of(failed(nodes, {1: (0,), 2: (1,)}, [no_luck("a", 2), no_luck("b", 4)]))
    assert [root.name for root in view.roots] == ["a"]
    assert [each.name for each in view.later] == ["b"]


def test_an_operation_that_ran_out_of_time_has_no_root_and_what_was_never_begun() -> None:
    view = failure_of(failed([node(0, state="waiting", attempt=1), node(1)], {1: (0,)}, []))
    assert (view.roots, view.later, view.unreached) == ((), (), 1)


def test_of_very_many_only_the_first_are_named() -> None:
    count = NAMED + 5
    nodes = [node(0, "a", state="failed", attempt=1), *(node(no) for no in range(1, count + 1))]
    view = failure_of(failed(nodes, dict.fromkeys(range(1, count + 1), (0,)), [no_luck("a", 5)]))
    assert (view.roots[0].blocks, len(view.roots[0].blocked)) == (count, NAMED)


def test_a_failure_whose_event_is_gone_is_told_after_those_that_are_known() -> None:
    nodes = [node(0, "a", state="failed", attempt=1, reason="why"), node(1, "b", state="failed", attempt=1)]
    view = failure_of(failed(nodes, {}, [no_luck("b", 5)]))
    assert [(root.name, root.reason, root.at) for root in view.roots] == [
        ("b", "no luck", BEGUN_AT + 5),
        ("a", "why", None),
    ]


def test_the_likely_root_is_followed_into_stacks_in_stacks() -> None:
    outer = failed(
        [node(0, "pair", state="failed", attempt=1, nested_stack_id="one")], {}, [no_luck("pair", 5)]
    )
    middle = failed(
        [node(0, "disks", state="failed", attempt=1, nested_stack_id="two")], {}, [no_luck("disks", 4)]
    )
    inner = failed([node(0, "disk", state="failed", attempt=1)], {}, [no_luck("disk", 3)])
    asked = []

    def inside(stack_id: str, of: Facts) -> Facts:
        asked.append((stack_id, of))
        return {"one": middle, "two": inner}[stack_id]

    view = failure_of(outer, inside)
    assert (view.path, view.path_stack_id) == (("pair", "disks", "disk"), "two")
    assert view.innermost is not None
    assert view.innermost.reason == "no luck"
    assert asked == [("one", outer), ("two", middle)]


def test_a_stack_in_a_stack_that_tells_nothing_is_where_it_ends() -> None:
    outer = failed(
        [node(0, "pair", state="failed", attempt=1, nested_stack_id="one")], {}, [no_luck("pair", 5)]
    )
    view = failure_of(outer, lambda _stack_id, _outer: None)
    assert (view.path, view.path_stack_id, view.innermost) == ((), None, None)


@settings(max_examples=40)
@given(requires=graphs(), chosen=st.sets(st.integers(0, 39), min_size=1, max_size=3))
def test_roots_have_failed_with_all_done_before_and_the_unreached_are_what_is_behind_them(
    requires: dict[int, tuple[int, ...]], chosen: set[int]
) -> None:
    """Everything is done that does not depend on one of those chosen, of which the first ones fail."""
    broken = {no for no in chosen if no in requires}
    states: dict[int, str] = {}
    for no, others in requires.items():
        sound = all(states[other] == "done" for other in others)
        states[no] = ("failed" if no in broken else "done") if sound else "blocked"
    nodes = [node(no, state=state, attempt=int(state != "blocked")) for no, state in states.items()]
    events = [no_luck(f"r{no}", 5) for no, state in states.items() if state == "failed"]
    view = failure_of(failed(nodes, requires, events))
    assert {root.no for root in view.roots} == {no for no, state in states.items() if state == "failed"}
    for root in view.roots:
        assert all(states[other] == "done" for other in requires[root.no])
        assert root.blocks == len(behind(root.no, requires))
    assert view.unreached == len(set().union(*(behind(root.no, requires) for root in view.roots)))


def behind(no: int, requires: Mapping[int, tuple[int, ...]]) -> set[int]:
    found = {no}
    for other, required in requires.items():
        if not found.isdisjoint(required):
            found.add(other)
    return found - {no}


def test_a_cleanup_that_only_a_replacement_calls_for_is_not_missed() -> None:
    nodes = [
        node(0, "a", state="failed", attempt=1),
        node(1, "a", phase="cleanup", action="DELETE", quiet=True),
    ]
    view = failure_of(failed(nodes, {1: (0,)}, [no_luck("a", 5)]))
    assert (view.unreached, view.roots[0].blocks) == (0, 0)


def test_what_would_have_been_looked_at_only_after_a_change_was_never_begun_either() -> None:
    nodes = [node(0, "a", state="failed", attempt=1), node(1, "b", quiet=True)]
    told = failed(nodes, {1: (0,)}, [no_luck("a", 5)])
    view = failure_of(told)
    assert (view.unreached, view.roots[0].blocked) == (1, ("b",))
    assert picture_of(told).counts["unreached"] == view.unreached


def test_while_an_operation_goes_on_nothing_counts_as_never_begun() -> None:
    going_on = replace(failed([node(0, state="failed", attempt=1), node(1)], {1: (0,)}, [no_luck("r0", 1)]))
    going_on = replace(going_on, operation=replace(going_on.operation, status="IN_PROGRESS", ended_at=None))
    view = failure_of(going_on)
    assert [root.name for root in view.roots] == ["r0"]
    assert view.unreached == 0
