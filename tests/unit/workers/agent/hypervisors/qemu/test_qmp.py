"""A conversation with a virtual machine that says odd things, or nothing."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from workers.agent.hypervisors.hypervisor import HypervisorFault
from workers.agent.hypervisors.qemu.qmp import Qmp, QmpSilent

_HELLO = b'{"QMP": {}}\n'
_DONE = b'{"return": {}}\n'


class Machine:
    """Says what it is told to, to whoever comes first, a part at a time."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "qmp.sock"
        self._socket = socket.socket(socket.AF_UNIX)
        # By the way that its users take, too: the whole path may be too long for a socket.
        self._socket.bind(str(self.path))
        self._socket.listen()
        self._said: list[bytes] = []
        self._threads: list[threading.Thread] = []

    def says(self, *said: bytes, ends: bool = False) -> Path:
        thread = threading.Thread(target=self._serve, args=(said, ends), daemon=True)
        thread.start()
        self._threads.append(thread)
        return self.path

    def _serve(self, said: tuple[bytes, ...], ends: bool) -> None:
        client, _ = self._socket.accept()
        with client:
            for part in said:
                client.sendall(part)
            while client.recv(4096) and not ends:
                pass

    def close(self) -> None:
        self._socket.close()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.close()


def test_events_between_are_passed_over_and_lines_may_come_in_parts(machine: Machine) -> None:
    path = machine.says(
        _HELLO, _DONE, b'{"event": "STOP"}\n{"ret', b'urn": {"status": "paused"}}\n{"event": "RESUME"}\n'
    )
    with Qmp(path, timeout_seconds=PATIENCE_SECONDS) as qmp:
        assert qmp.do("query-status") == {"status": "paused"}
        assert qmp.happens("RESUME", within_seconds=PATIENCE_SECONDS)
        assert not qmp.happens("RESUME", within_seconds=0.01)


def test_what_failed_is_said_in_its_own_words(machine: Machine) -> None:
    path = machine.says(_HELLO, _DONE, b'{"error": {"class": "GenericError", "desc": "no such device"}}\n')
    with (
        Qmp(path, timeout_seconds=PATIENCE_SECONDS) as qmp,
        pytest.raises(HypervisorFault, match="qemu: no such device"),
    ):
        qmp.do("device_del", id="x")


def test_one_that_answers_nothing_is_not_waited_for(machine: Machine) -> None:
    with pytest.raises(QmpSilent, match="in time"), Qmp(machine.says(), timeout_seconds=0.05):
        pass


def test_one_that_ends_the_conversation_is_silent(machine: Machine) -> None:
    path = machine.says(_HELLO, _DONE, ends=True)
    with Qmp(path, timeout_seconds=PATIENCE_SECONDS) as qmp, pytest.raises(QmpSilent):
        qmp.do("query-status")


def test_a_damaged_answer_is_said_to_be(machine: Machine) -> None:
    path = machine.says(_HELLO, _DONE, b"mellon\n")
    with Qmp(path, timeout_seconds=PATIENCE_SECONDS) as qmp, pytest.raises(HypervisorFault, match="damaged"):
        qmp.do("query-status")


@pytest.mark.parametrize("there", [True, False], ids=["directory", "nothing"])
def test_where_nobody_listens_it_is_silent(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "qmp.sock" if there else tmp_path / "missing" / "qmp.sock"
    with pytest.raises(QmpSilent, match="does not answer"), Qmp(path, timeout_seconds=PATIENCE_SECONDS):
        pass
