"""Hear of what virtual machines do, without asking them about it again and again."""

import os
import selectors
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

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
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._guard = threading.Lock()
        self._new: list[tuple[str, Qmp]] = []
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="machines", daemon=True)
        self._thread.start()

    def add(self, name: str, monitor: Path) -> None:
        """Hear of the machine with this monitor; one that does not answer, or that another hears, is not heard of."""
        with suppress(QmpSilent):
            qmp = Qmp(monitor, timeout_seconds=_GREETING_SECONDS).__enter__()
            with self._guard:
                if self._closed:
                    qmp.close()
                    return
                self._new.append((name, qmp))
                os.write(self._wake, b"\0")

    def close(self) -> None:
        """Hear nothing more, and wait until the last call is over."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            os.write(self._wake, b"\0")
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select():
                if key.data is None:
                    os.read(self._woken, 4096)
                    self._register_new()
                else:
                    self._listen(*key.data)
        self._register_new()
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                key.data[1].close()
        self._selector.close()
        os.close(self._woken)
        os.close(self._wake)

    def _register_new(self) -> None:
        with self._guard:
            new, self._new = self._new, []
        for name, qmp in new:
            self._selector.register(qmp, selectors.EVENT_READ, (name, qmp))

    def _listen(self, name: str, qmp: Qmp) -> None:
        events = qmp.heard()
        if events is None:
            self._selector.unregister(qmp)
            qmp.close()
            self._tell(name, "has ended")
            return
        for event in events:
            if event in _TOLD:
                self._tell(name, _TOLD[event])

    def _tell(self, name: str, what: str) -> None:
        if not self._closed:
            self._changed(f"instance {name!r} {what}")
