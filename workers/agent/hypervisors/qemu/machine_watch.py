"""Notification of changes of virtual machines, without polling."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from workers.agent.hypervisors.file_watch import FileWatch
from workers.agent.hypervisors.qemu.qmp import Qmp, QmpSilent

_GREETING_SECONDS: Final = 2.0
#: Reported events: others, such as the balloon's size, change nothing that is cached.
_REPORTED: Final = {
    "SHUTDOWN": "has shut down",
    "STOP": "stands still",
    "RESUME": "goes on",
    "RESET": "was reset",
    "GUEST_PANICKED": "has crashed",
    "BALLOON_CHANGE": "has another size",
    "ACPI_DEVICE_OST": "has another size",
}


class MachineWatch:
    """A thread that calls ``changed(why)`` with the machines' events; once closed, it calls nothing more."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._files = FileWatch("machines")

    def add(self, name: str, monitor: Path) -> None:
        """Watch the machine with this monitor; one that does not answer, or has another listener, is ignored."""
        with suppress(QmpSilent):
            qmp = Qmp(monitor, timeout_seconds=_GREETING_SECONDS).__enter__()
            self._files.add(qmp.fileno(), partial(self._listen, name, qmp), qmp.close)

    def close(self) -> None:
        """Stop watching, and wait until the last call is over."""
        self._files.close()

    def _listen(self, name: str, qmp: Qmp) -> bool:
        events = qmp.heard()
        if events is None:
            self._notify(name, "has ended")
            return False
        for event in events:
            if event in _REPORTED:
                self._notify(name, _REPORTED[event])
        return True

    def _notify(self, name: str, what: str) -> None:
        if not self._files.closed:
            self._changed(f"instance {name!r} {what}")
