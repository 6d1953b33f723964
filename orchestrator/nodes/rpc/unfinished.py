"""Unfinished mutations: those that this process has sent and not seen the end of."""

import threading
import time
from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.nodes.rpc.operations import OperationState

#: A mutation that is not in the agent's journal is sent again after so long.
RESEND_SECONDS: Final = 30.0
#: A mutation whose end is not queried is forgotten after so long.
FORGET_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Sent:
    """The last request that was sent for an operation."""

    request_id: str
    #: By the monotonic clock.
    at: float


class Unfinished:
    """The unfinished mutations of this process, by machine and operation id; thread-safe."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], Sent] = {}
        self._changing = threading.Lock()

    def note(self, key: tuple[str, str], request_id: str) -> None:
        """Record a request, and forget those that are older than :data:`FORGET_SECONDS`."""
        now = time.monotonic()
        with self._changing:
            kept = {each: sent for each, sent in self._sent.items() if now - sent.at < FORGET_SECONDS}
            self._sent = {**kept, key: Sent(request_id, now)}

    def get(self, key: tuple[str, str]) -> Sent | None:
        """Return the last request of an operation; None if none was sent."""
        with self._changing:
            return self._sent.get(key)

    def forget(self, key: tuple[str, str]) -> None:
        """Forget an operation whose end its caller has."""
        with self._changing:
            self._sent.pop(key, None)


def is_to_be_sent(found: OperationState, sent_seconds_ago: float | None) -> bool:
    """Return whether a mutation has to be sent, by its state at the agent.

    ``found`` is the state of the request that this process sent last, if it sent any (``sent_seconds_ago``).
    """
    match found:
        case OperationState.DONE | OperationState.RUNNING:
            return False
        case OperationState.INTERRUPTED:
            return True
        case OperationState.FAILED:
            # The failure of a request of this process is still to be returned to its caller.
            return sent_seconds_ago is None
        case OperationState.UNKNOWN:
            # In the queue, unless the broker has lost it.
            return sent_seconds_ago is None or sent_seconds_ago >= RESEND_SECONDS
