"""Operations that leave the definition as it is: suspends and resumes, what is refused, and interruptions of each."""

from collections.abc import Callable, Mapping

import pytest

from orchestrator.errors import Conflict
from orchestrator.model.messages import OPERATE_JOBS, SuspendJob
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_update_faults import step
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World

#: b is made of a, c only comes after b, d stands alone.
CHAIN = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b", "d": value("4")}
#: The same with every kind of change: a replaced, and b with it; c gone; d in place; e new.
CHANGED = {
    "a": value("2", "s"),
    "b": value("{get_attr: [a, value]}"),
    "d": value("4", "l"),
    "e": "depends_on: b",
}
BECOME = {"a": ("2", "s"), "b": ("2", ""), "d": ("4", "l"), "e": ("", "")}


def states(world: World, stack_id: str) -> dict[str, str]:
    return {row.name: f"{row.action}_{row.status}" for row in world.store.stacks.resources(stack_id)}


def reason(world: World) -> str:
    return world.store.stacks.find("s", project="default").reason


def at_rest(world: World) -> set[str]:
    """Return the names of what rests."""
    return {physical_id.rpartition("-")[0] for physical_id in world.cloud.resting}


def vanish(world: World, name: str) -> None:
    """Take an object away behind the engine's back."""
    physical_id = next(each for each in world.cloud.objects if each.startswith(f"{name}-"))
    del world.cloud.objects[physical_id]


def tamper(world: World, name: str, *, size: str = "", value: str = "") -> None:
    """Change an object behind the engine's back."""
    physical_id = next(each for each in world.cloud.objects if each.startswith(f"{name}-"))
    if size:
        world.cloud.sizes[physical_id] = size
    if value:
        world.cloud.objects[physical_id] = (world.cloud.objects[physical_id][0], value)


@built_once
def suspended(resources: Mapping[str, str] = CHAIN) -> Story:
    story = Story(resources)
    story.world.suspend()
    story.world.settle()
    assert story.world.state() == "SUSPEND_COMPLETE"
    done(story.world)
    return story


# -- suspend and resume --------------------------------------------------------------------------------------------


def test_dependents_rest_first_and_come_back_last() -> None:
    story = suspended()
    world = story.world
    assert set(states(world, story.id).values()) == {"SUSPEND_COMPLETE"}
    assert at_rest(world) == {"a", "b", "c", "d"}
    world.resume()
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    back = [name for action, name in done(world) if action == "resume" and name != "d"]
    assert back == ["a", "b", "c"]
    assert at_rest(world) == set()
    world.update(template(CHAIN))
    assert [order.phase for order in world.messages] == ["end"]


def test_the_order_of_a_suspend_is_that_in_which_things_depend_on_each_other() -> None:
    story = Story(CHAIN)
    story.world.suspend()
    story.world.settle()
    assert [name for _, name in done(story.world) if name != "d"] == ["c", "b", "a"]


def test_what_is_done_already_is_not_done_again() -> None:
    story = suspended()
    assert story.world.suspend() == story.id
    assert story.world.messages == []
    story.world.resume()
    story.world.settle()
    done(story.world)
    assert story.world.resume() == story.id
    assert story.world.messages == []
    assert story.world.state() == "RESUME_COMPLETE"


def test_the_same_job_delivered_again_begins_nothing() -> None:
    story = Story(CHAIN)
    job = SuspendJob(name="s")
    assert story.world.coordinator.operate(job) == story.id
    story.world.settle()
    story.world.resume()
    story.world.settle()
    assert story.world.coordinator.operate(job) == story.id
    assert story.world.state() == "RESUME_COMPLETE"


def test_a_suspend_that_fails_can_be_undone_or_done_again() -> None:
    for again, left in ((World.resume, set[str]()), (World.suspend, {"a", "b", "c", "d"})):
        story = Story(CHAIN)
        world = story.world
        world.cloud.failing_operations = {("suspend", "b")}
        world.suspend()
        world.settle()
        assert world.state() == "SUSPEND_FAILED"
        assert reason(world) == "Resource SUSPEND failed: resources.b: no luck"
        assert at_rest(world) <= {"c", "d"}
        again(world)
        world.settle()
        assert world.state() in ("RESUME_COMPLETE", "SUSPEND_COMPLETE")
        assert at_rest(world) == left
        assert present(world) == {"a": ("1", "s"), "b": ("1", ""), "c": ("", ""), "d": ("4", "")}


def test_a_resume_that_failed_goes_on_where_it_was() -> None:
    story = suspended()
    world = story.world
    world.cloud.failing_operations = {("resume", "b")}
    world.resume()
    world.settle()
    assert world.state() == "RESUME_FAILED"
    world.resume()
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    assert at_rest(world) == set()
    assert sorted(name for action, name in done(world) if action == "resume") == ["a", "b", "c", "d"]


def test_an_update_of_a_stack_that_was_resumed_in_part_brings_the_rest_back_first() -> None:
    story = suspended()
    world = story.world
    world.cloud.failing_operations = {("resume", "b")}
    world.resume()
    world.settle()
    story.update(CHANGED)
    assert at_rest(world) == set()
    assert present(world) == BECOME


def test_what_cannot_be_brought_back_is_replaced_by_an_update() -> None:
    story = suspended({"a": value("1")})
    world = story.world
    world.resume()
    world.cancel()
    world.settle()
    world.cloud.failing_operations = {("resume", "a")}
    story.update({"a": value("1")})
    assert at_rest(world) == set()
    assert ids(world, story.id) != story.before
    assert len(world.cloud.objects) == 1


def test_only_what_is_in_use_is_suspended() -> None:
    story = Story({"a": value("1"), "b": value("2", "s")})
    world = story.world
    # The replacement of a fails: the old one stays in use.
    world.cloud.failing = {"a": -1}
    story.update({"a": value("9"), "b": value("2", "s")}, "UPDATE_FAILED")
    world.cloud.failing = {}
    with pytest.raises(Conflict, match="'a' is CREATE_FAILED; update the stack"):
        world.suspend()
    story.update({"a": value("9"), "b": value("2", "s")})
    world.suspend()
    world.settle()
    assert world.state() == "SUSPEND_COMPLETE"
    assert at_rest(world) == {"a", "b"}


def test_a_suspend_that_takes_too_long_fails_and_can_be_resumed() -> None:
    story = Story(CHAIN, timeout_minutes=1)
    world = story.world
    world.cloud.polls = {"b": 100_000}
    world.suspend()
    world.settle()
    assert world.state() == "SUSPEND_FAILED"
    assert reason(world) == "Stack SUSPEND timed out after 1 minutes"
    assert states(world, story.id)["b"] == "SUSPEND_FAILED"
    world.cloud.polls = {}
    world.resume()
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    assert at_rest(world) == set()


def test_a_check_that_takes_too_long_says_so() -> None:
    story = Story(CHAIN, timeout_minutes=1)
    world = story.world
    world.cloud.polls = {"b": 100_000}
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    assert reason(world) == "Stack CHECK timed out after 1 minutes"
    world.cloud.polls = {}
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE"


# -- what is refused -----------------------------------------------------------------------------------------------


OPERATIONS: dict[str, Callable[[World], object]] = {
    "check": World.check,
    "suspend": World.suspend,
    "resume": World.resume,
    "update": lambda world: world.update(template(CHAIN)),
}


@pytest.mark.parametrize("operation", ["check", "suspend", "resume"])
def test_nothing_is_begun_while_another_operation_is_under_way(operation: str) -> None:
    world = World()
    stack_id = world.create(template(CHAIN))
    with pytest.raises(Conflict, match=f"is CREATE_IN_PROGRESS: wait .* then {operation} it"):
        OPERATIONS[operation](world)
    world.settle()
    world.delete()
    with pytest.raises(Conflict, match="only a delete can follow"):
        OPERATIONS[operation](world)
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"


@pytest.mark.parametrize("operation", ["check", "update"])
def test_a_suspended_stack_is_resumed_first(operation: str) -> None:
    world = suspended().world
    with pytest.raises(Conflict, match="is SUSPEND_COMPLETE: resume it first"):
        OPERATIONS[operation](world)
    assert world.state() == "SUSPEND_COMPLETE"


def test_what_never_was_suspended_is_not_resumed() -> None:
    world = Story(CHAIN).world
    with pytest.raises(Conflict, match="is CREATE_COMPLETE: it is not suspended"):
        world.resume()


@pytest.mark.parametrize("operation", ["check", "suspend"])
def test_a_rollback_that_is_owed_comes_first(operation: str) -> None:
    world = Story({"a": value("1", "s")}).world
    world.cloud.failing_updates = {"a": True}
    world.update(template({"a": value("1", "l")}), rollback=True)
    world.deliver()
    assert world.state() == "UPDATE_FAILED"
    with pytest.raises(Conflict, match="about to be rolled back"):
        OPERATIONS[operation](world)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"


def test_an_empty_stack_is_suspended_and_resumed_too() -> None:
    world = World()
    world.create("heat_template_version: wallaby\n")
    world.settle()
    for act, state in (
        (world.check, "CHECK_COMPLETE"),
        (world.suspend, "SUSPEND_COMPLETE"),
        (world.resume, "RESUME_COMPLETE"),
    ):
        act()
        world.settle()
        assert world.state() == state


# -- interrupted at every message ----------------------------------------------------------------------------------


@built_once
def begun(operation: str, steps: int, polls: int) -> Story:
    """Return a stack of which an operation is so many steps under way."""
    if steps:
        story = begun(operation, steps - 1, polls)
        if not story.world.messages:
            story.world.sweep(after=1)
        step(story.world)
        return story
    story = suspended() if operation == "resume" else Story(CHAIN)
    story.world.cloud.polls = dict.fromkeys("bd", polls)
    OPERATIONS[operation](story.world)
    return story


STEPS = 14
at_every_message = pytest.mark.parametrize("steps", range(STEPS))
with_polls = pytest.mark.parametrize("polls", [0, 2])
of_each = pytest.mark.parametrize("operation", ["check", "suspend", "resume"])


@of_each
def test_every_message_there_is_is_one_of_those_below(operation: str) -> None:
    assert begun(operation, STEPS - 1, 2).world.state() == f"{operation.upper()}_COMPLETE"
    assert begun(operation, 1, 2).world.state() == f"{operation.upper()}_IN_PROGRESS"


@at_every_message
@with_polls
@of_each
def test_an_update_at_any_moment_brings_its_definition_about(operation: str, polls: int, steps: int) -> None:
    story = begun(operation, steps, polls)
    world = story.world
    if operation == "suspend":
        with pytest.raises(Conflict, match="resume it first"):
            world.update(template(CHANGED))
        world.settle()
        assert at_rest(world) == {"a", "b", "c", "d"}
        world.resume()
        world.settle()
    world.update(template(CHANGED))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == BECOME
    assert len(world.cloud.objects) == 4
    assert at_rest(world) == set()
    assert ids(world, story.id)["d"] == story.before["d"]
    assert {row.status for row in world.store.stacks.resources(story.id)} == {"COMPLETE"}


@at_every_message
@with_polls
@pytest.mark.parametrize("operation", ["check", "resume"])
def test_an_update_to_the_same_at_any_moment_touches_no_object(
    operation: str, polls: int, steps: int
) -> None:
    story = begun(operation, steps, polls)
    story.world.update(template(CHAIN))
    story.world.settle()
    assert story.world.state() == "UPDATE_COMPLETE"
    assert ids(story.world, story.id) == story.before
    assert at_rest(story.world) == set()


@at_every_message
@with_polls
@of_each
def test_a_delete_at_any_moment_leaves_nothing(operation: str, polls: int, steps: int) -> None:
    story = begun(operation, steps, polls)
    done(story.world)
    story.world.delete()
    story.world.settle()
    assert story.world.state(story.id) == "DELETE_COMPLETE"
    assert story.world.cloud.objects == {}
    unmade = story.world.unmade_names()
    assert [name for name in unmade if name != "d"] == ["c", "b", "a"]


@at_every_message
@with_polls
@of_each
@pytest.mark.parametrize("rollback", [False, True])
def test_a_cancel_at_any_moment_leaves_what_can_be_gone_on_with(
    operation: str, polls: int, steps: int, rollback: bool
) -> None:
    story = begun(operation, steps, polls)
    world = story.world
    if world.state().endswith("_COMPLETE"):
        with pytest.raises(Conflict, match="nothing to cancel"):
            world.cancel(rollback=rollback)
        return
    world.cancel(rollback=rollback)
    assert world.state() == f"{operation.upper()}_FAILED"
    assert reason(world) == f"Stack {operation.upper()} cancelled"
    world.settle()
    assert ids(world, story.id) == story.before
    if operation == "check":
        world.check()
        world.settle()
        assert world.state() == "CHECK_COMPLETE"
        return
    world.resume()
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    assert at_rest(world) == set()
    assert ids(world, story.id) == story.before


@of_each
@die_everywhere
def test_an_operation_ends_whatever_dies_at_whatever_instruction(operation: str, instruction: int) -> None:
    story = suspended() if operation == "resume" else Story(CHAIN)
    world = story.world
    job = OPERATE_JOBS[operation.upper()](name="s")
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.coordinator.operate(job)):
        # Nobody acknowledged the job: it is delivered again.
        world.coordinator.operate(job)
    while world.messages:
        world.survive(lambda: world.deliver(keep=True))
        world.survive(world.deliver)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == f"{operation.upper()}_COMPLETE"
    assert at_rest(world) == ({"a", "b", "c", "d"} if operation == "suspend" else set())
    assert set(states(world, story.id).values()) == {f"{operation.upper()}_COMPLETE"}
    assert ids(world, story.id) == story.before
