"""Checks that travel in one message: what one step does to its worker, it does to no other resource."""

from typing import Any

import pytest

from orchestrator.errors import Unavailable
from tests.scenarios.cloud import Crash
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.telling import patched, states, steps_counted
from tests.scenarios.test_updates import template
from tests.scenarios.world import Steady, World, template_of
from workers.check.checker import CARRY_ON, LINKS
from workers.resources.core.value import Value

NAMES = ("a", "b", "c", "d")
#: The create of each, begun once and over once.
ALL_DONE = dict.fromkeys(NAMES, "CREATE_COMPLETE")


def shown(world: World) -> dict[str, str]:
    """Return the state of each resource."""
    stack = world.store.stacks.find("s", project="default")
    return {name: state for name, (state,) in states(world, stack.id).items()}


def together(world: World) -> bool:
    """Begin a stack of independent resources, and deliver their checks in one message."""
    world.create(template(dict.fromkeys(NAMES, "")))
    return world.survive(world.deliver_together)


def creating(world: World, name: str, act: Any) -> None:
    """Let the creation of one resource do something else before it is created."""
    sound = world.checker._types["Cloud::Object"].handle_create

    def handle_create(self: Any) -> Any:
        if self.name == name:
            act()
        return sound(self)

    patched(world, handle_create=handle_create)


def test_the_rest_of_a_message_goes_to_others_when_a_step_lasts() -> None:
    world = World()
    seen: list[Any] = []

    def lasts() -> None:
        # As the thread that watches finds after a while.
        (batch,) = world.checker._batches
        batch._since -= 1e9
        world.checker.hand_back()
        seen.append((shown(world), [(order.key, order.alone) for order in world.messages]))
        while world.messages:
            # Another worker has time.
            world.checker.check((world.messages.pop(0),))

    creating(world, "b", lasts)
    together(world)
    ((before, handed_back),) = seen
    # What was done is on record, and what was not begun is for others.
    assert (before["a"], before["b"]) == ("CREATE_COMPLETE", "CREATE_IN_PROGRESS")
    assert handed_back == [("c", True), ("d", True)]
    world.settle()
    assert shown(world) == ALL_DONE
    assert sorted(world.made_names()) == sorted(NAMES)


def test_a_step_that_takes_its_worker_down_fails_no_other_resource() -> None:
    world = World(lost_attempt_limit=3)

    def dies() -> None:
        raise Crash

    creating(world, "b", dies)
    assert not together(world)
    deaths = 1
    while not world.survive(world.settle):
        deaths += 1
    assert deaths == 3
    assert shown(world) == {**ALL_DONE, "b": "CREATE_FAILED"}
    assert sorted(world.made_names()) == ["a", "c", "d"]


@pytest.mark.parametrize("action", ["CREATE", "DELETE"])
@die_everywhere
def test_a_death_at_any_instruction_repeats_at_most_the_steps_of_one_batch(
    action: str, instruction: int
) -> None:
    size = 3
    world = World(batch_size=size)
    times = steps_counted(world)
    names = [f"r{number}" for number in range(2 * size + 2)]
    stack_id = world.create(template_of(dict.fromkeys(names[1:], names[:1]) | {names[0]: ()}))
    if action == "DELETE":
        world.settle()
        world.delete()
    world.cloud.crash_after(instruction)
    while not world.survive(world.settle):
        pass
    world.cloud.crash_at = None
    assert world.state(stack_id) == f"{action}_COMPLETE"
    assert sorted(world.made_names()) == names
    assert sorted(world.unmade_names()) == (names if action == "DELETE" else [])
    assert sum(count - 1 for count in times.values()) <= size


def test_a_database_that_goes_away_in_the_midst_of_a_message_costs_nothing_but_time() -> None:
    world = World()
    finish = world.store.nodes.finish_batch

    def unreachable(*_: Any, **__: Any) -> Any:
        vars(world.store.nodes)["finish_batch"] = finish
        raise Unavailable("the database does not answer")

    world.create(template(dict.fromkeys(NAMES, "")))
    vars(world.store.nodes)["finish_batch"] = unreachable
    with pytest.raises(Unavailable):
        world.deliver_together()
    world.settle()
    assert shown(world) == ALL_DONE
    assert sorted(world.made_names()) == sorted(NAMES)


def test_an_error_with_one_check_leaves_none_of_the_others_to_a_lease() -> None:
    world = World(redelivers=False)
    inputs = world.store.nodes.inputs

    def unreachable(claim: Any) -> Any:
        if claim.order.key == "b":
            raise Unavailable("the database does not answer")
        return inputs(claim)

    world.create(template(dict.fromkeys(NAMES, "")))
    vars(world.store.nodes)["inputs"] = unreachable
    with pytest.raises(Unavailable):
        world.deliver_together()
    vars(world.store.nodes)["inputs"] = inputs
    while world.messages:
        world.deliver()
    assert shown(world) == {**ALL_DONE, "b": "CREATE_IN_PROGRESS"}


def test_what_does_not_begin_in_time_is_begun_by_others() -> None:
    world = World()
    world.create(template(dict.fromkeys(NAMES, "")))
    world.deliver_together(late=True)
    assert [(order.key, order.alone) for order in world.messages] == [(name, True) for name in NAMES]
    assert world.made_names() == []
    world.settle()
    assert shown(world) == ALL_DONE


def test_what_is_claimed_does_not_wait_for_a_step_that_may_last() -> None:
    seen: list[dict[str, str]] = []

    class Slow(Value):
        def handle_create(self) -> Any:
            seen.append(shown(world))
            return super().handle_create()

    world = World({"Slow": Slow})
    world.checker._pace = Steady(["Cloud::Object"])
    lines = [f"  {name}: {{type: 'Cloud::Object'}}" for name in ("b", "c")]
    text = "heat_template_version: 2021-04-16\nresources:\n  a: {type: Slow, properties: {value: 1}}"
    world.create("\n".join([text, *lines, ""]))
    world.deliver_together()
    # The check of the slow resource was published again, for a worker that has nothing else to do.
    assert ([(order.key, order.alone) for order in world.messages], seen) == ([("a", True)], [])
    assert shown(world) == {"a": "INIT_COMPLETE", "b": "CREATE_COMPLETE", "c": "CREATE_COMPLETE"}
    world.settle()
    assert seen == [{"a": "CREATE_IN_PROGRESS", "b": "CREATE_COMPLETE", "c": "CREATE_COMPLETE"}]


@pytest.mark.parametrize(("quick", "made"), [(True, 1 + (CARRY_ON - 1) * LINKS), (False, CARRY_ON)])
def test_a_chain_of_quick_steps_comes_to_a_worker_in_few_messages(quick: bool, made: int) -> None:
    world = World(together=quick)
    names = [f"r{number:03}" for number in range(made + 1)]
    world.create(template_of(dict(zip(names, [(), *((name,) for name in names)], strict=False))))
    world.deliver()
    assert world.made_names() == names[:made]
    assert [order.key for order in world.messages] == [names[-1]]
