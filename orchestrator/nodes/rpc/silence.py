"""Agents that did not answer a moment ago, so that not everybody who wants something of them waits as long."""

import threading
import time
from collections.abc import Callable
from typing import Final

from cache.node_state.errors import NodeTimeout

#: How long an agent that did not answer is left alone.
SILENT_SECONDS: Final = 5.0


class Silences:
    """The agents that did not answer this process; safe for threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: Which agent of a node did not answer, until when it is left alone, and what was said of it.
        self._silent: dict[str, tuple[str, float, str]] = {}
        self._changing = threading.Lock()

    def note(self, node: str, incarnation: str, error: NodeTimeout) -> None:
        """Take note that a node's agent did not answer."""
        with self._changing:
            self._silent[node] = (incarnation, self._clock() + SILENT_SECONDS, str(error))

    def end(self, node: str) -> None:
        """Take note that it did."""
        with self._changing:
            self._silent.pop(node, None)

    def refuse(self, node: str, incarnation: str) -> None:
        """Refuse to ask an agent that did not answer a moment ago; another one of the same node is asked.

        Raises:
            NodeTimeout: with what was said then.
        """
        with self._changing:
            agent, until, said = self._silent.get(node, ("", 0.0, ""))
        if said and agent == incarnation and self._clock() < until:
            raise NodeTimeout(node, said)
