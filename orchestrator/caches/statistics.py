"""Tell the state of record what the constraint caches of this process counted.

Counting costs a look-up nothing but an addition in memory; a thread brings the sums to the store, at most about once a
second and only when there is something to tell. What the store does not take is kept and told later. A process that is
killed takes what it counted in its last second with it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict

import structlog

from cache.constraints.counters import Counts
from orchestrator.config.periodic import Periodic

log = structlog.get_logger()

#: How often a process tells.
EVERY_SECONDS = 1.0
#: How seldom it tries while the store takes nothing.
SELDOM_SECONDS = 30.0
#: How long the end of a process may be held up by it.
PATIENCE_SECONDS = 2.0

#: What was counted, by client plugin.
Deltas = Mapping[str, Counts]


class CacheStatistics:
    """One thread that tells. Make it after a fork, not before, as the store that it tells.

    Args:
        take: Returns what was counted since the last call, and begins again at zero.
        add: Adds it to what all processes counted, or raises.
        every_seconds: How often it is told.
        then: What else is to be done as often; raises nothing.
    """

    def __init__(
        self,
        take: Callable[[], Deltas],
        add: Callable[[Deltas], None],
        *,
        every_seconds: float = EVERY_SECONDS,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        self._take, self._add, self._then = take, add, then
        self._every_seconds = self._pause_seconds = every_seconds
        self._owed: dict[str, Counter[str]] = {}
        self._telling = threading.Lock()
        self._thread = Periodic(
            "cache tally",
            self._act,
            every_seconds=every_seconds,
            first_seconds=every_seconds,
            last=lambda _: self.tell(),
        )

    def start(self) -> None:
        """Begin to tell, unless it was begun."""
        self._thread.start()

    def tell(self) -> bool:
        """Tell what there is to tell; return whether nothing is owed now. No fault ever comes of it."""
        with self._telling:
            for client, counts in self._take().items():
                self._owed.setdefault(client, Counter()).update(asdict(counts))
            owed = {client: Counts(**sums) for client, sums in self._owed.items() if any(sums.values())}
            if not owed:
                return True
            try:
                self._add(owed)
            except Exception as error:  # noqa: BLE001  # the thread must outlive any fault of the database
                log.debug("what caches counted is told later", reason=str(error))
                return False
            self._owed.clear()
            return True

    def close(self) -> None:
        """Tell what is left, if the store takes it within moments, and stop."""
        self._thread.stop(PATIENCE_SECONDS)

    def _act(self) -> float:
        is_told = self.tell()
        self._pause_seconds = self._every_seconds if is_told else min(SELDOM_SECONDS, self._pause_seconds * 2)
        self._then()
        return self._pause_seconds
