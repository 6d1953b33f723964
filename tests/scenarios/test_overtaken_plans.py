"""What an update has brought about while the next operation was being planned, and what it was about to."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from orchestrator.errors import Conflict
from orchestrator.model.messages import DeleteJob
from tests.scenarios.test_update_faults import meanwhile, step
from tests.scenarios.test_updates import Story, present, template, value
from tests.scenarios.witness import Witness
from tests.scenarios.world import World

BY_ANOTHER_TYPE = """
heat_template_version: wallaby
parameters: {there: {type: boolean, default: true}}
conditions: {is_there: {get_param: there}}
resources:
  a: {type: Cloud::Other, condition: is_there}
  b: {type: Cloud::Object, depends_on: a}
  c: {type: Cloud::Object, depends_on: b}
"""


def last_first(world: World) -> None:
    """Let the network turn around the order of what is on it."""
    world.messages.reverse()


@pytest.mark.parametrize("operation", ["delete", "cancel", "update"])
@pytest.mark.parametrize("steps", range(6))
def test_what_moved_over_while_a_deletion_was_planned_goes_before_what_it_moved_to(
    operation: str, steps: int
) -> None:
    story = Story({"a": "", "b": "depends_on: a", "c": "depends_on: b"})
    world, witness = story.world, Witness(story.world)
    world.update(BY_ANOTHER_TYPE)
    operations: dict[str, Callable[[], str]] = {
        "delete": world.delete,
        "cancel": world.cancel,
        "update": lambda: world.update(BY_ANOTHER_TYPE, parameters={"there": False}),
    }

    def begin() -> None:
        # A cancellation is refused once there is nothing to cancel any more.
        with suppress(Conflict):
            operations[operation]()
        last_first(world)

    meanwhile(world, lambda: step(world, times=steps), begin)
    assert witness.violations == []


@pytest.mark.parametrize("dies", [False, True])
def test_what_an_update_under_way_uses_already_is_not_deleted_before_it(dies: bool) -> None:
    story = Story({"b": value("1", "s")})
    world, witness = story.world, Witness(story.world)
    world.cloud.polls = {"b": 1000}
    world.update(
        "heat_template_version: wallaby\n"
        "resources:\n"
        "  a: {type: Cloud::Object}\n"
        "  b: {type: Cloud::Object, properties: {value: '1', size: {get_resource: a}}}\n"
    )
    step(world)
    if dies:
        claim = world.store.nodes.claim(world.messages[0], worker="dead")
        assert claim is not None
        world.checker.act(claim)
    else:
        step(world)
    assert any("a-" in size for size in world.cloud.sizes.values())
    world.delete()
    last_first(world)
    world.settle()
    assert witness.violations == []
    assert world.cloud.objects == {}


def test_what_is_being_made_in_the_place_of_another_is_deleted_before_what_it_was_given() -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}")})
    world, witness = story.world, Witness(story.world)
    world.cloud.polls = {"b": 1000}
    world.update(
        "heat_template_version: wallaby\n"
        "resources:\n"
        "  a: {type: Cloud::Object, properties: {value: '2'}}\n"
        "  b: {type: Cloud::Object, properties: {value: {get_attr: [a, value]}}}\n"
    )
    step(world, times=4)
    world.delete()
    last_first(world)
    world.settle()
    assert witness.violations == []
    assert world.cloud.objects == {}


def test_a_delete_that_is_delivered_again_leaves_alone_who_has_the_name_by_then() -> None:
    story = Story({"a": ""})
    world = story.world
    job = DeleteJob(name="s")
    assert world.coordinator.delete(job) == story.id
    world.settle()
    other = world.create("heat_template_version: wallaby\nresources: {a: {type: Cloud::Object}}")
    assert world.coordinator.delete(job) == story.id
    world.settle()
    assert world.state(other) == "CREATE_COMPLETE"


@pytest.mark.parametrize("steps", range(5))
def test_what_has_become_complete_while_its_cancellation_was_planned_is_not_undone(steps: int) -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}")})
    world = story.world
    world.update(template({"a": value("1", "l"), "b": value("{get_attr: [a, value]}", "l")}))
    refused = False

    def cancel() -> None:
        nonlocal refused
        try:
            world.cancel()
        except Conflict:
            refused = True

    meanwhile(world, lambda: step(world, times=steps), cancel)
    assert refused == (steps >= 2)
    assert world.state() == ("UPDATE_COMPLETE" if refused else "ROLLBACK_COMPLETE")
    wanted = {"a": ("1", "l"), "b": ("1", "l")} if refused else {"a": ("1", "s"), "b": ("1", "")}
    assert present(world) == wanted
