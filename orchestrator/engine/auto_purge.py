"""Automatic purge: removes what the retention settings allow, in short slices between a coordinator's other work."""

import threading
import time
from collections.abc import Callable, Iterator

from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import IsothermError
from orchestrator.model.purge import Purge, Removed
from orchestrator.store.store import Store

log = get_logger()

#: All coordinators together purge no more often than this, and for the first time so long after one first looked.
EVERY_SECONDS = 3600.0
#: A process checks no more often than this whether a purge is due.
LOOK_SECONDS = 60.0
#: The longest slice of a purge. The next call continues where this one stopped.
AT_A_TIME_SECONDS = 0.2

_DAY = 86400.0


class Housekeeping:
    """The automatic purge of one process; thread-safe."""

    def __init__(
        self, store: Store, settings: Settings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make a purge of a store; ``clock`` is monotonic, in seconds."""
        self._store, self._settings, self._clock = store, settings, clock
        self._steps: Iterator[Removed] | None = None
        self._look_at = 0.0
        self._busy = threading.Lock()

    def go_on(self) -> None:
        """Purge for at most one slice, if a purge is due or unfinished. Errors are logged, not raised."""
        if not self._settings.purge_after_days or not self._busy.acquire(blocking=False):
            return
        try:
            self._go_on()
        except IsothermError as error:
            self._steps = None
            log.warning("a purge failed; the next one continues", reason=str(error))
        except Exception:
            # It must not end the sweep that it is part of.
            self._steps = None
            log.exception("a purge failed; the next one continues")
        finally:
            self._busy.release()

    def _go_on(self) -> None:
        if self._steps is None:
            self._steps = self._begun()
        if self._steps is None:
            return
        until = self._clock() + AT_A_TIME_SECONDS
        for _ in self._steps:
            if self._clock() >= until:
                return
        self._steps = None

    def _begun(self) -> Iterator[Removed] | None:
        """Return the steps of a new purge; None if none is due, or another coordinator has begun it."""
        now = self._clock()
        if now < self._look_at:
            return None
        self._look_at = now + LOOK_SECONDS
        if not self._store.purger.take_turn(every_seconds=EVERY_SECONDS):
            return None
        self._store.sink_cursors.bound(self._settings.max_sink_backlog_events)
        return self._store.purger.purge(
            Purge(
                older_than_seconds=self._settings.purge_after_days * _DAY,
                max_events_per_stack=self._settings.max_events_per_stack,
                logs_older_than_seconds=self._settings.keep_log_lines_days * _DAY,
            )
        )
