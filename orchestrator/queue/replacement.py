"""Replacement of a Celery process in which third-party code hangs: it ends, so that another takes its place.

A child of a prefork worker is replaced by its parent. A worker with threads, or without a pool, takes no further
message, lets its other tasks end, and ends with :data:`ENDED_TO_BE_REPLACED`, for its supervisor to start another.
"""

import os
import threading
from collections.abc import Callable
from typing import Final

from celery.signals import task_postrun, task_prerun
from celery.worker import state

from orchestrator.config.logger import get_logger

log = get_logger()

#: The exit code of a worker that is to be started again: EX_TEMPFAIL.
ENDED_TO_BE_REPLACED: Final = 75
#: The exit code of a child whose parent starts another without a complaint: EX_RECYCLE of Celery's pool.
RECYCLED: Final = 0x9B
#: A child process ends when it has had no task for so long; by then its parent has the result of the last one.
QUIET_SECONDS: Final = 0.1
#: How long a worker whose tasks are over may take to return its messages.
LAST_SECONDS: Final = 5.0


class CeleryReplacement:
    """Ends this process once no task runs in it but those that hang; made before a fork, it serves the child."""

    def __init__(
        self,
        *,
        stop: Callable[[], None] | None = None,
        end: Callable[[], None] | None = None,
        quiet_seconds: float | None = None,
    ) -> None:
        """Keep the arguments: ``stop`` ends the taking of messages, ``end`` ends the process.

        The latter is called when there was no task for ``quiet_seconds``.
        """
        self._made_in = os.getpid()
        self._stop, self._end, self._quiet_seconds = (
            stop or self._stop_taking,
            end or self._exit,
            quiet_seconds,
        )
        self._tasks: set[threading.Thread] = set()
        self._hung: set[threading.Thread] = set()
        self._changed = threading.Condition()
        self._ending: threading.Thread | None = None

    def attend(self) -> None:
        """Follow the tasks of this process, by Celery's signals."""
        task_prerun.connect(self._begin_task, weak=False)
        task_postrun.connect(self._end_task, weak=False)

    def request(self) -> None:
        """Replace the process once its tasks are done."""
        self._start()

    def give_up(self, thread: threading.Thread) -> None:
        """Replace the process once its other tasks are done."""
        with self._changed:
            self._hung.add(thread)
            self._changed.notify_all()
        self._start()

    def _start(self) -> None:
        with self._changed:
            if self._ending is None:
                self._ending = threading.Thread(target=self._run, name="replacement", daemon=True)
                self._ending.start()

    def _begin_task(self, task: object = None, **_: object) -> None:
        # Jobs that follow each other closely would keep a child for ever; one that is not begun is delivered again.
        if self._ending is not None and self._is_child and getattr(task, "acks_late", False):
            self._end()
        with self._changed:
            self._tasks.add(threading.current_thread())
            self._changed.notify_all()

    def _end_task(self, **_: object) -> None:
        with self._changed:
            self._tasks.discard(threading.current_thread())
            # It hung for long, and came back.
            self._hung.discard(threading.current_thread())
            self._changed.notify_all()

    def _run(self) -> None:
        self._stop()
        quiet_seconds = self._quiet_seconds
        if quiet_seconds is None:
            quiet_seconds = QUIET_SECONDS if self._is_child else LAST_SECONDS
        with self._changed:
            while True:
                self._changed.wait_for(self._is_idle)
                if not self._changed.wait_for(lambda: not self._is_idle(), quiet_seconds):
                    break
        self._end()

    def _is_idle(self) -> bool:
        return self._tasks <= self._hung

    @property
    def _is_child(self) -> bool:
        return os.getpid() != self._made_in

    def _stop_taking(self) -> None:
        if not self._is_child:
            # Celery ends as at SIGTERM, and returns the messages that it has not begun.
            state.should_stop = ENDED_TO_BE_REPLACED

    def _exit(self) -> None:
        """End the process, whatever hangs in it, as if it was killed."""
        code = RECYCLED if self._is_child else ENDED_TO_BE_REPLACED
        log.warning("a process in which third-party code hangs is replaced", pid=os.getpid(), exit_code=code)
        # A child would take tasks while it said good-bye; a worker's counters and registration may end with it, too.
        os._exit(code)
