"""Counters of constraint caches: a thread adds those of this process to the totals in the store.

A look-up only adds in memory; the thread persists the sums at most about once a second, and only new ones. After an
error they are kept and persisted later. A process that is killed loses the counts of its last second.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict

from cache.constraints.counters import Counts
from orchestrator.config.logger import get_logger
from orchestrator.config.periodic import Periodic

log = get_logger()

#: How often counts are persisted.
EVERY_SECONDS = 1.0
#: The longest pause between tries while the store fails.
SELDOM_SECONDS = 30.0
#: How long the end of a process waits for the last try.
PATIENCE_SECONDS = 2.0

#: Counts by client plugin.
Deltas = Mapping[str, Counts]


class CacheStatistics:
    """The thread that persists counts. Make it after a fork, as the store.

    ``take`` returns the counts since its last call, and ``add`` adds counts to the totals, or raises. ``then`` is
    called as often; it raises nothing.
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
        self._persisting = threading.Lock()
        self._thread = Periodic(
            "cache tally",
            self._act,
            every_seconds=every_seconds,
            first_seconds=every_seconds,
            last=lambda _: self.persist(),
        )

    def start(self) -> None:
        """Start the thread, unless it is started."""
        self._thread.start()

    def persist(self) -> bool:
        """Add new counts to the totals; return whether none are left. Errors are logged, not raised."""
        with self._persisting:
            for client, counts in self._take().items():
                self._owed.setdefault(client, Counter()).update(asdict(counts))
            owed = {client: Counts(**sums) for client, sums in self._owed.items() if any(sums.values())}
            if not owed:
                return True
            try:
                self._add(owed)
            except Exception as error:  # noqa: BLE001  # the thread must survive database errors
                log.debug("constraint cache counters are persisted later", reason=str(error))
                return False
            self._owed.clear()
            return True

    def close(self) -> None:
        """Persist remaining counts, if the store takes them within moments, and stop."""
        self._thread.stop(PATIENCE_SECONDS)

    def _act(self) -> float:
        is_done = self.persist()
        self._pause_seconds = self._every_seconds if is_done else min(SELDOM_SECONDS, self._pause_seconds * 2)
        self._then()
        return self._pause_seconds
