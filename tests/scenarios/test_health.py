"""Resources that people say are unhealthy: replaced by the next update, whatever they look like."""

import pytest

from orchestrator.engine.health import mark_unhealthy
from orchestrator.errors import Conflict, NotFound
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_operations import CHAIN, CHANGED, at_rest, begun, reason, states, suspended
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.witness import Witness
from tests.scenarios.world import World


def mark(world: World, name: str, said: str = "it hums") -> None:
    mark_unhealthy(world.store, world.store.stacks.find("s", project="default"), name, reason=said)


def reset(world: World, name: str) -> None:
    stack = world.store.stacks.find("s", project="default")
    mark_unhealthy(world.store, stack, name, reason="", reset=True)


def test_what_is_unhealthy_is_replaced_and_nothing_else() -> None:
    story = Story(CHAIN)
    mark(story.world, "a")
    row = story.world.store.stacks.resource(story.id, "a")
    assert (row.action, row.status, row.reason, row.unhealthy) == (
        "CHECK",
        "FAILED",
        "marked unhealthy: it hums",
        True,
    )
    events = story.world.store.events.read(story.id, limit=1000)
    assert (events[-1].resource, events[-1].action, events[-1].status) == ("a", "CHECK", "FAILED")
    assert story.update(CHAIN) == [("make", "a"), ("unmake", "a")]
    now = ids(story.world, story.id)
    assert {name for name in now if now[name] != story.before[name]} == {"a"}
    assert not story.world.store.stacks.resource(story.id, "a").unhealthy
    assert story.update(CHAIN) == []


def test_a_mark_that_is_taken_back_leaves_no_trace() -> None:
    story = Story(CHAIN)
    mark(story.world, "a")
    reset(story.world, "a")
    assert states(story.world, story.id)["a"] == "CHECK_COMPLETE"
    assert story.update(CHAIN) == []
    reset(story.world, "a")
    assert states(story.world, story.id)["a"] == "CHECK_COMPLETE"


def test_what_a_check_found_wrong_may_be_declared_sound() -> None:
    story = Story({"a": value("1", "s")})
    story.world.cloud.sizes[story.before["a"] or ""] = "x"
    story.world.check()
    story.world.settle()
    reset(story.world, "a")
    assert story.update({"a": value("1", "s")}) == []
    assert present(story.world) == {"a": ("1", "x")}


def test_a_check_does_not_make_it_healthy() -> None:
    story = Story(CHAIN)
    mark(story.world, "a")
    story.world.check()
    story.world.settle()
    assert story.world.state() == "CHECK_FAILED"
    assert reason(story.world) == "resources.a: marked unhealthy: it hums"
    assert story.update(CHAIN) == [("make", "a"), ("unmake", "a")]


def test_a_new_definition_replaces_it_too() -> None:
    story = Story(CHAIN)
    mark(story.world, "d")
    story.update(CHANGED)
    assert ids(story.world, story.id)["d"] != story.before["d"]


def test_a_rollback_replaces_it_too() -> None:
    story = Story({"a": value("1"), "b": value("2", "s")})
    mark(story.world, "a")
    story.world.cloud.failing_updates = {"b": True}
    story.update({"a": value("1"), "b": value("2", "l")}, "ROLLBACK_COMPLETE", rollback=True)
    assert ids(story.world, story.id)["a"] != story.before["a"]
    assert len(story.world.cloud.objects) == 2


@pytest.mark.parametrize("steps", range(12))
def test_what_is_replaced_for_it_is_replaced_once_whatever_comes_in_between(steps: int) -> None:
    story = Story(CHAIN)
    world = story.world
    mark(world, "a")
    world.update(template(CHAIN))
    for _ in range(steps):
        if world.messages:
            world.publish(world.checker.step(world.messages.pop(0)))
    world.update(template(CHAIN))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == [("make", "a"), ("unmake", "a")]
    assert states(world, story.id)["a"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE")


@die_everywhere
def test_it_is_replaced_once_whatever_dies(instruction: int) -> None:
    story = Story(CHAIN)
    world = story.world
    mark(world, "a")
    world.update(template(CHAIN))
    world.cloud.crash_after(instruction)
    while world.messages:
        world.survive(world.deliver)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    # Whose step was cut short may be changed again to what it is.
    assert [each for each in done(world) if each[0] != "change"] == [("make", "a"), ("unmake", "a")]


@pytest.mark.parametrize("operation", ["check", "suspend", "resume", "update"])
def test_nobody_says_so_while_an_operation_is_under_way(operation: str) -> None:
    world = begun("check", 1, 2).world if operation == "check" else Story(CHAIN).world
    if operation == "suspend":
        world.suspend()
    elif operation == "resume":
        world = begun("resume", 1, 2).world
    elif operation == "update":
        world.update(template(CHANGED))
    with pytest.raises(Conflict, match=f"is {operation.upper()}_IN_PROGRESS"):
        mark(world, "a")


def test_nobody_says_so_of_what_is_suspended() -> None:
    world = suspended().world
    with pytest.raises(Conflict, match="resume it first"):
        mark(world, "a")
    world.cloud.failing_operations = {("resume", "a")}
    world.resume()
    world.settle()
    with pytest.raises(Conflict, match=r"'b' is SUSPEND_COMPLETE: resume the stack first"):
        mark(world, "b")
    assert "b" in at_rest(world)


def test_what_failed_anyway_or_never_was_needs_no_mark() -> None:
    world = World()
    world.cloud.failing = {"a": -1}
    world.create(template({"a": value("1"), "b": "depends_on: a"}))
    world.settle()
    with pytest.raises(Conflict, match="'a' is CREATE_FAILED: the next update replaces it anyway"):
        mark(world, "a")
    with pytest.raises(Conflict, match="'b' is INIT_COMPLETE: there is nothing to mark"):
        mark(world, "b")
    with pytest.raises(NotFound, match="no resource 'x'"):
        mark(world, "x")


def test_what_is_not_ours_can_be_replaced_by_nobody() -> None:
    world = World()
    world.create(template({"mine": value("1")}))
    world.settle()
    other = world.cloud.make("somebody", "other", "9")
    world.cloud.sizes[other] = ""
    world.update(template({"mine": value("1"), "a": f"external_id: {other}"}))
    world.settle()
    with pytest.raises(Conflict, match="not ours"):
        mark(world, "a")


def test_what_goes_on_after_a_cancel_may_use_what_was_marked_meanwhile() -> None:
    story = Story({"a": value("1"), "b": f"depends_on: a, {value('2', 's')}"})
    world, witness = story.world, Witness(story.world)
    world.update(template({"a": value("1"), "b": f"depends_on: a, {value('2', 'l')}"}))
    while world.messages[0].key != "b":
        world.publish(world.checker.step(world.messages.pop(0)))
    assert world.store.nodes.claim(world.messages.pop(0), worker="dead")
    world.cancel(rollback=False)
    mark(world, "a")
    world.settle()
    assert done(world) == [("change", "b")]
    assert witness.violations == []
    world.update(template({"a": value("1"), "b": f"depends_on: a, {value('2', 'l')}"}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert states(world, story.id)["a"] == "CREATE_COMPLETE"
