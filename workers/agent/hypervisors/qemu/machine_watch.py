"""Hear of what virtual machines do, without asking them about it again and again."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from workers.agent.hypervisors.file_watch import FileWatch
from workers.agent.hypervisors.qemu.qmp import Qmp, QmpSilent

_GREETING_SECONDS: Final = 2.0
#: What is told of: everything else, such as the balloon's size, changes nothing that is remembered.
_TOLD: Final = {
    "SHUTDOWN": "has shut down",
    "STOP": "stands still",
    "RESUME": "goes on",
    "RESET": "was reset",
    "GUEST_PANICKED": "has crashed",
    "BALLOON_CHANGE": "has another size",
    "ACPI_DEVICE_OST": "has another size",
}


class MachineWatch:
    """A thread that calls ``changed(why)`` with what machines tell of themselves; closed, it calls nothing more."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._files = FileWatch("machines")

    def add(self, name: str, monitor: Path) -> None:
        """Hear of the machine with this monitor; one that does not answer, or that another hears, is not heard of."""
        with suppress(QmpSilent):
            qmp = Qmp(monitor, timeout_seconds=_GREETING_SECONDS).__enter__()
            self._files.add(qmp.fileno(), partial(self._listen, name, qmp), qmp.close)

    def close(self) -> None:
        """Hear nothing more, and wait until the last call is over."""
        self._files.close()

    def _listen(self, name: str, qmp: Qmp) -> bool:
        events = qmp.heard()
        if events is None:
            self._tell(name, "has ended")
            return False
        for event in events:
            if event in _TOLD:
                self._tell(name, _TOLD[event])
        return True

    def _tell(self, name: str, what: str) -> None:
        if not self._files.closed:
            self._changed(f"instance {name!r} {what}")
