"""What happens on a node unasked: hypervisors tell of it, and what is remembered of the node is void at once."""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

import structlog

from workers.agent.brackets import Invalidation
from workers.agent.hypervisors.hypervisor import Hypervisor

log = structlog.get_logger()


class Watching:
    """Hears of changes from any thread, and voids what is remembered in one of its own, once for all that came.

    Whoever tells is not held up by a store that is out of reach: it is tried until it takes it.
    """

    def __init__(self, cache: Invalidation, node: str) -> None:
        self._cache, self._node = cache, node
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        #: Whether something has changed since the last time it was told.
        self._again = False
        self._closed = False
        self._ends: list[Callable[[], None]] = []

    def watch(self, hypervisor: Hypervisor) -> None:
        """Hear of what changes at a hypervisor from now on, if it can tell; else what is remembered just grows old."""
        try:
            end = hypervisor.watch(self.changed)
        except Exception as error:  # noqa: BLE001  # a plugin's own: it can do all the rest
            log.warning("a hypervisor is not watched", hypervisor=hypervisor.name, reason=str(error))
            return
        if end is None:
            return
        with self._lock:
            if not self._closed:
                self._ends.append(end)
                return
        end()

    def changed(self, why: str) -> None:
        """Void what is remembered of the node, soon."""
        log.debug("something has changed on the node", node=self._node, reason=why)
        with self._lock:
            self._again = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._void, name="unasked changes", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Hear of nothing more."""
        with self._lock:
            self._closed = True
            ends, self._ends = self._ends, []
        for end in ends:
            with suppress(Exception):
                end()

    def _void(self) -> None:
        while True:
            with self._lock:
                if not self._again or self._closed:
                    self._thread = None
                    return
                self._again = False
            # As for any change: it is not over before the store has it.
            with self._cache.mutating(self._node, f"unasked-{uuid.uuid4().hex}", rpc="unasked change"):
                pass
