"""A cleanup that fails: the stack is in service, the failure is told, and what depends on what is left stays too."""

from typing import Any

import pytest

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.store.stacks.unclean import LEFT, UNCLEAN
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.telling import reason, rows_of, states
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World


def stuck(world: World, *names: str) -> None:
    """Let deletions of these names fail until they are told not to; no name: none fails any more."""
    kind: Any = world.checker._types["Cloud::Object"]
    unmake = getattr(kind, "unmake", kind.handle_delete)
    kind.unmake = unmake

    def handle_delete(self: Resource) -> None:
        if self.name in names:
            raise ResourceFailure("stuck")
        unmake(self)

    kind.handle_delete = handle_delete


@pytest.mark.parametrize("rollback", [False, True])
def test_everything_that_is_wanted_is_made_although_something_else_cannot_be_taken_away(
    rollback: bool,
) -> None:
    story = Story({"a": value("1"), "b": value("1")})
    world = story.world
    world.cloud.polls = {"y": 5, "z": 5}
    stuck(world, "a")
    wanted = {"a": value("2"), "y": "", "z": "depends_on: y"}
    story.update(wanted, "UPDATE_FAILED", rollback=rollback)
    assert sorted(world.cloud.objects[each][1] for each in world.cloud.objects) == ["", "", "1", "2"]
    assert states(world, story.id) == {
        "a": ["DELETE_FAILED", "CREATE_COMPLETE"],
        "y": ["CREATE_COMPLETE"],
        "z": ["CREATE_COMPLETE"],
    }
    assert reason(world) == UNCLEAN + "resources.a: stuck"
    stuck(world)
    assert story.update(wanted) == [("unmake", "a")]


def test_what_is_left_keeps_what_it_needs() -> None:
    """c needs b, b needs a; c cannot go, so b and a stay, and d, which nobody needs, goes."""
    story = Story({"a": "", "b": "depends_on: a", "c": "depends_on: b", "d": "", "e": ""})
    world = story.world
    stuck(world, "c")
    assert story.update({"e": ""}, "UPDATE_FAILED") == [("unmake", "d")]
    assert states(world, story.id) == {
        "a": ["CREATE_COMPLETE"],
        "b": ["CREATE_COMPLETE"],
        "c": ["DELETE_FAILED"],
        "e": ["CREATE_COMPLETE"],
    }
    stuck(world)
    assert story.update({"e": ""}) == [("unmake", "c"), ("unmake", "b"), ("unmake", "a")]
    assert sorted(rows_of(world, story.id)) == ["e"]


def test_what_is_replaced_stays_while_what_is_left_needs_it() -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"})
    world = story.world
    stuck(world, "b")
    wanted = {"a": value("2"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"}
    story.update(wanted, "UPDATE_FAILED")
    assert states(world, story.id) == {
        "a": ["CREATE_COMPLETE"] * 2,
        "b": ["DELETE_FAILED", "CREATE_COMPLETE"],
        "c": ["UPDATE_COMPLETE"],
    }
    stuck(world)
    assert story.update(wanted) == [("unmake", "b"), ("unmake", "a")]
    assert present(world) == {"a": ("2", ""), "b": ("2", ""), "c": ("", "")}


def test_all_that_could_not_be_taken_away_is_told() -> None:
    story = Story({"a": "", "b": "", "c": ""})
    stuck(story.world, "a", "b")
    story.update({"c": ""}, "UPDATE_FAILED")
    assert reason(story.world) == UNCLEAN + "resources.a: stuck; resources.b: stuck"


def test_what_a_new_stack_made_and_could_not_take_away_again_does_not_serve() -> None:
    world = World()
    world.cloud.failing = {"b": -1}
    stuck(world, "a")
    world.create(template({"a": "", "b": "depends_on: a"}), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_FAILED"
    assert reason(world) == LEFT + "resources.a: stuck"
    assert not world.store.stacks.in_service(world.store.stacks.find("s", project="default"))
    stuck(world)
    world.cloud.failing = {}
    world.update(template({"a": "", "b": "depends_on: a"}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert len(world.cloud.objects) == 2


def test_what_is_in_service_is_what_a_later_rollback_goes_back_to() -> None:
    story = Story({"a": value("1", "s"), "b": ""})
    world = story.world
    stuck(world, "b")
    story.update({"a": value("1", "l")}, "UPDATE_FAILED", rollback=True)
    stuck(world)
    world.cloud.failing = {"x": -1}
    story.update({"a": value("1", "x"), "x": "depends_on: a"}, "ROLLBACK_COMPLETE", rollback=True)
    assert present(world) == {"a": ("1", "l")}
    assert len(world.cloud.objects) == 1


@pytest.mark.parametrize("first", ["cleanup", "creation"])
def test_a_creation_that_fails_is_rolled_back_whatever_else_failed(first: str) -> None:
    story = Story({"a": value("1", "s"), "b": ""})
    world = story.world
    stuck(world, "b")
    world.cloud.failing = {"x": -1}
    body = "depends_on: a" if first == "cleanup" else ""
    world.cloud.polls = {"a": 3} if first == "cleanup" else {}
    # What could not be taken away still cannot be.
    ended = "ROLLBACK_FAILED" if first == "cleanup" else "ROLLBACK_COMPLETE"
    story.update({"a": value("1", "l"), "x": body}, ended, rollback=True)
    assert present(world)["a"] == ("1", "s")
    stuck(world)
    story.update({"a": value("1", "s"), "b": ""})
    assert present(world) == {"a": ("1", "s"), "b": ("", "")}
    assert len(world.cloud.objects) == 2
    assert ids(world, story.id)["a"] == story.before["a"]


def test_a_deletion_of_the_stack_still_stops_where_something_cannot_be_taken_away() -> None:
    story = Story({"a": "", "b": "depends_on: a"})
    world = story.world
    stuck(world, "b")
    world.delete()
    world.settle()
    assert world.state() == "DELETE_FAILED"
    assert reason(world) == "Resource DELETE failed: resources.b: stuck"
    stuck(world)
    world.delete()
    world.settle()
    assert world.state(story.id) == "DELETE_COMPLETE"
    assert done(world) == [("unmake", "b"), ("unmake", "a")]


@die_everywhere
def test_wherever_a_worker_dies_the_same_is_left_and_told(instruction: int) -> None:
    story = Story({"a": "", "b": "depends_on: a", "c": "depends_on: b", "d": value("1")})
    world = story.world
    stuck(world, "c")
    world.update(template({"d": value("2"), "e": "depends_on: d"}))
    world.cloud.crash_after(instruction)
    world.survive(world.settle)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert states(world, story.id) == {
        "a": ["CREATE_COMPLETE"],
        "b": ["CREATE_COMPLETE"],
        "c": ["DELETE_FAILED"],
        "d": ["CREATE_COMPLETE"],
        "e": ["CREATE_COMPLETE"],
    }
    assert reason(world) == UNCLEAN + "resources.c: stuck"


def serving(world: World) -> bool:
    return world.store.stacks.in_service(world.store.stacks.find("s", project="default"))


def patient(resources: dict[str, str], **settings: Any) -> World:
    """Make a stack that is cleaned up patiently."""
    world = World(cleanup_retry_limit=3, **settings)
    world.create(template(resources))
    world.settle()
    return world


def test_a_cleanup_is_tried_again_and_the_stack_is_in_service_meanwhile() -> None:
    world = patient({"a": value("1"), "b": "depends_on: a", "c": ""})
    assert serving(world)
    world.cloud.polls = {"b": 3}
    stuck(world, "c")
    world.update(template({"a": value("2", "l"), "b": f"depends_on: a, {value('2')}"}))
    assert not serving(world)
    while world.messages:
        world.deliver()
    assert (world.state(), serving(world)) == ("UPDATE_IN_PROGRESS", False)
    while not serving(world):
        world.sweep(after=1)
        while world.messages:
            world.deliver()
    assert world.state() == "UPDATE_IN_PROGRESS"
    stuck(world)
    world.settle()
    assert (world.state(), serving(world)) == ("UPDATE_COMPLETE", True)
    assert present(world) == {"a": ("2", "l"), "b": ("2", "")}
    assert len(world.cloud.objects) == 2


def test_after_so_many_tries_it_is_told_that_the_definition_is_in_service_and_what_is_left() -> None:
    world = patient({"a": value("1", "s"), "b": ""})
    stuck(world, "b")
    began = world.now
    world.update(template({"a": value("1", "l")}), rollback=True)
    world.settle()
    assert (world.state(), serving(world)) == ("UPDATE_FAILED", True)
    assert reason(world) == UNCLEAN + "resources.b: stuck (after 3 retries)"
    # Up to 2, 4 and 8 seconds, and at least half of that.
    assert 7 <= world.now - began <= 15
    stuck(world)
    world.update(template({"a": value("1", "l")}))
    world.settle()
    assert (world.state(), serving(world)) == ("UPDATE_COMPLETE", True)
    assert len(world.cloud.objects) == 1


def test_what_is_in_service_is_not_brought_back_when_the_cleanup_runs_out_of_time() -> None:
    world = patient({"a": value("1", "s"), "b": ""}, retry_base_seconds=600, retry_max_seconds=600)
    stuck(world, "b")
    world.update(template({"a": value("1", "l")}), rollback=True, timeout_minutes=1)
    world.settle()
    assert (world.state(), serving(world)) == ("UPDATE_FAILED", True)
    assert present(world)["a"] == ("1", "l")
    stack = world.store.stacks.find("s", project="default")
    assert stack.completed_template_id == stack.template_id


def test_an_update_that_fails_is_not_in_service_and_its_rollback_is() -> None:
    world = patient({"a": value("1", "s")})
    world.cloud.failing_updates = {"a": True}
    world.update(template({"a": value("1", "l")}))
    world.settle()
    assert (world.state(), serving(world)) == ("UPDATE_FAILED", False)
    world.update(template({"a": value("1", "s")}), rollback=True)
    world.settle()
    assert serving(world)


def test_a_cleanup_that_waits_for_its_next_try_is_superseded_like_any_other() -> None:
    world = patient({"a": value("1", "s"), "b": value("1")})
    stuck(world, "b")
    world.update(template({"a": value("1", "l")}))
    while world.messages:
        world.deliver()
    stuck(world)
    world.update(template({"a": value("1", "l"), "b": value("2")}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", "l"), "b": ("2", "")}
    assert len(world.cloud.objects) == 2
