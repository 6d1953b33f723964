"""Cached results of slow queries: one query at a time, kept for seconds, returned with their age."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from orchestrator.config.logger import get_logger
from orchestrator.dashboard.plain_errors import plain_sentence
from orchestrator.errors import IsothermError, NotFound, Unavailable
from orchestrator.views.times import iso

T = TypeVar("T")
log = get_logger()

#: How long a result is reused.
KEEP_SECONDS: Final = 2.0
#: How long a request waits. A query that takes longer goes on, and its result serves the next request.
PATIENCE_SECONDS: Final = 4.0
_UNFORESEEN: Final = "the query failed; see the dashboard's log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """A result, its age, and the reason if there is no newer one."""

    value: T
    #: The result includes every event up to the cursor; ``as_of`` is by the database's clock.
    cursor: int
    as_of: float
    #: The time since ``as_of``.
    age_seconds: float
    #: Why there is no newer result; empty if this one is recent enough.
    trouble: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but the value, and ``now``, the present time by the database's clock."""
        return {
            "cursor": self.cursor,
            "as_of": iso(self.as_of),
            "now": iso(self.as_of + self.age_seconds),
            "age_seconds": self.age_seconds,
            "trouble": self.trouble,
        }


class Recent(Generic[T]):
    """The last result of one query. Used on one event loop.

    ``moment`` returns the cursor and the database's time; it is called before the query, in the same thread.
    """

    def __init__(
        self,
        question: Callable[[], T],
        moment: Callable[[], tuple[int, float]],
        executor: Executor,
        *,
        keep_seconds: float = KEEP_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._question, self._moment, self._executor = question, moment, executor
        self._keep_seconds, self._patience_seconds = keep_seconds, patience_seconds
        self._clock = clock
        self._asking: asyncio.Task[None] | None = None
        self._tried_at: float | None = None
        self._error: IsothermError | None = None
        self._last: tuple[T, int, float, float] | None = None

    async def get(self) -> Answer[T]:
        """Return the last result, or the next one if the last is too old and the next comes in time.

        Raises:
            IsothermError: there is no result, or the queried object no longer exists.
        """
        if self._asking is None and self._is_old():
            self._asking = asyncio.create_task(self._ask())
        late = False
        if self._asking is not None:
            done, _ = await asyncio.wait({self._asking}, timeout=self._patience_seconds)
            late = not done
        return self._answer(late=late)

    def _is_old(self) -> bool:
        return self._tried_at is None or self._clock() - self._tried_at >= self._keep_seconds

    async def _ask(self) -> None:
        try:
            self._last = await asyncio.get_running_loop().run_in_executor(self._executor, self._asked)
            self._error = None
        except IsothermError as error:
            if str(error) != str(self._error):
                log.warning("a query of the dashboard failed", error=str(error))
            self._error = error
        except Exception:
            log.exception("a query of the dashboard failed")
            self._error = Unavailable(_UNFORESEEN)
        finally:
            self._tried_at = self._clock()
            self._asking = None

    def _asked(self) -> tuple[T, int, float, float]:
        began = self._clock()
        cursor, as_of = self._moment()
        return self._question(), cursor, as_of, began

    def _answer(self, *, late: bool) -> Answer[T]:
        error = self._error
        if late:
            error = Unavailable(
                f"no answer within {self._patience_seconds:g} seconds; it is still waited for"
            )
        if self._last is None or isinstance(error, NotFound):
            raise error or Unavailable(_UNFORESEEN)
        value, cursor, as_of, began = self._last
        return Answer(
            value=value,
            cursor=cursor,
            as_of=as_of,
            age_seconds=max(0.0, self._clock() - began),
            trouble=plain_sentence(error) if error else "",
        )
