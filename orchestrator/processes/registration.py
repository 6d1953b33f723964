"""A process says that it is there, from its beginning to its end, whether or not it has anything to do."""

import threading
from collections.abc import Callable
from typing import Protocol

import structlog

from orchestrator.store.installation.processes import Speaker

log = structlog.get_logger()

#: How long the end of a process waits for what it says just now.
END_SECONDS = 5.0


class Register(Protocol):
    """Where processes say so; :class:`~orchestrator.store.installation.processes.Processes` is one."""

    @property
    def pause_seconds(self) -> float:
        """How often it is to be said."""

    def say(self, speaker: Speaker) -> None:
        """Write down that a process is there."""

    def end(self, name: str) -> None:
        """Write down that a process ends."""

    def forget(self) -> None:
        """Remove those that were not heard of for very long."""


class Registration:
    """One thread that speaks for its process. No fault of the database ends it, and nobody waits for it."""

    def __init__(self, register: Register, speaker: Speaker) -> None:
        self._register, self._speaker = register, speaker
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def begin(self) -> None:
        """Begin to say so; again and again does no harm."""
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="attendance", daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Say that the process ends; again and again does no harm, nor if it never began."""
        with self._starting:
            thread, self._thread = self._thread, None
            self._stop.set()
        if thread is None:
            return
        thread.join(END_SECONDS)
        if thread.is_alive():
            # The database hangs: whoever looks finds the process silent.
            return
        self._try(lambda: self._register.end(self._speaker.name))

    def _run(self) -> None:
        self._try(lambda: self._register.say(self._speaker))
        self._try(self._register.forget)
        while not self._stop.wait(self._register.pause_seconds):
            self._try(lambda: self._register.say(self._speaker))

    def _try(self, speak: Callable[[], None]) -> None:
        try:
            speak()
        except Exception as error:  # noqa: BLE001  # whatever it is, work goes on without
            log.warning(
                "could not say that this process is there", process=self._speaker.name, error=str(error)
            )
