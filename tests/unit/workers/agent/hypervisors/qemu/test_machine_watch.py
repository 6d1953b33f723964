"""What virtual machines tell of themselves is heard, without one being asked."""

import json
import queue
import socket
import threading
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS
from workers.agent.hypervisors.qemu.machine_watch import MachineWatch


class Monitor:
    """A virtual machine's monitor, which greets, and then says what it is told to say."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._connection: socket.socket | None = None
        threading.Thread(target=self._greet, daemon=True).start()

    def _greet(self) -> None:
        connection, _ = self._listener.accept()
        self._connection = connection
        connection.sendall(b'{"QMP": {}}\n')
        connection.recv(4096)
        connection.sendall(b'{"return": {}}\n')

    def happens(self, event: str) -> None:
        assert self._connection is not None
        self._connection.sendall(json.dumps({"event": event}).encode() + b"\n")

    def end(self) -> None:
        assert self._connection is not None
        self._connection.close()
        self._listener.close()


def test_what_changes_is_told_and_so_is_the_end(tmp_path: Path) -> None:
    told: queue.Queue[str] = queue.Queue()
    watch, monitor = MachineWatch(told.put), Monitor(tmp_path / "monitor")
    watch.add("vm", monitor.path)
    for event in ("STOP", "NIC_RX_FILTER_CHANGED", "RESUME"):
        monitor.happens(event)
    assert [told.get(timeout=PATIENCE_SECONDS) for _ in range(2)] == [
        "instance 'vm' stands still",
        "instance 'vm' goes on",
    ]
    monitor.end()
    assert told.get(timeout=PATIENCE_SECONDS) == "instance 'vm' has ended"
    watch.close()


def test_one_that_does_not_answer_is_not_heard_of(tmp_path: Path) -> None:
    told: queue.Queue[str] = queue.Queue()
    watch = MachineWatch(told.put)
    watch.add("vm", tmp_path / "nobody")
    watch.close()
    assert told.empty()
