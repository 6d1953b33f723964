"""Who asks the same at once is given one answer, which is never older than the asking."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from orchestrator.dashboard.sharing import Shared
from orchestrator.errors import Unavailable
from tests.waiting import PATIENCE_SECONDS


class Store:
    """Answers with how often it was asked, one question after the other, when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.began, self.may_answer = Event(), Event()

    def question(self) -> int:
        self.asked += 1
        self.began.set()
        assert self.may_answer.wait(PATIENCE_SECONDS)
        return self.asked


async def begins(store: Store) -> None:
    assert await asyncio.to_thread(store.began.wait, 10)


def one_at_a_time() -> Callable[[Callable[[], int]], "asyncio.Future[int]"]:
    reader = ThreadPoolExecutor(1)
    return lambda question: asyncio.get_running_loop().run_in_executor(reader, question)


def test_those_who_ask_before_it_is_asked_share_an_answer_and_later_ones_do_not() -> None:
    async def scenario() -> None:
        store, shared = Store(), Shared(one_at_a_time())
        first = asyncio.create_task(shared.get("graph", store.question))
        await begins(store)
        # It has begun: what these see may be newer than what it read.
        others = [asyncio.create_task(shared.get("graph", store.question)) for _ in range(5)]
        another = asyncio.create_task(shared.get("timeline", store.question))
        await asyncio.sleep(0)
        # One who goes takes the answer from nobody.
        others[0].cancel()
        store.may_answer.set()
        assert await first == 1
        assert await asyncio.gather(*others[1:]) == [2, 2, 2, 2]
        assert await another == 3
        assert await shared.get("graph", store.question) == 4

    asyncio.run(scenario())


def test_all_are_told_of_an_error_and_the_next_asks_again() -> None:
    async def scenario() -> None:
        fails = [True]

        async def ask(question: Callable[[], int]) -> int:
            await asyncio.sleep(0)
            if fails[0]:
                # As a question does that was never begun.
                raise Unavailable("too late")
            return question()

        shared = Shared(ask)
        told = await asyncio.gather(
            *(shared.get("graph", lambda: 1) for _ in range(3)), return_exceptions=True
        )
        assert [str(each) for each in told] == ["too late"] * 3
        fails[0] = False
        assert await shared.get("graph", lambda: 2) == 2

    asyncio.run(scenario())
