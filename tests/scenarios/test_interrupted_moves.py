"""Moves that are interrupted after any number of messages, or by the death of a process at any instruction."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from orchestrator.errors import Conflict
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_moves import AFTER, history, moved, present, renamed, stack
from tests.scenarios.test_moves_between_stacks import CASES, WEB, A, B, expected, made, paths, text_of, update
from tests.scenarios.test_update_faults import step
from tests.scenarios.test_updates import done, template, value
from tests.scenarios.world import World

MOST = 12


@dataclass(frozen=True, kw_only=True)
class Move:
    """An update of a complete stack that moves resources, and changes others."""

    complete: Callable[[], World]
    update: Callable[[World], object]
    #: An update that supersedes it, and the paths that this leads to, by the present ones.
    supersede: Callable[[World], object]
    leads_to: dict[str, str]
    #: The names of the resources whose objects are not touched: those that are moved, before and after.
    kept: frozenset[str]


#: It moves one resource, changes another, and makes a third.
CHANGE = {**AFTER, "c": f"{value('', 'l')}, depends_on: x", "y": "depends_on: c"}
OTHER = {"z": value("1", "s"), "b": value("{get_attr: [z, value]}", "s"), "c": "depends_on: z"}

#: One resource goes in, one comes out, and another one is changed.
OUTSIDE = {"c": f"{B[:-1]}, depends_on: web}}".replace("size: s", "size: l"), "z": A, "web": WEB}
INSIDE = {"web": text_of({"y": B.replace("size: s", "size: l"), "x": A})}


def between(world: World) -> None:
    update(world, OUTSIDE, ("a", "web/x"), ("web/z", "z"), files=INSIDE)


MOVES = {
    "to another name": Move(
        complete=stack,
        update=lambda world: world.update(template(CHANGE), environments=moved(("a", "x"))),
        supersede=lambda world: world.update(template(OTHER), environments=moved(("a", "x"), ("x", "z"))),
        leads_to={"a": "z"},
        kept=frozenset({"a", "x"}),
    ),
    "to another stack": Move(
        complete=lambda: made({"a": A, "c": B, "web": WEB}, web=text_of({"y": B, "z": A})),
        update=between,
        supersede=between,
        leads_to={"a": "web/x", "web/z": "z"},
        kept=frozenset({"a", "x", "z"}),
    ),
}


@built_once
def begun(move: str, steps: int) -> World:
    """Return an update that moves, after so many messages; each change takes time."""
    if steps:
        world = begun(move, steps - 1)
        step(world)
        return world
    world = MOVES[move].complete()
    world.cloud.polls = {"c": 3, "y": 3}
    MOVES[move].update(world)
    return world


def was_kept(move: str, world: World) -> None:
    """Check that no object of a moved resource was touched."""
    assert [each for each in done(world) if each[1] in MOVES[move].kept] == []


each_moment = pytest.mark.parametrize("steps", range(MOST))
each_move = pytest.mark.parametrize("move", MOVES)


@each_move
@each_moment
def test_cancelled_anywhere_it_returns_to_the_old_places(move: str, steps: int) -> None:
    world, before = begun(move, steps), paths(MOVES[move].complete())
    try:
        world.cancel()
    except Conflict:
        assert world.state() == "UPDATE_COMPLETE"
        return
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    was_kept(move, world)
    assert paths(world) == before


@each_move
@each_moment
def test_superseded_anywhere_it_is_as_the_later_update_says(move: str, steps: int) -> None:
    world, before = begun(move, steps), paths(MOVES[move].complete())
    MOVES[move].supersede(world)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    was_kept(move, world)
    assert paths(world) == expected(before, MOVES[move].leads_to)


@each_move
@each_moment
def test_deleted_anywhere_nothing_is_left(move: str, steps: int) -> None:
    world = begun(move, steps)
    stack_id = world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


# -- deaths ------------------------------------------------------------------------------------------------------------


@die_everywhere
def test_process_that_dies_anywhere_moves_once(instruction: int) -> None:
    world = stack()
    before = present(world)
    world.cloud.crash_after(instruction)

    def update() -> None:
        world.update(template(AFTER), environments=moved(("a", "x")), job_id="1")

    if not world.survive(update):
        update()
    world.survive(world.settle)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == []
    assert present(world) == renamed(before, x="a")
    assert history(world) == [("x", "MOVE", "its name was 'a'")]


@die_everywhere
def test_process_that_dies_anywhere_in_a_rollback_returns_to_the_old_names(instruction: int) -> None:
    world = stack()
    before = present(world)
    world.cloud.failing = {"y": -1}
    world.update(template({**AFTER, "y": ""}), environments=moved(("a", "x")), rollback=True)
    world.cloud.crash_after(instruction)
    world.survive(world.settle)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert done(world) == []
    assert present(world) == before


@pytest.mark.parametrize(
    ("case", "fails"),
    [
        ("into a new nested stack", False),
        ("into a new nested stack", True),
        ("out of a nested stack that goes", True),
        ("into a new group", False),
    ],
)
@die_everywhere
def test_move_touches_nothing_whoever_dies(case: str, fails: bool, instruction: int) -> None:
    first, files, second, more, entries = CASES[case]
    world = made(first, **files)
    before = paths(world)
    world.cloud.failing = {"bad": -1} if fails else {}
    world.cloud.crash_after(instruction)

    def order() -> None:
        update(world, {**second, "bad": A}, *entries.items(), files=more, rollback=True, job_id="1")

    if not world.survive(order):
        order()
    world.survive(world.settle)
    world.cloud.crash_at = None
    world.settle()
    assert [each for each in done(world) if each[1] != "bad"] == []
    if fails:
        assert (world.state(), paths(world)) == ("ROLLBACK_COMPLETE", before)
    else:
        assert world.state() == "UPDATE_COMPLETE"
        assert expected(before, entries).items() <= paths(world).items()
