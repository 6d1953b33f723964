"""The lease of a traversal's end while its post-operation work takes long: no other process takes the end over."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from hooks.lifecycle import LifecyclePlugin
from orchestrator.engine.end_lease import Held, extended
from orchestrator.model.messages import END, CheckOrder
from orchestrator.store.tables import node
from tests.scenarios.world import World, template_of
from tests.waiting import PATIENCE_SECONDS, until

LONGEST_SECONDS = 3600.0
BEATS_SECONDS = 0.03


class Slow(LifecyclePlugin):
    """Takes its time for one action."""

    name = "slow"

    def __init__(self, action: str, act: Callable[[], object]) -> None:
        super().__init__()
        self._action, self._act = action, act

    def do_pre_op(self, _context: Any, _stack: Any, _current: Any, action: str) -> None:
        if action == self._action:
            self._act()


def ends_due(world: World) -> list[CheckOrder]:
    """Sweep; return the ends that another coordinator could take over then."""
    return [order for order in world.store.sweeper.sweep().orders if order.phase == END]


def test_the_end_is_held_while_a_rollback_is_planned_for_longer_than_a_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    # Extended by the clock of the machine; whether it has ended is a matter of the world's clock.
    world.store.timings = replace(world.store.timings, lease_seconds=BEATS_SECONDS)
    due: list[list[CheckOrder]] = []
    was_extended = threading.Event()
    extend = world.store.nodes.heartbeat

    def extend_and_tell(held: Iterable[Held]) -> object:
        found = extend(held)
        was_extended.set()
        return found

    monkeypatch.setattr(world.store.nodes, "heartbeat", extend_and_tell)

    def take_long() -> None:
        # The first may have begun before.
        for _ in range(2):
            was_extended.clear()
            world.now += 50
            assert was_extended.wait(PATIENCE_SECONDS)
        due.append(ends_due(world))

    world.plug(Slow("ROLLBACK", take_long))
    world.cloud.failing["a"] = -1
    world.create(template_of({"a": []}), rollback=True)
    world.settle()
    assert due == [[]]
    assert world.state() == "ROLLBACK_COMPLETE"
    with world.store.database.read() as connection:
        attempts = connection.execute(sa.select(node.c.attempt).where(node.c.phase == END)).scalars().all()
    assert attempts == [1, 1]
    world.close()


def test_a_lease_is_extended_while_the_work_goes_on_and_no_longer() -> None:
    beats: list[Any] = []
    held = ("t", 1, 1)
    before = set(threading.enumerate())
    with extended(beats.append, held, lease_seconds=BEATS_SECONDS, longest_seconds=LONGEST_SECONDS):
        (thread,) = set(threading.enumerate()) - before
        until(lambda: len(beats) > 1)
    thread.join()
    assert all(beat == [held] for beat in beats)


def test_a_lease_of_work_that_hangs_ends() -> None:
    now = [0.0]
    looks: list[float] = []
    beats: list[Any] = []

    def clock() -> float:
        looks.append(now[0])
        return now[0]

    def looked_again() -> bool:
        return looks.count(LONGEST_SECONDS) > len(beats) + 2

    with extended(
        beats.append, ("t", 1, 1), lease_seconds=BEATS_SECONDS, longest_seconds=LONGEST_SECONDS, clock=clock
    ):
        until(lambda: beats)
        now[0] = LONGEST_SECONDS
        # One extension at most is under way: every further look finds that there is to be none.
        until(looked_again)
