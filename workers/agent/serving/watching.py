"""Hearing of what changes on a node unasked, from those of its hypervisors that can tell, and saying that it is void.

What a hypervisor cannot tell, nobody knows before what is remembered is old.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import structlog

from cache.node_state.errors import StateStoreFailed
from workers.agent.hypervisors.hypervisor import Hypervisor

log = structlog.get_logger()

#: How soon it is said again when nobody could be told.
_AGAIN_SECONDS: Final = 1.0


class Watching:
    """Calls ``bump`` after every change that a hypervisor tells of, once for all that come together.

    It is called in a thread of its own, again and again until it has worked: no hypervisor waits for it.
    """

    def __init__(self, hypervisors: Mapping[str, Hypervisor], bump: Callable[[], None]) -> None:
        self._hypervisors, self._bump = hypervisors, bump
        self._ends: list[Callable[[], None]] = []
        self._changed, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._tell, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to listen; a hypervisor that cannot tell, or fails to, is left alone."""
        self._thread.start()
        for name, hypervisor in self._hypervisors.items():
            try:
                end = hypervisor.watch(self._hear(name))
            except Exception as error:  # noqa: BLE001  # a plugin's own: the others tell
                log.warning("a hypervisor does not tell what changes", hypervisor=name, reason=str(error))
                continue
            if end is not None:
                self._ends.append(end)

    def close(self) -> None:
        """Listen no more."""
        for end in self._ends:
            with suppress(Exception):
                end()
        self._closing.set()
        self._changed.set()
        self._thread.join()

    def _hear(self, name: str) -> Callable[[str], None]:
        def hear(why: str) -> None:
            log.debug("something has changed on the node", hypervisor=name, why=why)
            self._changed.set()

        return hear

    def _tell(self) -> None:
        while self._changed.wait() and not self._closing.is_set():
            self._changed.clear()
            try:
                self._bump()
            except StateStoreFailed as error:
                log.warning("nobody can be told that the node has changed", reason=str(error))
                self._changed.set()
                self._closing.wait(_AGAIN_SECONDS)
