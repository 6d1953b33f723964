"""Questions that many ask at once, and that are asked once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Asks; whoever asks the same before that has begun waits for the same answer. Used on one event loop.

    What has begun is joined by nobody: it may have read already what changed before somebody asked.

    Args:
        ask: Has a question asked in a thread, and returns what it is answered.
    """

    def __init__(self, ask: Callable[[Callable[[], T]], Awaitable[T]]) -> None:
        self._ask = ask
        self._waiting: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, question: Callable[[], T]) -> T:
        """Return the answer to a question; ``key`` is the same for those that are answered alike, and for no others."""
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = asyncio.get_running_loop().create_task(self._asked(key, question))
            self._waiting[key] = waiting
        # One of those who wait may go; the others still want it.
        return await asyncio.shield(waiting)

    async def _asked(self, key: Hashable, question: Callable[[], T]) -> T:
        def begun() -> T:
            self._waiting.pop(key, None)
            return question()

        try:
            return await self._ask(begun)
        finally:
            # It was never begun: too many others were before it.
            if self._waiting.get(key) is asyncio.current_task():
                del self._waiting[key]
