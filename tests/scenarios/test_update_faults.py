"""Updates that meet a death, a failure or another operation at the worst of moments."""

from collections.abc import Callable

import pytest

from orchestrator.model.messages import END
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure
from tests.scenarios.commands import Between
from tests.scenarios.telling import rows_of
from tests.scenarios.test_unclean import stuck
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World

BY_PARAMETER = """
heat_template_version: wallaby
parameters: {p: {type: string}}
resources: {a: {type: Cloud::Object, properties: {size: {get_param: p}}}}
"""


def meanwhile(world: World, act: Callable[[], object], operation: Callable[[], object]) -> None:
    """Do something while an operation is being planned."""
    world.plug(Between(act))
    operation()
    world.plug()
    world.settle()


def step(world: World, *, times: int = 1) -> None:
    """Deliver messages to workers that take one step each and do not carry on."""
    for _ in range(times):
        if not world.messages:
            return
        order = world.messages.pop(0)
        if order.phase == END:
            world.coordinator.finish(order)
        else:
            world.publish(world.checker.step(order))


def die_after_claim(world: World) -> None:
    """Deliver a message to a worker that dies as soon as it has claimed."""
    assert world.store.nodes.claim(world.messages.pop(0), worker="dead") is not None


def test_what_an_older_update_changes_while_a_newer_one_is_planned_is_changed_back() -> None:
    world = World()
    world.create(BY_PARAMETER, parameters={"p": "s"})
    world.settle()
    world.update(BY_PARAMETER, parameters={"p": "l"})
    meanwhile(world, lambda: step(world), lambda: world.update(BY_PARAMETER, parameters={"p": "s"}))
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("", "s")}
    assert [action for action, _ in world.cloud.log] == ["make", "change", "change"]


def test_what_an_older_update_takes_away_while_a_newer_one_is_planned_is_made_again() -> None:
    story = Story({"a": value("1"), "b": value("2")})
    world = story.world
    world.update(template({"b": value("2")}))
    both = template({"a": value("1"), "b": value("2")})
    meanwhile(world, lambda: step(world), lambda: world.update(both))
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", ""), "b": ("2", "")}
    assert ids(world, story.id)["b"] == story.before["b"]


@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("polls", [0, 3])
def test_what_an_older_update_replaces_while_a_newer_one_is_planned_is_not_forgotten(
    steps: int, polls: int
) -> None:
    world = Story({"a": value("1"), "b": value("{get_attr: [a, value]}")}).world
    world.cloud.polls = {"a": polls}
    world.update(template({"a": value("2"), "b": value("{get_attr: [a, value]}")}))
    last = template({"a": value("3"), "b": value("{get_attr: [a, value]}")})
    meanwhile(world, lambda: step(world, times=steps), lambda: world.update(last))
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("3", ""), "b": ("3", "")}
    assert len(world.cloud.objects) == 2


@pytest.mark.parametrize("steps", range(8))
def test_a_delete_forgets_nothing_that_an_update_makes_while_it_is_planned(steps: int) -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}")})
    world = story.world
    world.cloud.polls = {"a": 3}
    world.update(template({"a": value("2"), "b": value("{get_attr: [a, value]}")}))
    meanwhile(world, lambda: step(world, times=steps), world.delete)
    assert world.state(story.id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


def test_of_two_updates_at_once_the_one_that_comes_last_is_what_the_stack_becomes() -> None:
    world = Story({"a": value("1", "s")}).world
    first, last = template({"a": value("1", "m"), "b": value("2")}), template({"a": value("1", "l")})
    meanwhile(world, lambda: world.update(first), lambda: world.update(last))
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", "l")}
    assert len(world.cloud.objects) == 1


def test_metadata_that_a_failed_update_did_not_come_to_are_given_by_the_next() -> None:
    def resources(key: str, size: str) -> dict[str, str]:
        return {"a": value("1", size), "b": f"depends_on: a, metadata: {{key: {key}}}"}

    story = Story(resources("old", "s"))
    story.world.cloud.failing_updates = {"a": True}
    story.update(resources("new", "m"), "UPDATE_FAILED")
    story.update(resources("new", "m"))
    assert story.world.store.stacks.resource(story.id, "b").metadata == {"key": "new"}


def test_a_replacement_that_is_called_for_after_the_update_failed_is_not_made_and_all_comes_to_rest() -> None:
    world = Story({"a": value("1"), "b": value("2", "s")}).world
    world.update(template({"a": value("9"), "b": value("2", "m")}))
    world.cloud.failing_updates = {"b": True}
    world.stall([order.key for order in world.messages].index("a"))
    world.deliver()
    assert world.state() == "UPDATE_FAILED"
    world.wake_stalled()
    for _ in range(20):
        while world.messages:
            world.deliver()
        due = world.store.sweeper.next_due()
        if due is None:
            break
        world.sweep(after=due + 0.001)
    assert world.store.sweeper.next_due() is None
    assert done(world) == []


@pytest.mark.parametrize("failing", ["create", "update"])
def test_what_failed_is_replaced_although_a_worker_died_over_it(failing: str) -> None:
    world = World()
    world.cloud.failing = {"a": -1} if failing == "create" else {}
    world.create(template({"a": value("1", "s")}))
    world.settle()
    world.cloud.failing = {}
    if failing == "update":
        world.cloud.failing_updates = {"a": True}
        world.update(template({"a": value("1", "l")}))
        world.settle()
    made = world.cloud.made
    world.update(template({"a": value("1", "l")}))
    die_after_claim(world)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert world.cloud.made == made + 1
    assert present(world) == {"a": ("1", "l")}
    assert len(world.cloud.objects) == 1


def test_a_replacement_whose_maker_dies_is_found_and_not_made_twice() -> None:
    world = Story({"a": value("1")}).world
    world.update(template({"a": value("2")}))
    step(world)
    claim = world.store.nodes.claim(world.messages.pop(0), worker="dead")
    assert claim is not None
    world.checker.act(claim)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == [("make", "a"), ("unmake", "a")]
    assert present(world) == {"a": ("2", "")}


def test_an_update_that_was_carried_to_its_end_for_another_is_known_for_what_it_brought() -> None:
    world = World()
    world.create(BY_PARAMETER, parameters={"p": "s"})
    world.settle()
    world.cloud.polls = {"a": 2}
    world.update(BY_PARAMETER, parameters={"p": "m"})
    world.deliver()
    world.update(BY_PARAMETER, parameters={"p": "l"})
    world.now += 3
    step(world)
    world.update(BY_PARAMETER, parameters={"p": "s"})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("", "s")}


def test_what_is_taken_back_is_what_its_name_stands_for() -> None:
    story = Story({"a": value("1")})
    world = story.world
    world.update(template({"a": value("2")}))
    step(world)
    world.update(template({"a": value("1")}))
    world.settle()
    row = world.store.stacks.resource(story.id, "a")
    assert (row.physical_id, row.replaced_by) == (story.before["a"], None)
    assert done(world) == []


@pytest.mark.parametrize("after", ["1", "2"])
def test_one_of_a_name_is_in_service_although_others_cannot_be_taken_away(after: str) -> None:
    """a is replaced, wanted as it was before that began to go, and wanted otherwise again before that was begun."""
    story = Story({"a": value("1"), "b": "depends_on: a"})
    world = story.world
    stuck(world, "a", "b")
    world.update(template({"a": value("2")}))
    step(world, times=3)
    world.update(template({"a": value("1")}))
    world.update(template({"a": value(after)}))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    rows = rows_of(world, story.id)["a"]
    (in_service,) = (row for row in rows if row.replaced_by is None)
    assert world.cloud.objects[in_service.physical_id or ""][1] == after
    assert [row.replaced_by for row in rows if row != in_service] == [in_service.id]
    assert world.store.stacks.resource(story.id, "a") == in_service


def test_what_a_dead_worker_was_making_of_what_is_not_known_any_more_is_taken_away() -> None:
    world = World()
    pair = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}")}
    stack_id = world.create(template(pair))
    step(world)
    die_after_claim(world)
    world.cloud.polls = {"a": 9}
    world.update(template({**pair, "a": value("1", "l")}))
    step(world)
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


def test_a_step_that_waits_for_an_older_one_does_not_begin_once_its_update_failed() -> None:
    world = Story({"a": value("1", "s"), "b": value("2", "s")}).world
    world.update(template({"a": value("1", "m"), "b": value("2", "s")}))
    world.stall(0)
    world.cloud.failing_updates = {"b": True}
    world.update(template({"a": value("1", "l"), "b": value("2", "l")}))
    world.deliver([order.key for order in world.messages].index("a"))
    while world.messages:
        world.deliver()
    assert world.state() == "UPDATE_FAILED"
    done(world)
    world.wake_stalled()
    world.settle()
    assert done(world) == []


def test_what_a_dead_worker_was_making_of_what_nobody_asks_for_any_more_is_taken_away() -> None:
    world = World()
    world.create(template({"a": value("1", "s"), "b": value("{get_attr: [a, value]}")}))
    step(world)
    die_after_claim(world)
    world.update(template({"a": value("1", "l")}))
    world.deliver([order.key for order in world.messages].index("a"))
    world.update(template({"a": value("1", "x")}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", "x")}


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("operation", ["update", "delete"])
def test_what_was_never_given_its_properties_is_taken_away_whatever_they_require(
    begun: bool, operation: str
) -> None:
    world = World()
    kind = world.checker._types["Cloud::Object"]
    needed = {"needed": Property(type=PropertyType.STRING, required=True)}
    kind.properties_schema = {**kind.properties_schema, **needed}
    pair = dict.fromkeys(("a", "b"), "properties: {needed: 1}")
    stack_id = world.create(template(pair))
    if begun:
        claim = world.store.nodes.claim(world.messages.pop(), worker="dead")
        assert claim is not None
        world.checker.act(claim)
    if operation == "update":
        world.update(template({"a": pair["a"]}))
    else:
        world.delete()
    world.settle()
    assert world.state(stack_id) == ("UPDATE_COMPLETE" if operation == "update" else "DELETE_COMPLETE")
    assert len(world.cloud.objects) == (1 if operation == "update" else 0)


def test_a_cleanup_that_failed_is_tried_again_by_the_next_update() -> None:
    story = Story({"a": value("1"), "b": "depends_on: a"})
    kind = story.world.checker._types["Cloud::Object"]
    unmake = kind.handle_delete

    def stuck(_: Resource) -> None:
        raise ResourceFailure("stuck")

    kind.handle_delete = stuck  # type: ignore[assignment, method-assign]
    story.update({"a": value("9"), "b": "depends_on: a"}, "UPDATE_FAILED")
    kind.handle_delete = unmake  # type: ignore[method-assign]
    assert story.update({"a": value("9"), "b": "depends_on: a"}) == [("unmake", "a")]


def test_what_ran_out_of_time_is_replaced_by_the_next_update() -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}")})
    story.world.cloud.polls = {"a": 100_000}
    wanted = {"a": value("1", "l"), "b": value("{get_attr: [a, value]}")}
    story.update(wanted, "UPDATE_FAILED", timeout_minutes=1)
    story.world.cloud.polls = {}
    assert story.update(wanted) == [("make", "a"), ("unmake", "a")]
