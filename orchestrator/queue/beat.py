"""Celery beat of a coordinator: a child process that sends the sweep and watch tasks."""

import os
from typing import Any

from celery.beat import Scheduler

from orchestrator.config.ending import leave_to_parent


class Beat(Scheduler):  # type: ignore[misc]  # celery is typed in part
    """A scheduler without a schedule file, which ends with its coordinator, also if that is killed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._coordinator = os.getppid()
        leave_to_parent()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send the due tasks; return how long to sleep.

        Raises:
            SystemExit: the coordinator has ended.
        """
        if os.getppid() != self._coordinator:
            # The coordinator was killed: its successor as parent does not end this process.
            raise SystemExit
        seconds: float = super().tick(*args, **kwargs)
        return seconds
