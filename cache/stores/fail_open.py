"""Failing open: a store that fails is treated as empty, which costs time and never raises an error.

A store that is down, slow or holds foreign entries gives misses; that is logged once, and once more when it works
again. After a failure it is left out for a moment, so that a store that hangs does not cost a time-out at every
call; then one caller tries it, and the others only if that went well. Calls whose loss could lead to a wrong answer,
deletions and the end of what was begun, are always tried, and repeated when the store works again.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import structlog
from dogpile.cache.api import CacheBackend

from cache.stores.fill_locks import BorrowedFillLocks, FillLocks, Seen

#: How long a store is left out after a failure.
PAUSE_SECONDS = 2.0
#: The most failed calls that are remembered for repetition.
OWED_CALLS = 1_000
#: A store of which every call has taken longer than this, for so long, is left out like one that failed: to call the
#: external system is as fast. Not after a single moment, and later where there are more threads than a worker usually
#: has: when a hundred begin at once, it is this process that is slow.
SLOW_SECONDS = 0.2
SLOW_FOR_SECONDS = 1.0
USUAL_THREADS = 8

#: Foreign entries are logged no more often than this: every entry in a store may be one.
GARBAGE_SECONDS = 60.0
WARNING = "cache fails, going on without it"

_log = structlog.get_logger()

Answer = TypeVar("Answer")


class FailOpen:
    """One region of a store; thread-safe.

    ``count`` is called with "errors" for each call of the store that failed or was too slow, with "garbage" for each
    foreign entry, and with "evicted" for those that were removed for want of room; and with their number.
    """

    def __init__(
        self,
        region: str,
        backend: CacheBackend,
        *,
        pause_seconds: float = PAUSE_SECONDS,
        slow_seconds: float = SLOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        self._region = region
        self.backend = backend
        self._pause_seconds = pause_seconds
        self._slow_seconds = slow_seconds
        self._clock = clock
        self._count = count
        self._fill_locks = backend if isinstance(backend, FillLocks) else BorrowedFillLocks(backend)
        self._fill_locks.on_evicted = partial(count, "evicted")
        self._silent_until = float("-inf")
        #: When the first of the latest calls, all slow, returned; None if the last was fast.
        self._slow_since: float | None = None
        self._garbage_is_known_until = float("-inf")
        #: Calls to repeat when the store works again, by what they are about.
        self._owed: dict[str, Callable[[], object]] = {}
        #: The faults that are logged and not over.
        self._logged_faults: set[str] = set()
        self._lock = threading.Lock()

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return a lasting entry, an entry, and the holder of its fill lock; nothing if the store fails."""
        return self._try(lambda: self._fill_locks.look(lasting_key, key), Seen(None, None, None))

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool | None:
        """Acquire the fill lock for ``token``; False while another token holds it, None if the store fails."""
        locks = self._fill_locks
        owed = partial(locks.release, key, token)
        return self._try(lambda: locks.claim(key, token, life_seconds), None, owing=(f"claim {key}", owed))

    def keep(self, key: str, entry: bytes, token: bytes) -> None:
        """Store an entry and release its fill lock, if ``token`` still holds it and the store works."""
        locks = self._fill_locks
        owed = partial(locks.release, key, token)
        self._try(lambda: locks.keep(key, entry, token), None, always=True, owing=(f"claim {key}", owed))

    def release(self, key: str, token: bytes) -> None:
        """Release the fill lock if the store works, else as soon as it does."""
        release = partial(self._fill_locks.release, key, token)
        self._try(release, None, always=True, owing=(f"claim {key}", release))

    def forget(self, key: str, token: bytes) -> None:
        """Remove the entry, and its fill lock whichever token holds it, if or as soon as the store works."""
        forget = partial(self._fill_locks.forget, key, token)
        self._try(forget, None, always=True, owing=(f"entry {key}", forget))

    def begin(self, key: str, entry: bytes) -> bytes | None:
        """Return the lasting entry of this key, ``entry`` if there was none; None if the store fails."""
        return self._try(lambda: self._fill_locks.begin(key, entry), None)

    def renew(self, key: str, entry: bytes) -> bool:
        """Store a lasting entry; False if the store fails."""

        def renew() -> bool:
            self._fill_locks.renew(key, entry)
            return True

        return self._try(renew, False, always=True)

    def count(self) -> int | None:
        """Return how many entries the region has; None if the store fails, or cannot count them."""
        return self._try(self._fill_locks.count, None)

    def answers(self, key: str) -> bool:
        """Return whether the store can be reached now; tries it even if it failed just before."""

        def ask() -> bool:
            self.backend.get_serialized(key)
            return True

        return self._try(ask, False, always=True)

    def report_garbage(self, what: str) -> None:
        """Count a foreign entry, and log it at most once in ``GARBAGE_SECONDS``."""
        self._count("garbage", 1)
        with self._lock:
            now = self._clock()
            if now < self._garbage_is_known_until:
                return
            self._garbage_is_known_until = now + GARBAGE_SECONDS
        _log.warning(WARNING, cache=self._region, fault="garbage", error=what)

    def _try(
        self,
        call: Callable[[], Answer],
        otherwise: Answer,
        *,
        always: bool = False,
        owing: tuple[str, Callable[[], object]] | None = None,
    ) -> Answer:
        """Return what ``call`` returns, or ``otherwise`` if the store fails or is left out.

        ``owing`` is what to call when the store works again if ``call`` fails, and what that is about.
        """
        begun = self._clock()
        if not always and not self._may_try(begun):
            return otherwise
        try:
            answer = call()
        except Exception as error:  # noqa: BLE001 (every store has its own errors, and none may come through)
            if owing and len(self._owed) < OWED_CALLS:
                self._owed[owing[0]] = owing[1]
            self._leave_out("unreachable", error)
            return otherwise
        self._log_recovery("unreachable")
        self._judge(begun, self._clock())
        self._pay()
        return answer

    def _pay(self) -> None:
        """Repeat the calls that failed, now that the store works."""
        while self._owed:
            try:
                what, call = self._owed.popitem()
            except KeyError:
                # Another thread was faster.
                return
            try:
                call()
            except Exception as error:  # noqa: BLE001 (as above)
                self._owed.setdefault(what, call)
                self._leave_out("unreachable", error)
                return

    def _may_try(self, now: float) -> bool:
        if not self._logged_faults:
            return True
        with self._lock:
            if now < self._silent_until:
                return False
            # The others do without until this one has its result.
            self._silent_until = now + self._pause_seconds
            return True

    def _judge(self, begun: float, ended: float) -> None:
        """Leave the store out if it has been slow for long enough."""
        seconds = ended - begun
        bound = self._slow_seconds * max(1.0, threading.active_count() / USUAL_THREADS)
        if seconds <= bound:
            self._slow_since = None
            self._log_recovery("slow")
            return
        since = self._slow_since
        if since is None:
            self._slow_since = ended
        elif ended - since >= SLOW_FOR_SECONDS:
            self._leave_out("slow", TimeoutError(f"{seconds:.1f} seconds for one call"))

    def _leave_out(self, fault: str, error: Exception) -> None:
        self._count("errors", 1)
        self._log_fault(fault, f"{type(error).__name__}: {error}")
        self._silent_until = self._clock() + self._pause_seconds

    def _log_fault(self, fault: str, error: str) -> None:
        with self._lock:
            if fault in self._logged_faults:
                return
            self._logged_faults.add(fault)
        _log.warning(WARNING, cache=self._region, fault=fault, error=error)

    def _log_recovery(self, fault: str) -> None:
        # Read without the lock first: this is on the path of every hit.
        if fault not in self._logged_faults:
            return
        with self._lock:
            if fault not in self._logged_faults:
                return
            self._logged_faults.remove(fault)
            self._silent_until = float("-inf")
        _log.info("cache works again", cache=self._region, fault=fault)
