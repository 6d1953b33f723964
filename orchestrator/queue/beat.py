"""The beat inside a coordinator, a process of its own that orders the sweeps."""

import os
from typing import Any

from celery.beat import Scheduler


class Beat(Scheduler):  # type: ignore[misc]  # celery is typed in part
    """A schedule that needs no memory, and ends with its coordinator, also with one that was killed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._coordinator = os.getppid()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; return how long to sleep."""
        if os.getppid() != self._coordinator:
            # The coordinator was killed: whoever adopts a process does not end it.
            raise SystemExit
        seconds: float = super().tick(*args, **kwargs)
        return seconds
