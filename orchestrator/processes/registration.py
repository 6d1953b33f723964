"""Registration of a process: a heartbeat in the table of processes, from its start to its end."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from hooks.loading.index import version_of
from orchestrator.config.periodic import Periodic
from orchestrator.store.installation.processes import ProcessIdentity

#: How long the end of a process waits for the heartbeat thread.
END_SECONDS = 5.0


class Register(Protocol):
    """The table of processes; :class:`~orchestrator.store.installation.processes.Processes` is one."""

    @property
    def pause_seconds(self) -> float:
        """The interval of heartbeats."""

    def report(self, process: ProcessIdentity) -> None:
        """Record that a process is alive."""

    def end(self, name: str) -> None:
        """Record the end of a process."""

    def forget(self) -> None:
        """Remove processes whose last heartbeat is long ago."""


def identity_here(*, kind: str, name: str, address: str = "") -> ProcessIdentity:
    """Return the identity of this process."""
    return ProcessIdentity(
        name=name,
        kind=kind,
        host=os.uname().nodename,
        pid=os.getpid(),
        version=version_of("isotherm"),
        address=address,
    )


class Registration:
    """The heartbeat thread of a process. Database errors do not end it, and it blocks no other thread."""

    def __init__(
        self, register: Register, process: ProcessIdentity, errors: Callable[[], tuple[str, ...]] = tuple
    ) -> None:
        """Make the thread; ``errors`` returns what the process reports of its last ones."""
        self._register, self._process, self._errors = register, process, errors
        self._is_known = False
        self._thread = Periodic(
            "attendance",
            self._report,
            every_seconds=register.pause_seconds,
            last=lambda _: register.end(process.name),
            complaint="could not report that this process is alive",
        )

    def begin(self) -> None:
        """Start the heartbeats; idempotent."""
        self._thread.start()

    def end(self) -> None:
        """Stop the heartbeats, and record the end of the process; idempotent."""
        # If the database hangs, the process is listed as silent.
        self._thread.stop(END_SECONDS)

    def _report(self) -> None:
        try:
            self._register.report(replace(self._process, errors=self._errors()))
        finally:
            if not self._is_known:
                self._is_known = True
                self._register.forget()
