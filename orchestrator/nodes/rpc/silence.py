"""Circuit breaker: agents that did not answer a moment ago are not called, so that callers do not all time out."""

import threading
import time
from collections.abc import Callable
from typing import Final

from cache.node_state.errors import NodeTimeout

#: How long an agent that did not answer is not called.
SILENT_SECONDS: Final = 5.0


class Silences:
    """The agents that did not answer this process; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: By machine: the agent's incarnation, until when it is not called, and the error message.
        self._silent: dict[str, tuple[str, float, str]] = {}
        self._changing = threading.Lock()

    def note(self, node: str, incarnation: str, error: NodeTimeout) -> None:
        """Record that a machine's agent did not answer."""
        with self._changing:
            self._silent[node] = (incarnation, self._clock() + SILENT_SECONDS, str(error))

    def end(self, node: str) -> None:
        """Record that a machine's agent did answer."""
        with self._changing:
            self._silent.pop(node, None)

    def refuse(self, node: str, incarnation: str) -> None:
        """Refuse a call of an agent that did not answer a moment ago; a new agent of the machine is called.

        Raises:
            NodeTimeout: the agent did not answer; the message is that of the last timeout.
        """
        with self._changing:
            agent, until, message = self._silent.get(node, ("", 0.0, ""))
        if message and agent == incarnation and self._clock() < until:
            raise NodeTimeout(node, message)
