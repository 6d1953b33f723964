"""Figures refreshed in the background, so that a scrape gets the last ones at once, with their age."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from orchestrator.config.logger import get_logger
from orchestrator.errors import IsothermError
from orchestrator.store.retrying import impatient

T = TypeVar("T")

log = get_logger()


class Figures(Generic[T]):
    """The last result of one query, which is repeated in the background.

    The query ``query`` is called in a thread, and again ``every`` seconds after it returned.
    """

    def __init__(self, name: str, query: Callable[[], T], *, every: float) -> None:
        self._name = name
        self._query = query
        self._every = every
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._task: asyncio.Task[None] | None = None
        self._answer: T | None = None
        self._answered_at = float("-inf")
        #: Why the last query failed; empty if it did not.
        self.trouble = ""

    def start(self) -> None:
        """Begin to query; in a running loop."""
        self._task = asyncio.get_running_loop().create_task(self._refresh(), name=self._name)

    def stop(self) -> None:
        """Stop querying."""
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()
        self._executor.shutdown(wait=False, cancel_futures=True)

    @property
    def age_seconds(self) -> float:
        """The age of the last result; infinite if there is none."""
        return time.monotonic() - self._answered_at

    @property
    def answer(self) -> T | None:
        """The last result; None if the last query failed, or the result is older than four periods."""
        return self._answer if not self.trouble and self.age_seconds < 4 * self._every else None

    def _query_once(self) -> T:
        with impatient(0.0):
            return self._query()

    async def _refresh(self) -> None:
        while True:
            trouble = ""
            try:
                self._answer = await asyncio.get_running_loop().run_in_executor(
                    self._executor, self._query_once
                )
                self._answered_at = time.monotonic()
            except IsothermError as error:
                trouble = str(error)
            except Exception:
                # The next query may succeed, whatever the error.
                log.exception("figures could not be read", figures=self._name)
                trouble = "see the dashboard's log"
            if trouble and not self.trouble:
                log.warning("figures cannot be read", figures=self._name, error=trouble)
            self.trouble = trouble
            await asyncio.sleep(self._every)
