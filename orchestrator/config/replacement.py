"""Replacement of a process, or of one of its threads, in which third-party code hangs."""

import threading
from typing import Protocol


class Replacement(Protocol):
    """How a process is replaced; thread-safe, and does not block."""

    def request(self) -> None:
        """Replace the process once its tasks are done: a thread that belongs to no task hangs."""

    def give_up(self, thread: threading.Thread) -> None:
        """Replace the process once its other tasks are done, or the thread alone: the thread's task hangs."""


class NoReplacement:
    """The replacement of a process that does not outlive its work: nothing is replaced."""

    def request(self) -> None:
        """Do nothing."""

    def give_up(self, thread: threading.Thread) -> None:
        """Do nothing; the record is protected by the attempt number."""


#: For processes without a supervisor.
NO_REPLACEMENT = NoReplacement()
