"""``Isotherm::Node::Process``: what it promises, with real processes."""

import os
import signal
import socket
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import ResourceFailure, ResourceState, Wait
from tests.services.process import free_port
from tests.unit.workers.resources.nodes.machine import Machine, changes, has_ended
from workers.agent.commands.launcher import MARKER
from workers.resources.nodes.process import NodeProcess

#: Runs until a signal comes.
FOREVER = ["sleep", "1000"]


def python(code: str) -> list[str]:
    """Return a command that runs ``code``."""
    return ["python3", "-u", "-c", code]


def running(machine: Machine, state: ResourceState) -> psutil.Process:
    return psutil.Process(machine.process(state, command="x").attribute("pid"))


def test_process_has_a_session_of_its_own_and_is_nobodys_child(
    machine: Machine, state: ResourceState
) -> None:
    # Servers of other tests are children of this process too.
    before = set(psutil.Process().children())
    machine.create(state, command=FOREVER)
    process = running(machine, state)
    assert process.cmdline() == FOREVER
    assert process.environ()[MARKER] == state.uuid
    assert Path(process.cwd()) == machine.files
    assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid
    assert set(psutil.Process().children()) <= before
    supervisor = process.parent()
    assert supervisor is not None
    assert os.getsid(supervisor.pid) != os.getsid(0)
    assert psutil.Process().pid not in [ancestor.pid for ancestor in process.parents()]


def test_attributes_tell_what_runs(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    process = machine.process(state, command=FOREVER)
    real = running(machine, state)
    assert process.reference_id() == str(real.pid)
    assert process.attribute("state") == "running"
    assert process.attribute("started_at") == pytest.approx(real.create_time(), abs=5)
    assert process.attribute("exit_code") is None
    assert Path(process.attribute("log")).read_text() == ""


def test_a_process_never_started_has_no_attributes(machine: Machine, state: ResourceState) -> None:
    process = machine.process(state, command=FOREVER)
    assert process.attribute("state") == "gone"
    assert process.attribute("pid") is None
    assert process.observe() is None
    assert process.find() is None


def test_web_server_is_complete_when_it_answers(machine: Machine, state: ResourceState) -> None:
    port = free_port()
    machine.create(
        state,
        command=["python3", "-m", "http.server", port, "--bind", "127.0.0.1"],
        ready={"http": f"http://127.0.0.1:{port}/"},
    )
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    machine.delete(state, command=FOREVER)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    assert not (machine.records / state.uuid).exists()


def test_port_of_somebody_else_is_refused_before_anything_starts(
    machine: Machine, state: ResourceState
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = machine.process(state, command=FOREVER, ready={"tcp": str(port)})
        with pytest.raises(ResourceFailure, match=f"127.0.0.1:{port} answers before the process was started"):
            process.handle_create()
    assert process.find() is None


def test_environment_and_directory_are_those_given(machine: Machine, state: ResourceState) -> None:
    (machine.files / "work").mkdir()
    show = (
        "import os; print(os.getcwd(), os.environ['COLOUR'], sorted(k for k in os.environ if 'PYTEST' in k))"
    )
    machine.create(state, command=python(show), env={"COLOUR": "green"}, cwd="work", ready={"exit": True})
    log = Path(machine.process(state, command="x").attribute("log"))
    assert log.read_text() == f"{machine.files / 'work'} green []\n"


def test_exit_readiness_ends_with_the_process(machine: Machine, state: ResourceState) -> None:
    properties: dict[str, Any] = {"command": "true", "ready": {"exit": True}}
    machine.create(state, **properties)
    done = machine.process(state, **properties)
    assert done.attribute("state") == "exited"
    assert done.attribute("exit_code") == 0
    assert done.observe() == dict(done.properties)


def test_process_that_dies_before_it_is_ready_fails_with_code_and_log(
    machine: Machine, state: ResourceState
) -> None:
    code = "import os, sys; print('cannot bind', os.environ['PASSWORD']); sys.exit(3)"
    ready = {"tcp": str(free_port())}
    with pytest.raises(ResourceFailure) as failed:
        machine.create(state, command=python(code), ready=ready, env={"PASSWORD": "swordfish"})
    assert "ended with exit code 3 before it was ready" in str(failed.value)
    assert "cannot bind ******" in str(failed.value)
    machine.delete(state, command=python(code), ready=ready)


def test_exit_readiness_fails_with_another_code_or_a_signal(machine: Machine) -> None:
    commands = {"exit code 4": "import sys; sys.exit(4)", "SIGKILL": "import os; os.kill(os.getpid(), 9)"}
    for ending, code in commands.items():
        with pytest.raises(ResourceFailure, match=f"{ending}, expected exit code 0"):
            machine.create(ResourceState(uuid=ending[:3]), command=python(code), ready={"exit": True})


def test_command_that_does_not_exist_is_named(machine: Machine, state: ResourceState) -> None:
    with pytest.raises(ResourceFailure, match="cannot run 'no-such-command': No such file or directory"):
        machine.create(state, command="no-such-command --now")


def test_process_that_is_not_ready_in_time_fails_and_is_stopped_by_delete(
    machine: Machine, state: ResourceState
) -> None:
    properties: dict[str, Any] = {"command": FOREVER, "ready": {"tcp": str(free_port()), "timeout": 30}}
    token = machine.process(state, **properties).handle_create()
    assert machine.process(state, **properties).check_create_complete(token) == Wait(0.2)
    machine.now += 30
    with pytest.raises(ResourceFailure, match=r"not ready after 30 s: .*Connection refused"):
        machine.process(state, **properties).check_create_complete(token)
    process = running(machine, state)
    machine.delete(state, **properties)
    assert has_ended(process)


def test_delete_reaches_children_and_those_that_left_the_session(
    machine: Machine, state: ResourceState
) -> None:
    code = (
        "import subprocess, time\n"
        "for elsewhere in (False, True):\n"
        "    print(subprocess.Popen(['sleep', '1000'], start_new_session=elsewhere).pid)\n"
        "raise SystemExit"
    )
    # Its own process has ended when it is deleted: only the marker leads to the others.
    machine.create(state, command=python(code), ready={"exit": True})
    log = Path(machine.process(state, command="x").attribute("log"))
    children = [psutil.Process(int(line)) for line in log.read_text().split()]
    assert len(children) == 2
    machine.delete(state, command="x")
    assert all(map(has_ended, children))


def test_process_that_ignores_the_signal_is_killed_after_the_grace(
    machine: Machine, state: ResourceState, tmp_path: Path
) -> None:
    properties: dict[str, Any] = {
        "command": ["sh", "-c", f"trap '' TERM; touch {machine.files}/deaf; while :; do sleep 0.1; done"],
        "ready": {"exit": False},
        "grace": 10,
    }
    machine.create(state, **properties)
    process = running(machine, state)
    machine.poll(lambda: True if (machine.files / "deaf").exists() else Wait(0.02))
    token = machine.process(state, **properties).handle_delete()
    machine.now += 9
    assert machine.process(state, **properties).check_delete_complete(token) == Wait(0.1)
    assert not has_ended(process)
    # Its node may have been silent for long: the time that it has to end begins when it is killed.
    machine.now += 300
    machine.carry_on(token, lambda token: machine.process(state, **properties).check_delete_complete(token))
    assert has_ended(process)


def test_stop_signal_is_the_one_asked_for(machine: Machine, state: ResourceState) -> None:
    code = (
        "import pathlib, signal, sys\n"
        "def leave(number, frame):\n"
        "    pathlib.Path('said').write_text(signal.Signals(number).name); sys.exit()\n"
        "signal.signal(signal.SIGINT, leave)\n"
        "pathlib.Path('listening').touch()\n"
        "while True: signal.pause()"
    )
    properties: dict[str, Any] = {"command": python(code), "stop_signal": "INT"}
    machine.create(state, **properties)
    machine.poll(lambda: True if (machine.files / "listening").exists() else Wait(0.02))
    machine.delete(state, **properties)
    assert (machine.files / "said").read_text() == "SIGINT"


def test_a_worker_that_ignores_signals_passes_that_on_to_nobody(
    machine: Machine, state: ResourceState
) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        machine.create(state, command=FOREVER)
    finally:
        signal.signal(signal.SIGTERM, before)
    process = running(machine, state)
    machine.delete(state, command=FOREVER)  # well before the grace is over
    assert has_ended(process)


def test_delete_twice_and_delete_of_nothing_are_no_error(machine: Machine, state: ResourceState) -> None:
    machine.delete(ResourceState(uuid="row-never"), command=FOREVER)
    machine.create(state, command=FOREVER)
    for _ in range(2):
        machine.delete(state, command=FOREVER)


def test_observe_tells_that_it_runs_and_with_which_command(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    process = machine.process(state, command="sleep 1000")
    assert process.observe() == dict(process.properties)
    other = machine.process(state, command="sleep 5")
    assert other.observe() == {**other.properties, "command": FOREVER}
    running(machine, state).kill()
    machine.poll(lambda: True if process.attribute("state") == "exited" else Wait(0.02))
    assert process.observe() is None
    assert process.attribute("exit_code") == -9


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"command": "x", "node_labels": {"rack": True}}, ("node_labels", "rack")),
        ({"command": ""}, ("command",)),
        ({"command": "x", "cwd": "../up"}, ("cwd",)),
        ({"command": "x", "env": {"A": []}}, ("env", "A")),
        ({"command": "x", "ready": {"tcp": "nowhere"}}, ("ready", "tcp")),
        ({"command": "x", "stop_signal": "STOPP"}, ("stop_signal",)),
    ],
)
def test_bad_properties_are_refused_before_anything_starts(
    given: dict[str, Any], path: tuple[str, ...]
) -> None:
    with pytest.raises(PropertyError) as refused:
        NodeProcess.validate(given)
    assert refused.value.path == path


def test_what_is_not_known_yet_passes_validation() -> None:
    names = ("command", "env", "cwd", "ready", "stop_signal", "node", "groups", "node_labels")
    NodeProcess.validate(dict.fromkeys(names, UNKNOWN))
    NodeProcess.validate({"command": ["x", UNKNOWN], "env": {"A": UNKNOWN}, "ready": {"http": UNKNOWN}})


@pytest.mark.parametrize("cwd", ["/", "link", "missing"])
def test_directories_outside_or_missing_are_refused(machine: Machine, state: ResourceState, cwd: str) -> None:
    (machine.files / "link").symlink_to("/")
    with pytest.raises(ResourceFailure, match=r"outside the directories|there is no directory"):
        machine.process(state, command=FOREVER, cwd=cwd).handle_create()


def test_changes_without_a_difference_leave_the_process_alone(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    pid = running(machine, state).pid
    token = machine.process(state, command=FOREVER, grace=1).handle_update(
        changes({"grace": 10}, {"grace": 1})
    )
    assert machine.process(state, command=FOREVER, grace=1).check_update_complete(token) is True
    assert running(machine, state).pid == pid
