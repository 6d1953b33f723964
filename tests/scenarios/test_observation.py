"""What people look at of operations, told of the simulated engine: graphs, timelines, failures, details, changes."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.model.messages import EnvironmentSource
from orchestrator.queries.observer import Observer, StackQuery
from orchestrator.views.operations import GraphPicture, Timeline
from tests.scenarios.test_nested import FILES
from tests.scenarios.test_nested import root as nested_root
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World, template_of


def observer(world: World) -> Observer:
    return Observer(Settings(), world.store)


def graph(world: World, **options: Any) -> GraphPicture:
    return observer(world).graph("s", **options)


def timeline(world: World, traversal_id: str | None = None) -> Timeline:
    return observer(world).timeline("s", traversal_id=traversal_id)


def states(picture: GraphPicture) -> dict[str, str]:
    return {vertex.name: vertex.state for vertex in picture.vertices}


def stored(world: World, name: str = "s") -> Mapping[str, int]:
    stack = world.store.stacks.find(name, project="default")
    return world.store.families.counts(stack.traversal_id)


def spans(told: Timeline, name: str) -> list[tuple[str, float]]:
    (bar,) = [bar for bar in told.bars if bar.name == name]
    return [(span.kind, (span.end or told.as_of) - span.start) for span in bar.spans]


def hooks(said: str) -> dict[str, Any]:
    source = f"resource_registry: {{resources: {said}}}"
    return {"environments": (EnvironmentSource(file="e.yaml", source=source),)}


DIAMOND = template_of({"net": [], "port": ["net"], "disk": ["net"], "server": ["port", "disk"]})


# -- graph -------------------------------------------------------------------------------------------------------------


def test_a_graph_is_that_of_the_template_before_anything_is_done() -> None:
    world = World()
    world.create(DIAMOND)
    picture = graph(world)
    names = {vertex.no: vertex.name for vertex in picture.vertices}
    assert {(names[one], names[other]) for one, other in picture.edges} == {
        ("port", "net"),
        ("disk", "net"),
        ("server", "port"),
        ("server", "disk"),
    }
    assert states(picture) == {"net": "ready", "port": "blocked", "disk": "blocked", "server": "blocked"}
    assert picture.total == 4


def test_counts_are_those_of_the_store_at_every_step() -> None:
    world = World()
    world.cloud.polls = {"port": 3}
    world.create(DIAMOND)
    for _ in range(40):
        picture = graph(world)
        assert {state: count for state, count in picture.counts.items() if count} == stored(world)
        if world.messages:
            world.deliver()
        elif (due := world.store.sweeper.next_due()) is not None:
            world.sweep(after=due + 0.001)
        else:
            break
    assert world.state() == "CREATE_COMPLETE"
    assert graph(world).counts["done"] == 4


def test_arrows_stay_while_states_change() -> None:
    world = World()
    world.create(DIAMOND)
    before = graph(world).edges
    world.settle()
    assert graph(world).edges == before


def test_a_wide_stack_has_an_arrow_for_each_requirement_whatever_the_engine_counts() -> None:
    world = World()
    wide: dict[str, list[str]] = {f"r{no}": [] for no in range(200)}
    world.create(template_of({**wide, "one": list(wide), "two": list(wide)}))
    picture = graph(world)
    assert picture.total == len(picture.vertices) == 202
    assert len(picture.edges) == 400
    assert graph(world, focus="one").counts == picture.counts
    assert len(graph(world, focus="one").vertices) == 201
    assert len(graph(world, focus="one").edges) == 200
    groups = graph(world, part="groups")
    assert [(group.layer, group.total) for group in groups.groups] == [(0, 200), (1, 2)]


def test_an_unknown_stack_traversal_resource_or_part_is_refused_by_its_name() -> None:
    world = World()
    world.create(DIAMOND)
    with pytest.raises(NotFound, match="t"):
        observer(world).graph("t")
    with pytest.raises(NotFound, match="no traversal 'x'"):
        graph(world, traversal_id="x")
    with pytest.raises(NotFound, match="did you mean 'server'"):
        graph(world, focus="sever")
    with pytest.raises(InvalidInput, match="expected all or groups, found 'half'"):
        graph(world, part="half")


def test_what_stands_at_a_hook_is_held_before_its_action_and_after_it() -> None:
    world = World()
    world.create(DIAMOND, **hooks("{port: {hooks: pre-create}, disk: {hooks: post-create}}"))
    world.settle()
    picture = graph(world)
    assert states(picture) == {"net": "done", "port": "held", "disk": "held", "server": "blocked"}
    reasons = {vertex.name: vertex.reason for vertex in picture.vertices}
    assert reasons["port"] == "paused until Hook pre-create is cleared"
    told = timeline(world)
    assert [kind for kind, _ in spans(told, "disk")][-1] == "held"
    world.now += 50
    world.clear()
    world.settle()
    told = timeline(world)
    assert dict(spans(told, "port"))["held"] >= 50
    assert dict(spans(told, "disk"))["held"] >= 50
    assert told.critical_seconds["held"] >= 50


def test_an_update_draws_what_it_visits_and_what_that_is_given() -> None:
    world = World()
    world.create(template({"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": value("c")}))
    world.settle()
    # b is changed, a is there for what it tells, c has nothing to do with it.
    world.update(template({"a": value("1"), "b": value("{get_attr: [a, value]}", "l"), "c": value("c")}))
    world.settle()
    picture = graph(world)
    told = {(vertex.name, vertex.phase): vertex.state for vertex in picture.vertices}
    assert told == {("a", "converge"): "unchanged", ("b", "converge"): "done"}
    # What there was nothing to do about has no bar.
    assert [(bar.name, bar.phase) for bar in timeline(world).bars] == [("b", "converge")]


def test_a_replacement_is_told_with_the_deletion_of_what_it_replaced() -> None:
    world = World()
    world.create(template({"a": value("1")}))
    world.settle()
    world.update(template({"a": value("2")}))
    # Until it is known that another takes its place, nothing is to be deleted.
    picture = graph(world)
    assert (picture.total, sum(stored(world).values())) == (1, 1)
    world.settle()
    picture = graph(world)
    assert (picture.total, sum(stored(world).values())) == (2, 2)
    told = timeline(world)
    assert [(bar.name, bar.phase, bar.action, bar.state) for bar in told.bars] == [
        ("a", "converge", "CREATE", "done"),
        ("a", "cleanup", "DELETE", "done"),
    ]
    assert told.critical == tuple(bar.no for bar in told.bars)
    assert all(bar.spans for bar in told.bars)


def test_every_count_leaves_out_what_nothing_is_to_be_done_for() -> None:
    world = World()
    world.create(template({"a": value("1", "s"), "b": value("2")}))
    world.settle()
    world.update(template({"a": value("1", "l"), "b": value("2")}))
    for _ in range(2):
        picture, view = graph(world), observer(world)
        (row,) = view.stacks(StackQuery()).rows
        assert [(vertex.name, vertex.phase) for vertex in picture.vertices] == [("a", "converge")]
        assert (picture.total, view.head("s").total, row.total, sum(stored(world).values())) == (1, 1, 1, 1)
        assert sum(world.store.census.take().nodes.values()) == (row.status == "IN_PROGRESS")
        # The head says how many those are.
        assert view.head("s").untouched == 1
        world.settle()
    past = world.store.past.traversals(row.id, limit=2)
    assert [view.head("s", each.id).untouched for each in past if each.action == "CREATE"] == [0]
    # What is replaced is there twice for a while, and what is removed goes.
    world.update(template({"a": value("3", "l"), "b": value("2"), "c": value("4")}))
    assert view.head("s").untouched == 1
    world.settle()
    world.update(template({"a": value("3", "l")}))
    world.settle()
    assert view.head("s").untouched == 1


def test_a_cleanup_that_is_held_back_is_never_begun() -> None:
    world = World()
    world.create(template_of({"a": [], "b": ["a"]}))
    world.settle()
    world.cloud.failing_deletes = {"b": True}
    world.update(template_of({}))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    picture = graph(world)
    assert states(picture) == {"b": "failed", "a": "unreached"}
    assert stored(world) == {"failed": 1, "unreached": 1}
    view = observer(world).failure("s")
    assert [(root.name, root.reason, root.blocked) for root in view.roots] == [("b", "stuck", ("a",))]


def test_of_a_deleted_stack_the_deletion_is_told() -> None:
    world = World()
    stack_id = world.create(DIAMOND)
    world.settle()
    created = world.store.stacks.find("s", project="default").traversal_id
    world.delete()
    world.settle()
    by_id = observer(world).graph(stack_id)
    assert by_id.operation.action == "DELETE"
    assert set(states(by_id).values()) == {"done"}
    assert graph(world, traversal_id=created).operation.action == "CREATE"


# -- timeline ----------------------------------------------------------------------------------------------------------


def test_spans_add_up_to_what_the_clock_says() -> None:
    world = World()
    world.cloud.polls = {"net": 30, "port": 10, "disk": 100, "server": 20}
    world.create(DIAMOND)
    world.settle()
    told = timeline(world)
    assert [bar.name for bar in told.bars if bar.critical] == ["net", "disk", "server"]
    assert told.operation.ended_at is not None
    took = told.operation.ended_at - told.operation.begun_at
    assert sum(told.critical_seconds.values()) == pytest.approx(took)
    assert dict(spans(told, "disk"))["running"] == pytest.approx(100, abs=2)
    assert dict(spans(told, "server"))["blocked"] == pytest.approx(130, abs=4)
    for bar in told.bars:
        assert bar.spans[0].start == told.operation.begun_at
        assert all(one.end == other.start for one, other in pairwise(bar.spans))


def test_retries_are_told_with_their_reasons() -> None:
    world = World()
    world.cloud.failing = {"net": 2}
    world.create(DIAMOND)
    while graph(world).vertices[0].retries < 1:
        world.deliver()
    assert states(graph(world))["net"] == "retrying"
    assert graph(world).vertices[0].reason == "busy"
    world.settle()
    net = next(bar for bar in timeline(world).bars if bar.name == "net")
    assert net.attempts == 3
    assert [(span.kind, span.reason) for span in net.spans if span.attempt] == [
        ("running", "busy"),
        ("retrying", "busy"),
        ("retrying", ""),
    ]


def test_what_another_operation_took_over_half_way_is_told_as_under_way() -> None:
    world = World()
    world.cloud.polls = {"net": 100}
    world.create(template_of({"net": []}))
    while states(graph(world))["net"] != "waiting":
        world.deliver()
    world.update(template_of({"net": [], "more": []}))
    while not (net := next(bar for bar in timeline(world).bars if bar.name == "net")).attempts:
        world.deliver()
    assert (net.state, [span.kind for span in net.spans]) == ("waiting", ["running"])


def test_a_lost_worker_is_told() -> None:
    world = World()
    world.create(template_of({"a": []}))
    world.stall(0)
    world.sweep(after=61)
    world.settle()
    (bar,) = timeline(world).bars
    assert [span.kind for span in bar.spans if span.attempt] == ["running", "retrying"]
    assert bar.attempts == 2


# -- failure -----------------------------------------------------------------------------------------------------------


def test_what_was_begun_and_not_done_when_all_was_over_is_not_called_never_begun() -> None:
    world = World()
    world.cloud.polls = {"slow": 100}
    world.cloud.failing = {"bad": -1}
    world.create(template_of({"slow": [], "bad": [], "after": ["bad"]}))
    while world.state() != "CREATE_FAILED":
        world.deliver()
    failed = world.store.stacks.find("s", project="default").traversal_id
    world.update(template_of({"slow": []}))
    picture = graph(world, traversal_id=failed)
    assert states(picture) == {"slow": "unreached", "bad": "failed", "after": "unreached"}
    reasons = {vertex.name: vertex.reason for vertex in picture.vertices}
    assert (reasons["slow"], reasons["after"]) == ("begun, and not done when the operation was over", "")
    view = observer(world).failure("s", traversal_id=failed)
    assert (view.unreached, [root.blocked for root in view.roots]) == (1, [("after",)])


def test_what_stood_before_its_action_when_all_was_over_was_never_begun() -> None:
    world = World()
    world.cloud.failing = {"bad": -1}
    world.create(template_of({"gate": [], "bad": []}), **hooks("{gate: {hooks: pre-create}}"))
    world.settle()
    picture = graph(world)
    assert states(picture) == {"gate": "unreached", "bad": "failed"}
    assert {vertex.name: vertex.reason for vertex in picture.vertices}["gate"] == ""
    assert observer(world).failure("s").unreached == 1


def test_the_root_is_named_with_what_it_blocks() -> None:
    world = World()
    world.cloud.failing = {"port": -1}
    world.create(DIAMOND)
    world.settle()
    view = observer(world).failure("s")
    assert [(root.name, root.reason, root.blocked) for root in view.roots] == [
        ("port", "no luck", ("server",))
    ]
    assert view.unreached == 1
    assert states(graph(world)) == {"net": "done", "port": "failed", "disk": "done", "server": "unreached"}


def test_the_root_in_a_stack_in_a_stack_is_followed() -> None:
    world = World()
    world.cloud.failing = {"disk": -1}
    world.create(nested_root(), files=FILES)
    world.settle()
    view = observer(world).failure("s")
    assert view.path == ("pair", "disk")
    child = next(each for each in world.store.stacks.all(project="default", nested=True) if each.parent_id)
    assert view.path_stack_id == child.id
    assert view.innermost is not None
    assert view.innermost.reason == "no luck"
    assert graph(world, focus="pair").vertices[1].nested_stack_id == child.id


def test_after_a_rollback_the_failure_is_still_told() -> None:
    world = World()
    world.cloud.failing = {"disk": -1}
    world.create(nested_root(), files=FILES, rollback=True)
    failed = world.store.stacks.find("s", project="default").traversal_id
    world.now += 1
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    view = observer(world).failure("s", traversal_id=failed)
    assert view.operation.status == "FAILED"
    assert view.path == ("pair", "disk")
    now = observer(world).failure("s")
    assert (now.operation.action, now.roots, now.rolled_back) == ("ROLLBACK", (), view)


def test_what_a_rollback_takes_back_is_told_with_its_reason_whoever_asked_for_it() -> None:
    world = World()
    queries = observer(world).queries
    world.create(DIAMOND)
    world.settle()
    assert queries.stack("s").rolled_back == ""
    world.now += 1
    world.update(template({"net": "properties: {value: other}"}))
    world.now += 1
    world.cancel()
    world.settle()
    assert queries.stack("s").rolled_back == "UPDATE was cancelled"
    taken_back = observer(world).failure("s").rolled_back
    assert taken_back is not None
    assert (taken_back.operation.status, taken_back.roots) == ("SUPERSEDED", ())
    world.cloud.failing = {"net": -1}
    world.now += 1
    world.update(template({"net": "properties: {value: other}"}), rollback=True)
    world.now += 1
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    why = "UPDATE failed: Resource CREATE failed: resources.net: no luck"
    assert queries.stack("s").rolled_back == why


def test_the_failure_of_a_rollback_comes_before_that_of_what_it_takes_back() -> None:
    world = World()
    world.create(template({"a": value("1", "s"), "b": value("1", "s")}))
    world.settle()
    world.cloud.failing = {"b": -1}
    world.now += 1
    world.update(template({"a": value("1", "l"), "b": f"{value('2', 's')}, depends_on: a"}), rollback=True)
    world.now += 1
    while world.state() != "ROLLBACK_IN_PROGRESS":
        world.deliver()
    world.cloud.failing_updates = {"a": True}
    world.settle()
    assert world.state() == "ROLLBACK_FAILED"
    view = observer(world).failure("s")
    assert [root.name for root in view.roots] == ["a"]
    assert view.rolled_back is not None
    assert [root.name for root in view.rolled_back.roots] == ["b"]


def test_an_operation_that_went_well_has_no_failure() -> None:
    world = World()
    world.create(DIAMOND)
    world.settle()
    view = observer(world).failure("s")
    assert (view.roots, view.later, view.unreached) == ((), (), 0)


# -- details -----------------------------------------------------------------------------------------------------------

SECRET = """\
heat_template_version: 2021-04-16
parameters: {password: {type: string, hidden: true}}
resources:
  a: {type: Cloud::Object, properties: {value: {get_param: password}}}
  b: {type: Cloud::Object, depends_on: a, properties: {size: big}}
"""
