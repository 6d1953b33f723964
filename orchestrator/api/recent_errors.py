"""The last errors of a process of the API, for those who look after it."""

import threading
from collections import deque
from datetime import UTC, datetime
from typing import Final

from orchestrator.errors import cut

#: How many are kept, and how long a line may be.
KEPT: Final = 5
_LONGEST: Final = 300


class RecentErrors:
    """The last answers with a status of 500 or more: when, which request, what, and never a value. Safe for threads."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def add(self, *, status: int, method: str, route: str, request_id: str, fault: str) -> None:
        """Keep an error, in the place of the oldest if there are as many as are kept."""
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = cut(f"{at} {status} {fault} {method} {route} {request_id}", _LONGEST)
        with self._lock:
            self._lines.appendleft(line)

    def lines(self) -> tuple[str, ...]:
        """Return a line for each, the newest first."""
        with self._lock:
            return tuple(self._lines)
