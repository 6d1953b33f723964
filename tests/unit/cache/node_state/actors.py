"""Threads of which one runs at a time, from one pause to the next: whoever leads them decides every interleaving."""

import threading
from collections.abc import Callable
from typing import Any

from tests.waiting import PATIENCE_SECONDS


class Killed(BaseException):
    """The process of an actor is dead: nothing of it is heard any more."""


class Actor:
    """Something that happens in steps; each :meth:`resume` lets it go on to its next pause, or to its end."""

    def __init__(self, act: Callable[["Actor"], Any], name: str = "") -> None:
        self.name = name
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.killed = False
        self._act = act
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def resume(self) -> None:
        """Let it go on, and return when it pauses or is over."""
        self._mine.release()
        assert self._theirs.acquire(timeout=PATIENCE_SECONDS), f"{self.name} neither pauses nor ends"

    def pause(self) -> None:
        """Stop here until resumed; called by the actor itself."""
        self._theirs.release()
        self._mine.acquire()
        if self.killed:
            raise Killed

    def kill(self) -> None:
        """Let it be dead from where it is."""
        self.killed = True
        self.resume()

    def _run(self) -> None:
        self._mine.acquire()
        try:
            if not self.killed:
                self.result = self._act(self)
        except BaseException as error:  # noqa: BLE001  # whoever leads sees to it
            self.error = error
        self.done = True
        self._theirs.release()


class Mortal:
    """A store as one process has it: nothing is heard of a process that is dead."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        if self.dead:
            raise Killed
        return getattr(self._store, name)
