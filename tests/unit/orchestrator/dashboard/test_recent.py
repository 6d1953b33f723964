"""An answer that takes its time is asked for once, kept for a moment, and never given without its age."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from orchestrator.dashboard.recent import Answer, Recent
from orchestrator.errors import NotFound, Unavailable
from tests.waiting import PATIENCE_SECONDS

T = TypeVar("T")


class World:
    """A clock that a test moves, and something that is asked."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self.now = 100.0
        self.asked = 0
        self.error: Exception | None = None
        #: Cleared, whoever is asked does not answer.
        self.open = threading.Event()
        self.open.set()
        self.executor = executor

    def recent(self, patience_seconds: float = 300.0) -> Recent[int]:
        return Recent(
            self.question,
            lambda: (7, 1000.0 + self.now),
            self.executor,
            keep_seconds=4.0,
            patience_seconds=patience_seconds,
            clock=lambda: self.now,
        )

    def question(self) -> int:
        self.open.wait(PATIENCE_SECONDS)
        if self.error:
            raise self.error
        self.asked += 1
        return self.asked


@pytest.fixture
def world() -> Iterator[World]:
    with ThreadPoolExecutor(4) as executor:
        world = World(executor)
        yield world
        world.open.set()


def run(story: Callable[[], Awaitable[T]]) -> T:
    async def told() -> T:
        return await story()

    return asyncio.run(told())


def test_many_who_ask_at_once_have_it_asked_once(world: World) -> None:
    recent = world.recent()

    async def story() -> list[Answer[int]]:
        return await asyncio.gather(*(recent.get() for _ in range(20)))

    answers = run(story)
    assert {answer.value for answer in answers} == {1}
    assert world.asked == 1


def test_an_answer_is_kept_for_a_moment_and_tells_its_age(world: World) -> None:
    recent = world.recent()

    async def story() -> tuple[Answer[int], Answer[int], Answer[int]]:
        first = await recent.get()
        world.now += 3.0
        kept = await recent.get()
        world.now += 1.0
        return first, kept, await recent.get()

    first, kept, newer = run(story)
    assert (first.value, first.age_seconds) == (1, 0.0)
    assert (kept.value, kept.age_seconds) == (1, 3.0)
    assert newer.value == 2
    assert kept.to_dict() == {
        "cursor": 7,
        "as_of": "1970-01-01T00:18:20.000000Z",
        "now": "1970-01-01T00:18:23.000000Z",
        "age_seconds": 3.0,
        "trouble": "",
    }


def test_what_hangs_is_not_waited_for_and_its_last_answer_is_called_old(world: World) -> None:
    recent = world.recent()

    async def story() -> tuple[Answer[int], Answer[int]]:
        await recent.get()
        recent._patience_seconds = 0.05
        world.open.clear()
        world.now += 60.0
        late = await recent.get()
        world.open.set()
        # Its answer is there for whoever asks next, and nobody has asked twice.
        recent._patience_seconds = PATIENCE_SECONDS
        return late, await recent.get()

    late, then = run(story)
    assert (late.value, late.age_seconds) == (1, 60.0)
    assert late.trouble == "no answer within 0.05 seconds; it is still waited for"
    assert (then.value, then.trouble) == (2, "")


def test_what_never_answered_is_not_shown_as_nothing(world: World) -> None:
    world.open.clear()
    with pytest.raises(Unavailable, match="still waited for"):
        run(world.recent(patience_seconds=0.05).get)
    world.open.set()


def test_an_error_leaves_the_last_answer_with_the_reason(world: World) -> None:
    recent = world.recent()

    async def story() -> tuple[Answer[int], Answer[int]]:
        await recent.get()
        world.error, world.now = Unavailable("the database does not answer"), world.now + 5.0
        wrong = await recent.get()
        world.error, world.now = None, world.now + 5.0
        return wrong, await recent.get()

    wrong, well = run(story)
    assert (wrong.value, wrong.trouble, wrong.age_seconds) == (1, "the database does not answer", 5.0)
    assert (well.value, well.trouble) == (2, "")


def test_what_is_gone_is_not_shown_from_memory(world: World) -> None:
    recent = world.recent()

    async def story() -> None:
        await recent.get()
        world.error, world.now = NotFound("there is no node 'n1'"), world.now + 5.0
        await recent.get()

    with pytest.raises(NotFound):
        run(story)


def test_an_error_that_nobody_foresaw_is_told_without_its_words(world: World) -> None:
    world.error = RuntimeError("the password is correct horse")
    with pytest.raises(Unavailable) as error:
        run(world.recent().get)
    assert "correct horse" not in str(error.value)


def test_what_failed_is_not_asked_again_at_once(world: World) -> None:
    world.error = Unavailable("away")
    recent = world.recent()

    async def story() -> None:
        for _ in range(3):
            with pytest.raises(Unavailable):
                await recent.get()
        world.error = None
        with pytest.raises(Unavailable):
            await recent.get()

    run(story)
    assert world.asked == 0
