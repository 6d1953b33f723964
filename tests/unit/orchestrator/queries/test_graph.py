"""The graph of an operation: its vertices, what is around one of them, its groups."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput, NotFound
from orchestrator.queries import graph
from orchestrator.queries.graph import picture_of
from orchestrator.views.facts import NodeFact
from orchestrator.views.operations import GraphPicture
from orchestrator.views.vertex_states import STATES
from tests.unit.orchestrator.queries.made import (
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


def states(picture: GraphPicture) -> dict[str, str]:
    return {vertex.name: vertex.state for vertex in picture.vertices}


def chain(*names: str) -> tuple[NodeFact, ...]:
    return wired(
        [node(no, name) for no, name in enumerate(names)], {no: (no - 1,) for no in range(1, len(names))}
    )


def test_an_edge_leads_from_what_requires_to_what_is_required() -> None:
    picture = picture_of(facts(chain("net", "port", "server")))
    assert picture.edges == ((1, 0), (2, 1))
    assert [vertex.layer for vertex in picture.vertices] == [0, 1, 2]
    assert picture.part == "all"


@settings(max_examples=40)
@given(requires=graphs())
def test_every_resource_is_drawn_once_with_every_edge(requires: dict[int, tuple[int, ...]]) -> None:
    nodes = wired([node(no) for no in requires], requires)
    picture = picture_of(facts(nodes))
    assert [vertex.no for vertex in picture.vertices] == sorted(requires)
    assert set(picture.edges) == {(no, other) for no, others in requires.items() for other in others}
    assert picture.total == sum(picture.counts.values()) == len(requires)


def test_the_end_and_the_points_that_lead_to_nothing_else_are_not_drawn() -> None:
    nodes = wired([node(0), node(1), join(2), end(3)], {2: (0, 1), 3: (2,)})
    picture = picture_of(facts(nodes))
    assert [vertex.no for vertex in picture.vertices] == [0, 1]
    assert picture.edges == ()


def test_arrows_lead_past_what_only_counts_from_each_resource_to_each() -> None:
    nodes = wired(
        [node(0), node(1), join(2), node(3), node(4), end(5)], {2: (0, 1), 3: (2,), 4: (2,), 5: (3, 4)}
    )
    picture = picture_of(facts(nodes))
    assert [vertex.no for vertex in picture.vertices] == [0, 1, 3, 4]
    assert picture.edges == ((3, 0), (3, 1), (4, 0), (4, 1))
    assert [vertex.layer for vertex in picture.vertices] == [0, 0, 1, 1]
    assert picture.total == 4


def test_a_graph_of_too_many_arrows_is_shown_in_groups_and_a_focus_has_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "MOST_ARROWS", 20)
    nodes = wired(
        [*map(node, range(9)), join(9), *map(node, range(10, 19))],
        {9: range(9)} | dict.fromkeys(range(10, 19), (9,)),
    )
    whole = picture_of(facts(nodes), part="all")
    assert (whole.part, whole.edges, len(whole.groups)) == ("groups", (), 2)
    focused = picture_of(facts(nodes), focus=10, depth=9)
    assert (len(focused.edges), focused.omitted) == (9, 0)
    tight = picture_of(facts(nodes), focus=0, depth=9)
    assert 0 < len(tight.edges) <= 20
    monkeypatch.setattr(graph, "MOST_ARROWS", 6)
    tight = picture_of(facts(nodes), focus=0, depth=9)
    assert len(tight.vertices) + tight.omitted == 10
    assert tight.omitted


def test_states_are_those_of_the_store_told_apart_further() -> None:
    nodes = [
        node(0, "blocked"),
        node(1, "ready", state="ready"),
        node(2, "running", state="running", attempt=1),
        node(3, "waiting", state="waiting", attempt=1, resource_status="IN_PROGRESS"),
        node(
            4, "retrying", state="waiting", attempt=1, retries=1, resource_status="IN_PROGRESS", reason="busy"
        ),
        node(5, "before", state="waiting", attempt=1, hook="pre-create"),
        node(6, "after", state="done", attempt=1, hook="post-create"),
        node(7, "done", state="done", attempt=1),
        node(8, "unchanged", state="done"),
        node(9, "failed", state="failed", attempt=1),
    ]
    events = [event(1, 1001, "retrying", "CREATE_IN_PROGRESS", "busy", cause="retry")]
    picture = picture_of(facts(nodes, events))
    assert states(picture) == {each.key: each.key for each in nodes} | {"before": "held", "after": "held"}
    assert picture.counts == {
        state: 2 if state == "held" else 1 for state in STATES if state != "unreached"
    } | {"unreached": 0}


def test_what_goes_on_after_a_retry_is_not_tried_again_any_more() -> None:
    events = [event(1, 1001, "a", "CREATE_IN_PROGRESS", "busy", cause="retry")]
    waiting = node(0, "a", state="waiting", attempt=9, retries=1, resource_status="IN_PROGRESS")
    assert states(picture_of(facts([waiting], events))) == {"a": "waiting"}


@pytest.mark.parametrize("state", ["blocked", "ready", "superseded"])
def test_once_an_operation_is_over_what_has_not_begun_never_is(state: str) -> None:
    nodes = [node(0, "a", state=state), node(1, "b", state="running", attempt=2)]
    picture = picture_of(facts(nodes, operation=failed_at(1050)))
    assert states(picture) == {"a": "unreached", "b": "running"}


def test_a_cleanup_that_was_held_back_is_a_resource_all_the_same() -> None:
    held = node(0, "old", phase="join", state="done", action="DELETE")
    (vertex,) = picture_of(facts([held])).vertices
    assert (vertex.phase, vertex.state) == ("cleanup", "unreached")
    assert "not deleted" in vertex.reason


@pytest.mark.parametrize(("phase", "state"), [("cleanup", "blocked"), ("cleanup", "done"), ("join", "done")])
def test_a_cleanup_that_only_a_replacement_calls_for_is_drawn_once_there_is_one(
    phase: str, state: str
) -> None:
    old = node(1, "a", phase=phase, action="DELETE", quiet=True, state=state)
    spare = picture_of(facts([old]))
    assert (spare.vertices, spare.total) == ((), 0)
    replaced = picture_of(facts([replace(old, quiet=False)]))
    assert ([vertex.name for vertex in replaced.vertices], replaced.total) == (["a"], 1)


def test_what_is_deleted_after_such_a_cleanup_waits_for_what_that_waits_for() -> None:
    moved = node(0, "user", action="UPDATE", state="running", attempt=1)
    spare = node(1, "user", phase="cleanup", action="DELETE", quiet=True)
    picture = picture_of(
        facts(wired([moved, spare, node(2, "old", phase="cleanup", action="DELETE")], {1: (0,), 2: (1,)}))
    )
    assert [vertex.name for vertex in picture.vertices] == ["user", "old"]
    assert (picture.edges, picture.total) == (((2, 0),), 2)


def chain_with_cleanups(*quiet: bool) -> tuple[NodeFact, ...]:
    """Return an update of a chain of resources, each followed by its cleanup; what the first required is removed."""
    count = len(quiet)
    chained = [node(no, f"r{no}", action="UPDATE") for no in range(count)]
    cleanups = [
        node(count + no, f"r{no}", phase="cleanup", action="DELETE", quiet=spare)
        for no, spare in enumerate(quiet)
    ]
    requires: dict[int, tuple[int, ...]] = {no: (no - 1,) for no in range(1, count)}
    requires |= {count + no: (no, count + no + 1) for no in range(count - 1)}
    requires |= {2 * count - 1: (count - 1,), 2 * count: (count,)}
    removed = node(2 * count, "removed", phase="cleanup", action="DELETE")
    return wired([*chained, *cleanups, removed], requires)


def test_what_is_removed_waits_for_the_last_of_a_chain_with_one_arrow() -> None:
    picture = picture_of(facts(chain_with_cleanups(True, True, True, True)))
    assert picture.edges == ((1, 0), (2, 1), (3, 2), (8, 3))


def test_the_deletion_of_what_is_replaced_is_told_with_what_replaces_it_and_has_no_arrows() -> None:
    nodes = chain_with_cleanups(True, False, True)
    picture = picture_of(facts(nodes))
    assert [(vertex.no, vertex.replaced_by) for vertex in picture.vertices] == [
        (0, None),
        (1, None),
        (2, None),
        (4, 1),
        (6, None),
    ]
    # What is removed waits for the replacement, too, for its old resource is deleted before.
    assert picture.edges == ((1, 0), (2, 1), (6, 1), (6, 2))
    assert picture.total == 5
    assert [vertex.no for vertex in picture_of(facts(nodes), focus=4).vertices] == [0, 1, 2, 4]
    assert picture_of(facts(nodes), focus=4).focus == 1
    groups = grouped(nodes).groups
    assert [(group.layer, group.total) for group in groups] == [(0, 1), (1, 2), (2, 1), (4, 1)]


def test_attempts_are_tries_and_not_looks_at_what_is_under_way() -> None:
    events = [
        event(1, 1001, "a", "CREATE_IN_PROGRESS"),
        event(2, 1002, "a", "CREATE_IN_PROGRESS", "busy", cause="retry"),
        event(3, 1003, "a", "CREATE_IN_PROGRESS", "not heard of", cause="lost"),
    ]
    (vertex,) = picture_of(facts([node(0, "a", state="running", attempt=57, retries=1)], events)).vertices
    assert vertex.attempt == 3


def test_a_past_operation_does_not_tell_what_is_wrong_with_a_resource_now() -> None:
    past = facts(
        [node(0, "a", state="failed", attempt=1, reason="another fault")],
        [event(1, 1001, "a", "CREATE_FAILED", "no luck")],
    )
    (vertex,) = picture_of(past).vertices
    assert vertex.reason == "no luck"


# -- focus -------------------------------------------------------------------------------------------------------------


def test_a_focus_is_what_is_near() -> None:
    picture = picture_of(facts(chain("a", "b", "c", "d", "e")), focus="c")
    assert [vertex.name for vertex in picture.vertices] == ["b", "c", "d"]
    assert (picture.part, picture.focus, picture.depth) == ("focus", 2, 1)
    assert picture.edges == ((2, 1), (3, 2))
    # Of the whole operation.
    assert picture.total == 5
    assert [vertex.layer for vertex in picture.vertices] == [1, 2, 3]


def test_a_focus_has_what_is_required_and_what_requires_but_no_siblings() -> None:
    nodes = wired([node(0, "net"), node(1, "a"), node(2, "b")], {1: (0,), 2: (0,)})
    assert [vertex.name for vertex in picture_of(facts(nodes), focus="a", depth=9).vertices] == ["net", "a"]


def test_to_pass_a_point_where_edges_meet_is_no_step() -> None:
    nodes = wired(
        [node(0, "a"), join(1), node(2, "b"), join(3), node(4, "c")], {1: (0,), 2: (1,), 3: (2,), 4: (3,)}
    )
    picture = picture_of(facts(nodes), focus="a")
    assert [vertex.no for vertex in picture.vertices] == [0, 2]
    assert [vertex.no for vertex in picture_of(facts(nodes), focus="a", depth=0).vertices] == [0]


def test_a_focus_may_be_a_number_and_a_name_comes_first() -> None:
    nodes = wired([node(0, "1"), node(1, "b")], {})
    assert picture_of(facts(nodes), focus="1").focus == 0
    assert picture_of(facts(nodes), focus=1).focus == 1
    assert picture_of(facts(nodes), focus="0").focus == 0


def test_of_two_nodes_of_a_name_the_focus_is_that_which_makes_it() -> None:
    nodes = [node(0, "a", phase="cleanup", action="DELETE"), node(1, "a")]
    assert picture_of(facts(nodes), focus="a").focus == 1


def test_a_focus_on_nothing_names_the_nearest() -> None:
    with pytest.raises(NotFound, match="did you mean 'server'"):
        picture_of(facts(chain("net", "server")), focus="sever")


def test_a_focus_with_too_much_around_it_says_how_much_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MOST_VERTICES", 3)
    nodes = wired([node(no) for no in range(6)], dict.fromkeys(range(1, 6), (0,)))
    picture = picture_of(facts(nodes), focus=0)
    assert (len(picture.vertices), picture.omitted) == (3, 3)


def test_an_unknown_part_and_a_negative_depth_are_refused_together() -> None:
    with pytest.raises(InvalidInput) as refused:
        picture_of(facts([]), part="half", depth=-1)
    assert [problem.path for problem in refused.value.problems] == ["part", "depth"]


# -- groups ------------------------------------------------------------------------------------------------------------


def grouped(nodes: Sequence[NodeFact]) -> GraphPicture:
    return picture_of(facts(nodes), part="groups")


def test_a_group_is_all_of_a_layer_and_a_type() -> None:
    nodes = wired(
        [
            node(0, "net", type="Net", state="done", attempt=1),
            node(1, "b", type="Port"),
            node(2, "a", type="Port", state="failed", attempt=1),
            node(3, "v", type="Volume"),
        ],
        {1: (0,), 2: (0,), 3: (0,)},
    )
    picture = grouped(nodes)
    assert [(group.id, group.total, group.names) for group in picture.groups] == [
        ("0/Net", 1, ("net",)),
        ("1/Port", 2, ("a", "b")),
        ("1/Volume", 1, ("v",)),
    ]
    assert picture.groups[1].counts["failed"] == 1
    assert picture.group_edges == (("1/Port", "0/Net"), ("1/Volume", "0/Net"))
    assert picture.vertices == ()


def test_groups_are_tied_through_the_points_where_edges_meet() -> None:
    nodes = wired([node(0, type="A"), node(1, type="B"), join(2), node(3, type="C")], {2: (0, 1), 3: (2,)})
    picture = grouped(nodes)
    assert picture.group_edges == (("1/C", "0/A"), ("1/C", "0/B"))


def test_more_than_can_be_looked_at_is_told_in_groups() -> None:
    nodes = chain("a", "b", "c")
    assert picture_of(facts(nodes), most=2).part == "groups"
    assert picture_of(facts(nodes), most=3).part == "all"
    assert len(picture_of(facts(nodes), part="all", most=2).vertices) == 3


@settings(max_examples=40)
@given(requires=graphs(), types=st.lists(st.sampled_from("ABC"), min_size=40, max_size=40))
def test_groups_have_every_resource_once_and_their_edges_go_down(
    requires: dict[int, tuple[int, ...]], types: list[str]
) -> None:
    picture = grouped(wired([node(no, type=types[no]) for no in requires], requires))
    assert sum(group.total for group in picture.groups) == len(requires)
    rows = {group.id: group.layer for group in picture.groups}
    assert all(rows[one] > rows[other] for one, other in picture.group_edges)
    assert len(rows) == len(picture.groups)


def test_the_picture_is_plain_values() -> None:
    told = picture_of(facts(chain("a", "b"))).to_dict()
    assert told["operation"]["traversal_id"] == OPERATION.traversal_id
    assert told["vertices"][1]["name"] == "b"
    assert told["edges"] == ((1, 0),)
