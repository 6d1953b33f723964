"""Updates of ``Isotherm::Node::Process``: what restarts it, what does not, and what an interruption leaves."""

from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.plugins.steps import ResourceFailure, ResourceState, Wait
from tests.services.process import free_port
from tests.unit.workers.resources.nodes.machine import Machine, changes, has_ended

FOREVER = ["sleep", "1000"]


def pid(machine: Machine, state: ResourceState) -> int:
    number: int = machine.process(state, command=FOREVER).attribute("pid")
    return number


@pytest.mark.parametrize(
    "changed", [{"command": ["sleep", "2000"]}, {"env": {"COLOUR": "green"}}, {"cwd": "work"}]
)
def test_new_command_environment_or_directory_restarts_in_place(
    machine: Machine, state: ResourceState, changed: dict[str, Any]
) -> None:
    (machine.files / "work").mkdir()
    before: dict[str, Any] = {"command": FOREVER}
    machine.create(state, **before)
    old = psutil.Process(pid(machine, state))
    after = {**before, **changed}
    machine.update(state, before, **after)
    new = psutil.Process(pid(machine, state))
    assert has_ended(old)
    assert new.pid != old.pid
    assert state.physical_id == str(new.pid)
    assert new.cmdline() == after["command"]
    assert new.environ().get("COLOUR") == after.get("env", {}).get("COLOUR")
    assert Path(new.cwd()) == machine.files / after.get("cwd", "")


def test_new_readiness_waits_again_without_a_restart(machine: Machine, state: ResourceState) -> None:
    before: dict[str, Any] = {"command": FOREVER}
    machine.create(state, **before)
    running = pid(machine, state)
    after = {**before, "ready": {"tcp": str(free_port()), "timeout": 5}}
    token = machine.process(state, **after).handle_update(changes(before, after))
    assert machine.process(state, **after).check_update_complete(token) == Wait(0.2)
    machine.now += 5
    with pytest.raises(ResourceFailure, match="not ready after 5 s"):
        machine.process(state, **after).check_update_complete(token)
    assert pid(machine, state) == running


def test_update_of_a_process_that_died_starts_it_again(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    old = psutil.Process(pid(machine, state))
    old.kill()
    process = machine.process(state, command=FOREVER)
    machine.poll(lambda: True if process.attribute("state") == "exited" else Wait(0.02))
    machine.update(state, {"command": FOREVER, "grace": 1}, command=FOREVER)
    assert process.attribute("state") == "running"
    assert pid(machine, state) != old.pid


def test_restart_waits_for_the_port_of_the_old_process(machine: Machine, state: ResourceState) -> None:
    port = free_port()
    serve = ["python3", "-m", "http.server", port, "--bind", "127.0.0.1"]
    before: dict[str, Any] = {"command": serve, "ready": {"http": f"http://127.0.0.1:{port}/"}}
    machine.create(state, **before)
    machine.update(state, before, **{**before, "env": {"COLOUR": "green"}})
    assert psutil.Process(pid(machine, state)).environ()["COLOUR"] == "green"


def test_check_done_again_after_it_started_the_new_process_starts_no_second_one(
    machine: Machine, state: ResourceState
) -> None:
    before: dict[str, Any] = {"command": FOREVER}
    after: dict[str, Any] = {"command": ["sleep", "2000"]}
    machine.create(state, **before)
    token = machine.process(state, **after).handle_update(changes(before, after))

    def check() -> bool | Wait:
        return machine.process(state, **after).check_update_complete(token)

    machine.poll(check)
    started = pid(machine, state)
    assert machine.poll(check) == 1
    assert pid(machine, state) == started


def test_update_begun_again_after_a_lost_token_ends_with_one_process(
    machine: Machine, state: ResourceState
) -> None:
    before: dict[str, Any] = {"command": FOREVER}
    after: dict[str, Any] = {"command": ["sleep", "2000"]}
    machine.create(state, **before)
    machine.process(state, **after).handle_update(changes(before, after))
    machine.update(state, before, **after)
    assert machine.marked(state.uuid) == [pid(machine, state)]


def test_log_keeps_what_earlier_runs_printed(machine: Machine, state: ResourceState) -> None:
    before: dict[str, Any] = {"command": "echo first", "ready": {"exit": True}}
    machine.create(state, **before)
    machine.update(state, before, **{**before, "command": "echo second"})
    log = Path(machine.process(state, command="x").attribute("log"))
    assert log.read_text() == "first\nsecond\n"
