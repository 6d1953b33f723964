"""A process says that it is there, from its beginning to its end, whether or not it has anything to do."""

from typing import Protocol

from orchestrator.config.periodic import Periodic
from orchestrator.store.installation.processes import ProcessIdentity

#: How long the end of a process waits for what it says just now.
END_SECONDS = 5.0


class Register(Protocol):
    """Where processes say so; :class:`~orchestrator.store.installation.processes.Processes` is one."""

    @property
    def pause_seconds(self) -> float:
        """How often it is to be said."""

    def report(self, process: ProcessIdentity) -> None:
        """Record that a process is alive."""

    def end(self, name: str) -> None:
        """Write down that a process ends."""

    def forget(self) -> None:
        """Remove those that were not heard of for very long."""


class Registration:
    """One thread that speaks for its process. No fault of the database ends it, and nobody waits for it."""

    def __init__(self, register: Register, process: ProcessIdentity) -> None:
        self._register, self._process = register, process
        self._is_known = False
        self._thread = Periodic(
            "attendance",
            self._say,
            every_seconds=register.pause_seconds,
            last=lambda _: register.end(process.name),
            complaint="could not say that this process is there",
        )

    def begin(self) -> None:
        """Begin to say so; again and again does no harm."""
        self._thread.start()

    def end(self) -> None:
        """Say that the process ends; again and again does no harm, nor if it never began."""
        # Where the database hangs, readers find the process silent.
        self._thread.stop(END_SECONDS)

    def _say(self) -> None:
        try:
            self._register.report(self._process)
        finally:
            if not self._is_known:
                self._is_known = True
                self._register.forget()
