"""A sink is told everything in order, by one process at a time, and what it does not take comes again."""

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from hooks.events import Event
from hooks.loading.calling import call_within
from hooks.options import HookOptions
from orchestrator.sinks.delivery import LOOK_SECONDS, MARGIN_SECONDS, POLL_SECONDS
from tests.unit.orchestrator.sinks.world import (
    CANCELLED,
    CHOKE,
    FAIL_TO_HEAR,
    FAIL_TO_SAVE,
    HANG,
    HANG_AND_TAKE,
    LIMIT_SECONDS,
    REFUSE,
    TAKE,
    Sink,
    World,
)
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def world() -> World:
    return World()


def ids(world: World) -> list[int]:
    return [event.id for event in world.outside.arrived]


def test_what_happens_is_told_and_noted(world: World) -> None:
    world.happen(count=3)
    world.step()
    assert ids(world) == [1, 2, 3]
    assert (world.cursor.position, world.counted()) == (3, 3)
    assert world.step() == POLL_SECONDS
    world.happen()
    world.step()
    assert ids(world) == [1, 2, 3, 4]
    assert world.outside.open == 1


def test_much_is_told_in_parts(world: World) -> None:
    world.happen(count=1201)
    world.until_done()
    assert ids(world) == list(range(1, 1202))
    assert world.outside.batches == [500, 500, 201]


def test_one_process_tells_and_the_others_look_again_now_and_then(world: World) -> None:
    world.step(0)
    world.happen()
    assert world.step(1) == LOOK_SECONDS
    world.step(0)
    assert ids(world) == [1]
    assert not world.delivery(1).has_cursor
    # Woken or not, it does not trouble the database before.
    world.clock.pass_(LOOK_SECONDS / 2)
    assert world.step(1) == LOOK_SECONDS / 2


def test_a_process_that_has_no_time_to_wait_looks_again_at_once(world: World) -> None:
    world.step(0)
    world.step(1)
    world.happen()
    world.delivery(0).leave()
    world.delivery(1).look_again()
    world.step(1)
    assert ids(world) == [1]


def test_a_process_that_leaves_is_followed_by_another(world: World) -> None:
    world.step(0)
    world.delivery(0).leave()
    assert world.outside.open == 0
    world.happen()
    world.step(1)
    assert ids(world) == [1]


def test_a_process_that_is_known_to_be_dead_is_followed_at_once(world: World) -> None:
    world.step(0)
    world.kill(0, noticed=True)
    world.happen()
    world.step(1)
    assert ids(world) == [1]


def test_a_process_that_is_not_known_to_be_dead_is_followed_when_its_lease_is_over(world: World) -> None:
    world.step(0)
    world.kill(0, noticed=False)
    world.happen()
    world.clock.pass_(LIMIT_SECONDS + MARGIN_SECONDS - 1)
    world.step(1)
    assert ids(world) == []
    world.clock.pass_(LOOK_SECONDS)
    world.step(1)
    assert ids(world) == [1]


def test_a_process_that_stood_still_too_long_notes_nothing(world: World) -> None:
    world.happen()
    world.step(0)
    world.clock.pass_(LIMIT_SECONDS + MARGIN_SECONDS)
    world.happen()
    world.step(1)
    world.happen()
    assert world.step(0) == LOOK_SECONDS
    assert not world.delivery(0).has_cursor
    assert ids(world) == [1, 2]
    assert (world.cursor.position, world.counted()) == (2, 2)


def test_the_lease_outlasts_the_longest_call(world: World) -> None:
    world.step(0)
    for _ in range(20):
        world.clock.pass_(LIMIT_SECONDS)
        world.happen()
        world.step(0)
        assert world.delivery(0).has_cursor
        world.clock.pass_(LIMIT_SECONDS)
        world.step(1)
        assert not world.delivery(1).has_cursor


@pytest.mark.parametrize(
    ("mood", "error"),
    [
        (REFUSE, "connection refused by amqp://******@host/"),
        (CHOKE, "this one is too much"),
        (HANG, "it took longer than 30 s"),
        (HANG_AND_TAKE, "it took longer than 30 s"),
        (FAIL_TO_SAVE, "no room"),
        (CANCELLED, "it raised CancelledError"),
    ],
)
def test_what_a_sink_does_not_take_comes_again(world: World, mood: str, error: str) -> None:
    world.step()
    world.happen(count=4)
    world.outside.mood = mood
    pause = world.step()
    assert pause is not None
    assert 0.5 <= pause <= 1
    assert (world.cursor.error, world.cursor.failures, world.cursor.position) == (error, 1, 0)
    assert world.cursor.owner is None
    world.outside.mood = TAKE
    assert world.step() == pytest.approx(pause)
    world.clock.pass_(pause)
    world.step()
    assert ids(world)[-4:] == [1, 2, 3, 4]
    assert (world.cursor.error, world.cursor.failures, world.counted()) == ("", 0, 4)


def test_pauses_grow_up_to_a_minute(world: World) -> None:
    world.happen()
    world.outside.mood = REFUSE
    pauses = []
    for _ in range(12):
        pauses.append(world.step() or 0)
        world.clock.pass_(pauses[-1])
    assert all(30 <= pause <= 60 for pause in pauses[7:])
    assert pauses[:6] == sorted(pauses[:6])


def test_a_sink_that_fails_is_given_less_at_once(world: World) -> None:
    world.happen(count=1000)
    for mood in (CHOKE, CHOKE, CHOKE, TAKE):
        world.outside.mood = mood
        world.clock.pass_(world.step() or 0)
    assert world.outside.batches == [250, 62, 15, 7]
    world.until_done()
    assert max(world.outside.batches[4:]) > 250


def test_a_sink_that_took_too_long_is_not_called_again(world: World) -> None:
    world.happen()
    made: list[Sink] = []
    calls: list[tuple[Sink, str]] = []

    class Watched(Sink):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def consume(self, events: Sequence[Event]) -> None:
            calls.append((self, "consume"))
            super().consume(events)

    world.outside.mood = HANG
    delivery = world.delivery(make=lambda _: Watched())
    world.clock.pass_(world.step() or 0)
    world.outside.mood = TAKE
    world.step()
    first, second = made
    assert calls == [(first, "consume"), (second, "consume")]
    assert (ids(world), delivery.has_cursor) == ([1], True)


def hurrying(*numbers: int, **more: Any) -> Callable[..., Any]:
    """Return what calls a sink, and gives the time limit to calls of these numbers alone; others may be slow."""
    counted = count()

    def call(function: Callable[[], Any], *, seconds: float, name: str) -> Any:
        limit = seconds if next(counted) in numbers else PATIENCE_SECONDS
        return call_within(function, seconds=limit, name=name, **more)

    return call


@pytest.mark.parametrize("where", ["restore", "consume", "kept"])
def test_a_sink_that_took_too_long_is_closed_when_its_call_ends(world: World, where: str) -> None:
    """What it holds, such as a port, another could never have."""
    world.happen()
    on, closed = threading.Event(), threading.Event()
    hangs = iter([True])

    class Holding(Sink):
        def close(self) -> None:
            super().close()
            closed.set()

    def hang(sink: Sink, *arguments: Any) -> None:
        if next(hangs, False):
            on.wait(PATIENCE_SECONDS)
        getattr(Sink, where)(sink, *arguments)

    setattr(Holding, where, hang)
    hurried = hurrying(["restore", "consume", "kept"].index(where))
    world.delivery(make=lambda _: Holding(), call=hurried, limit_seconds=0.2)
    world.clock.pass_(world.step() or 0)
    assert world.cursor.error == "it has not answered within 0.2 s"
    # Its call is going on: it is not called a second time.
    assert not closed.is_set()
    on.set()
    assert closed.wait(PATIENCE_SECONDS)
    world.happen()
    world.step()
    assert world.cursor.position == 2


@pytest.mark.parametrize("where", ["restore", "consume", "kept", "close"])
def test_no_words_of_a_sink_hold_its_secrets(world: World, where: str) -> None:
    class Options(HookOptions):
        key: SecretStr

    class Talking(Sink):
        def __init__(self) -> None:
            super().__init__(Options(key=SecretStr("s3cret")))

    def talk(_: Sink, *_arguments: Any) -> None:
        raise ConnectionError("the server does not know s3cret")

    setattr(Talking, where, talk)
    world.happen()
    with capture_logs() as logs:
        world.delivery(make=lambda _: Talking())
        world.step()
        world.delivery().leave()
    (line,) = logs
    assert line["error"] == "the server does not know ******"
    assert world.cursor.error == ("" if where == "close" else line["error"])


def test_a_sink_hears_what_is_on_record(world: World) -> None:
    world.happen(count=3)
    world.outside.mood = FAIL_TO_HEAR
    world.clock.pass_(world.step() or 0)
    assert (world.outside.kept, world.cursor.position, world.cursor.error) == (3, 3, "deaf")
    world.outside.mood = TAKE
    world.happen()
    world.step()
    assert (ids(world), world.outside.kept, world.counted()) == ([1, 2, 3, 4], 4, 4)


def test_a_forgotten_sink_is_told_no_more(world: World) -> None:
    world.step()
    world.cursors.forget("mail")
    world.happen()
    world.step()
    assert not world.delivery().has_cursor
    assert world.step(1) == LOOK_SECONDS


def test_a_sink_of_the_settings_that_was_forgotten_begins_anew(world: World) -> None:
    world.cursors.forget("mail")
    world.happen()
    world.delivery(0, registers=True)
    world.step()
    world.happen()
    world.step()
    assert ids(world) == [2]


def test_a_process_in_which_too_many_calls_of_a_sink_hang_is_replaced(world: World) -> None:
    requests: list[str] = []

    class Process:
        def request(self) -> None:
            requests.append("request")

        def give_up(self, thread: threading.Thread) -> None:
            raise AssertionError("a call of a sink has a thread of its own")

    go = threading.Event()

    class Hanging(Sink):
        def consume(self, events: Sequence[Event]) -> None:
            go.wait()

    world.happen()
    # Each time it is made, and then called.
    call = hurrying(1, 3, most_left=2)
    world.delivery(make=lambda _: Hanging(), call=call, limit_seconds=0.2, replacement=Process())
    try:
        for _ in range(2):
            world.clock.pass_(world.step() or 0)
            assert world.cursor.error == "it has not answered within 0.2 s"
        assert requests == []
        world.step()
        assert world.cursor.error == "2 earlier calls of it have not ended yet"
        assert requests == ["request"]
    finally:
        go.set()
