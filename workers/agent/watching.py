"""Unrequested changes on a machine: hypervisors report them, and the machine's entry is invalidated at once."""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from orchestrator.config.logger import get_logger
from workers.agent.brackets import Invalidation
from workers.agent.hypervisors.hypervisor import Hypervisor

log = get_logger()


class Watching:
    """Receives changes in any thread, and invalidates the entry in a thread of its own, once for many changes.

    A store that is out of reach holds up no hypervisor: the invalidation is retried until it succeeds.
    """

    def __init__(self, cache: Invalidation, node: str) -> None:
        self._cache, self._node = cache, node
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        #: Whether something has changed since the last invalidation.
        self._again = False
        self._closed = False
        self._ends: list[Callable[[], None]] = []

    def watch(self, hypervisor: Hypervisor) -> None:
        """Watch a hypervisor from now on, if it supports that; otherwise the entry just expires."""
        try:
            end = hypervisor.watch(self.changed)
        except Exception as error:  # noqa: BLE001  # a plugin's own error: it can do all the rest
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
        """Invalidate the machine's entry, soon."""
        log.debug("something has changed on the node", node=self._node, reason=why)
        with self._lock:
            self._again = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._void, name="unasked changes", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop watching."""
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
