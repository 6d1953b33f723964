"""What a process has had nodes do, and does not know the end of."""

import threading
import time
from dataclasses import dataclass
from typing import Final

from orchestrator.nodes.rpc.operations import OperationState

#: After so long a mutation of which the agent has not heard is sent once more.
RESEND_SECONDS: Final = 30.0
#: So long it is remembered that a mutation was sent of whose end nobody asks.
FORGET_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent for an operation last."""

    request_id: str
    #: By the monotonic clock.
    at: float


class Unfinished:
    """The mutations that this process has sent, and of whose end it has told nobody yet."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], Sent] = {}
        self._changing = threading.Lock()

    def note(self, key: tuple[str, str], request_id: str) -> None:
        """Take note of a request; of those that nobody has asked for since long, none is kept."""
        now = time.monotonic()
        with self._changing:
            kept = {each: sent for each, sent in self._sent.items() if now - sent.at < FORGET_SECONDS}
            self._sent = {**kept, key: Sent(request_id, now)}

    def get(self, key: tuple[str, str]) -> Sent | None:
        """Return what was sent for an operation."""
        with self._changing:
            return self._sent.get(key)

    def forget(self, key: tuple[str, str]) -> None:
        """Forget an operation whose end was told."""
        with self._changing:
            self._sent.pop(key, None)


def is_to_be_sent(found: OperationState, sent_seconds_ago: float | None) -> bool:
    """Whether a mutation has to be sent, by what its agent says of it.

    Args:
        found: If something was sent before, what became of that, and not of what others had sent.
        sent_seconds_ago: When that was; None: never.
    """
    match found:
        case OperationState.DONE | OperationState.RUNNING:
            return False
        case OperationState.INTERRUPTED:
            return True
        case OperationState.FAILED:
            # Nobody was told yet how it ended that this process has sent.
            return sent_seconds_ago is None
        case OperationState.UNKNOWN:
            # It is on its way, unless the broker has lost it.
            return sent_seconds_ago is None or sent_seconds_ago >= RESEND_SECONDS
