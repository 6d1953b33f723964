"""Operations with hooks, into which other operations, or the death of a process, come at any moment."""

from collections.abc import Callable, Mapping

import pytest

from tests.scenarios.built_once import at_every_message, built_once
from tests.scenarios.test_hooks import AFTER, ALL, BEFORE, environment
from tests.scenarios.test_updates import done, present, template, value
from tests.scenarios.world import World


def stand_and_go_on(world: World, stack_id: str) -> bool:
    """Deliver a message, letting on whatever stands if there is none left; tell whether one came."""
    while not world.messages:
        due = world.store.sweeper.next_due()
        if world.standing(stack_id):
            world.clear(name=stack_id)
        elif due is None:
            return False
        else:
            world.sweep(after=due + 0.001)
    world.deliver()
    return True


def update_to_after(world: World) -> None:
    world.update(template(AFTER), **ALL)


def update_to_before(world: World) -> None:
    world.update(template(BEFORE), **ALL)


def cancel(world: World) -> None:
    world.cancel()


def cancel_without_rollback(world: World) -> None:
    world.cancel(rollback=False)


def delete(world: World) -> None:
    world.delete()


INTERRUPTIONS = (update_to_after, update_to_before, cancel, cancel_without_rollback, delete)


WANTED: Mapping[Callable[[World], None], Mapping[str, tuple[str, str]]] = {
    update_to_after: {"a": ("2", "s"), "b": ("2", "s"), "c": ("c", "l"), "d": ("d", "")},
    update_to_before: {"a": ("1", "s"), "b": ("1", "s"), "c": ("c", "")},
    delete: {},
}


@pytest.mark.parametrize(
    ("begin", "interruption"),
    [
        *((begin, each) for begin in ("create", "update") for each in INTERRUPTIONS),
        # Of a stack that is being deleted nothing else is accepted.
        ("delete", delete),
    ],
)
def test_whatever_comes_at_whichever_message_the_last_word_counts(
    begin: str, interruption: Callable[[World], None]
) -> None:
    begins = World()
    stack_id = begins.create(template(BEFORE), **ALL)
    if begin != "create":
        begins.settle_clearing()
        assert begins.state() == "CREATE_COMPLETE"
        begins.update(template(AFTER), **ALL) if begin == "update" else begins.delete()
    over: list[bool] = []

    def go_on(world: World) -> bool:
        # Once after the end as well.
        over.append(not stand_and_go_on(world, stack_id))
        return over[-2:] != [True, True]

    for deliveries, world in at_every_message(begins, go_on):
        is_over = world.state(stack_id).endswith("_COMPLETE")
        if is_over and (interruption in (cancel, cancel_without_rollback) or begin == "delete"):
            # There is nothing left to interrupt.
            break
        interruption(world)
        world.settle_clearing(stack_id)
        if interruption is cancel_without_rollback:
            assert world.state() in ("CREATE_FAILED", "UPDATE_FAILED")
            assert world.standing() == []
            update_to_after(world)
            world.settle_clearing()
        last = update_to_after if interruption is cancel_without_rollback else interruption
        if last is cancel:
            assert world.state() == "ROLLBACK_COMPLETE"
            last = update_to_before if begin == "update" else delete
        assert present(world) == WANTED[last], deliveries
        assert len(world.cloud.objects) == len(WANTED[last])
        assert world.state(stack_id).endswith("_COMPLETE")
    assert deliveries > 5


def survived(world: World, act: Callable[[], object]) -> None:
    """Do something to its end, however often it takes."""
    while not world.survive(act):
        pass


@built_once
def begun_to(action: str) -> World:
    """Return a world in which a stack of one resource is about to be made, changed, replaced or deleted."""
    world = World()
    hooks = ALL if action == "create" else environment({"a": ["pre-delete", "post-delete"]})
    world.create(template({"a": value("1", "s")}), **hooks)
    if action == "create":
        return world
    world.settle()
    done(world)
    if action == "delete":
        world.delete()
    else:
        world.update(template({"a": value("1", "l") if action == "change" else value("2", "s")}), **ALL)
    return world


def letting_all_on(world: World, stack_id: str) -> list[tuple[str, str]]:
    """Let on whatever stands, however often the process dies over it; return what stood."""
    stood: list[tuple[str, str]] = []

    def look() -> None:
        stood.extend(each for each in world.standing(stack_id) if each not in stood)

    while True:
        survived(world, world.settle)
        before = len(stood)
        survived(world, look)
        if len(stood) == before:
            return stood
        survived(world, lambda: world.clear(name=stack_id))


@pytest.mark.parametrize(
    ("action", "becomes"),
    [("create", [("1", "s")]), ("change", [("1", "l")]), ("replace", [("2", "s")]), ("delete", [])],
)
def test_a_crash_at_any_instruction_changes_nothing(action: str, becomes: list[tuple[str, str]]) -> None:
    expected: tuple[list[tuple[str, str]], list[tuple[str, str]]] | None = None
    for instruction in range(1000):
        world = begun_to(action)
        (stack,) = world.store.stacks.all(project="default")
        if instruction:
            world.cloud.crash_after(instruction)
        stood = letting_all_on(world, stack.id)
        is_over = bool(instruction) and world.cloud.crash_at is not None
        world.cloud.crash_at = None
        assert world.state(stack.id).endswith("_COMPLETE")
        assert list(present(world).values()) == becomes
        # To change an object twice to the same makes no difference; to make one twice does.
        log = [each for each in done(world) if each[0] != "change"]
        expected = expected or (stood, log)
        assert (stood, log) == expected
        world.close()
        if is_over:
            break
    assert instruction > 20
    assert expected
    assert expected[0]
