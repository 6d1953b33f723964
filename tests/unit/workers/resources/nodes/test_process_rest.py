"""``Isotherm::Node::Process``, suspended and resumed: real processes that stand still and go on."""

import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from orchestrator.plugins.steps import ResourceFailure, ResourceState, Wait
from tests.services.process import free_port
from tests.unit.workers.resources.nodes.machine import Machine, has_ended
from tests.unit.workers.resources.nodes.test_process import FOREVER, python, running
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def state() -> ResourceState:
    """The row of a resource that was not touched yet, and that no other test on this machine has."""
    return ResourceState(uuid=str(uuid4()))


def suspend(machine: Machine, state: ResourceState, **properties: Any) -> None:
    token = machine.process(state, **properties).handle_suspend()
    machine.poll(lambda: machine.process(state, **properties).check_suspend_complete(token))


def resume(machine: Machine, state: ResourceState, **properties: Any) -> None:
    token = machine.process(state, **properties).handle_resume()
    machine.poll(lambda: machine.process(state, **properties).check_resume_complete(token))


def statuses(machine: Machine, state: ResourceState) -> set[str]:
    found: set[str] = set()
    for pid in machine.marked(state.uuid):
        with suppress(psutil.NoSuchProcess):  # one that ended since it was listed
            found.add(psutil.Process(pid).status())
    return found


def test_a_process_stands_still_until_it_is_resumed(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    process = running(machine, state)
    for _ in range(2):  # a step that died is run again
        suspend(machine, state, command=FOREVER)
        assert process.status() == psutil.STATUS_STOPPED
    for _ in range(2):
        resume(machine, state, command=FOREVER)
        assert process.status() != psutil.STATUS_STOPPED
    assert running(machine, state) == process
    assert state.physical_id == str(process.pid)


def test_so_does_all_that_it_has_started_wherever_that_went(machine: Machine, state: ResourceState) -> None:
    code = (
        "import subprocess, time\n"
        "for elsewhere in (False, True):\n"
        "    subprocess.Popen(['sleep', '1000'], start_new_session=elsewhere)\n"
        "time.sleep(1000)"
    )
    machine.create(state, command=python(code))
    machine.poll(lambda: len(machine.marked(state.uuid)) == 3 or Wait(0.05))
    suspend(machine, state, command=python(code))
    assert statuses(machine, state) == {psutil.STATUS_STOPPED}
    resume(machine, state, command=python(code))
    assert psutil.STATUS_STOPPED not in statuses(machine, state)
    machine.poll(lambda: len(machine.marked(state.uuid)) == 3 or Wait(0.05))


def test_a_server_answers_again_when_it_is_resumed(machine: Machine, state: ResourceState) -> None:
    port = free_port()
    properties = {
        "command": ["python3", "-m", "http.server", port, "--bind", "127.0.0.1"],
        "ready": {"http": f"http://127.0.0.1:{port}/"},
    }
    machine.create(state, **properties)
    suspend(machine, state, **properties)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as asking:
        asking.settimeout(0.3)
        asking.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with pytest.raises(TimeoutError):
            asking.recv(1)
        resume(machine, state, **properties)
        asking.settimeout(PATIENCE_SECONDS)
        assert asking.recv(8) == b"HTTP/1.0"


def test_what_stands_still_is_there_for_whoever_looks(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    suspend(machine, state, command=FOREVER)
    process = machine.process(state, command=FOREVER)
    assert process.observe() == dict(process.properties)


def test_what_stands_still_can_be_deleted_and_may_say_goodbye(machine: Machine, state: ResourceState) -> None:
    note = machine.files / "note"
    code = (
        "import signal, sys, time, pathlib\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(note)!r}).write_text('bye'), sys.exit()))\n"
        f"pathlib.Path({str(machine.files / 'up')!r}).touch()\n"
        "time.sleep(1000)"
    )
    machine.create(state, command=python(code))
    machine.poll(lambda: (machine.files / "up").exists() or Wait(0.05))
    process = running(machine, state)
    suspend(machine, state, command=python(code))
    machine.delete(state, command=python(code))
    assert has_ended(process)
    assert note.read_text() == "bye"


def test_what_has_ended_is_at_rest_but_does_not_come_back(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    process = running(machine, state)
    process.kill()
    machine.poll(lambda: has_ended(process) or Wait(0.05))
    suspend(machine, state, command=FOREVER)
    with pytest.raises(ResourceFailure, match="SIGKILL"):
        resume(machine, state, command=FOREVER)


def test_what_never_was_is_no_process_to_be_resumed(machine: Machine, state: ResourceState) -> None:
    with pytest.raises(ResourceFailure, match="the process is gone"):
        machine.process(state, command=FOREVER).handle_resume()


def test_what_ended_as_it_was_to_is_suspended_and_resumed_as_well(
    machine: Machine, state: ResourceState
) -> None:
    properties: dict[str, Any] = {"command": "true", "ready": {"exit": True}}
    machine.create(state, **properties)
    suspend(machine, state, **properties)
    resume(machine, state, **properties)


def test_a_process_that_others_let_go_on_is_stopped_again(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    process = running(machine, state)
    token = machine.process(state, command=FOREVER).handle_suspend()
    machine.poll(lambda: process.status() == psutil.STATUS_STOPPED or Wait(0.05))
    process.send_signal(signal.SIGCONT)
    machine.poll(lambda: process.status() != psutil.STATUS_STOPPED or Wait(0.05))
    assert isinstance(machine.process(state, command=FOREVER).check_suspend_complete(token), Wait)
    machine.carry_on(
        token, lambda token: machine.process(state, command=FOREVER).check_suspend_complete(token)
    )
    assert process.status() == psutil.STATUS_STOPPED
    assert Path(f"/proc/{process.pid}").exists()
