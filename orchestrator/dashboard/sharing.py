"""Coalescing of concurrent identical queries into one."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Runs queries; requests for a query that waits to begin share its result. Used on one event loop.

    A query that has begun is not shared: it may have read data that changed before the request.
    """

    def __init__(self, run: Callable[[Callable[[], T]], Awaitable[T]]) -> None:
        self._run = run
        self._waiting: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, question: Callable[[], T]) -> T:
        """Return the result of a query; queries have the same ``key`` if and only if they have the same result."""
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = asyncio.get_running_loop().create_task(self._answered(key, question))
            self._waiting[key] = waiting
        # The cancellation of one request must not cancel the others.
        return await asyncio.shield(waiting)

    async def _answered(self, key: Hashable, question: Callable[[], T]) -> T:
        def begun() -> T:
            self._waiting.pop(key, None)
            return question()

        try:
            return await self._run(begun)
        finally:
            # The query timed out before it began.
            if self._waiting.get(key) is asyncio.current_task():
                del self._waiting[key]
