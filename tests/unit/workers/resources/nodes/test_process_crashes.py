"""``Isotherm::Node::Process`` when workers, launchers and supervisors are killed: never started twice."""

import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.plugins.steps import ResourceFailure, ResourceState, Wait
from tests.thoroughness import some_of
from tests.unit.workers.agent.killing import in_a_small_process, killed_after
from tests.unit.workers.resources.nodes.machine import Machine, has_ended
from workers.agent.commands import launcher
from workers.agent.commands.identity import start_mark
from workers.agent.commands.supervised import SupervisedProcess
from workers.agent.records import read_record, write_record

LINES = 1000
FOREVER = ["sleep", "1000"]
#: Leaves a trace of each time it ran, and ends well.
ONCE: dict[str, Any] = {
    "command": ["sh", "-c", "echo ran >> runs"],
    "ready": {"exit": True, "interval": 0.02},
}


def runs(machine: Machine) -> int:
    trace = machine.files / "runs"
    return len(trace.read_text().splitlines()) if trace.exists() else 0


@pytest.mark.slow
@in_a_small_process
def test_worker_killed_anywhere_in_create_and_the_command_runs_once(tmp_path: Path) -> None:
    for lines in some_of(range(LINES), 12):  # each attempt starts a real process
        machine, state = Machine.at(tmp_path / str(lines)), ResourceState(uuid=f"row-{lines}")
        killed = killed_after(lines, machine.process(state, **ONCE).handle_create)
        machine.create(state, **ONCE)
        assert runs(machine) == 1
        if not killed:
            break
    assert 50 < lines < LINES - 3


@pytest.mark.slow
@in_a_small_process
def test_launcher_and_supervisor_killed_anywhere_never_run_the_command_twice(tmp_path: Path) -> None:
    succeeded = failed = 0
    for lines in some_of(range(LINES), 6):  # as above
        machine, state = Machine.at(tmp_path / str(lines)), ResourceState(uuid=f"row-{lines}")
        directory = machine.records / state.uuid
        order = {"run": "create", "uuid": state.uuid, "argv": ONCE["command"], "cwd": str(machine.files)}
        write_record(directory / launcher.ORDER, {**order, "ordered_at": machine.now})
        killed = killed_after(lines, lambda where=directory: launcher.main([str(where), "create"]))  # type: ignore[misc]
        try:
            machine.create(state, **ONCE)
            succeeded += 1
            assert runs(machine) == 1
        except ResourceFailure:
            failed += 1
            assert runs(machine) <= 1
        if not killed:
            break
    assert 40 < lines < LINES - 2
    # Killed before the command's gate opened, another attempt succeeds; killed after, nobody knows how it ended.
    assert succeeded > 3
    assert failed > 3


def test_create_whose_answer_was_lost_finds_its_process(machine: Machine, state: ResourceState) -> None:
    machine.process(state, command=FOREVER).handle_create()
    again = ResourceState(uuid=state.uuid)
    machine.create(again, command=FOREVER)
    assert again.physical_id == state.physical_id
    assert machine.marked(state.uuid) == [int(state.physical_id or 0)]


def test_create_done_again_although_it_was_done_starts_nothing(
    machine: Machine, state: ResourceState
) -> None:
    machine.process(state, command=FOREVER).handle_create()
    first = state.physical_id
    machine.process(state, command=FOREVER).handle_create()
    assert state.physical_id == first


def test_a_second_launcher_finds_the_place_occupied(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    process = SupervisedProcess(machine.records, uuid=state.uuid)
    before = process.status()
    process.start("other", argv=FOREVER, cwd=machine.files, env={"PATH": os.defpath}, now=machine.now)
    assert process.status() == before


def test_process_is_found_by_its_marker_when_the_records_are_lost(
    machine: Machine, state: ResourceState
) -> None:
    machine.create(state, command=FOREVER)
    found = psutil.Process(int(state.physical_id or 0))
    supervisor = found.parent()
    assert supervisor is not None
    supervisor.kill()
    machine.poll(lambda: True if has_ended(supervisor) else Wait(0.02))
    (machine.records / state.uuid / launcher.STATUS).unlink()
    again = ResourceState(uuid=state.uuid)
    machine.create(again, command=FOREVER)
    assert again.physical_id == state.physical_id
    machine.delete(again, command=FOREVER)
    assert has_ended(found)


def test_process_whose_supervisor_was_killed_runs_on_and_ends_unseen(
    machine: Machine, state: ResourceState
) -> None:
    machine.create(state, command=FOREVER)
    command = psutil.Process(int(state.physical_id or 0))
    supervisor = command.parent()
    assert supervisor is not None
    supervisor.kill()
    machine.poll(lambda: True if has_ended(supervisor) else Wait(0.02))
    process = machine.process(state, command=FOREVER)
    assert process.attribute("state") == "running"
    command.kill()
    machine.poll(lambda: True if has_ended(command) else Wait(0.02))
    assert process.attribute("state") == "gone"
    assert process.observe() is None
    with pytest.raises(ResourceFailure, match="ended unseen"):
        machine.create(state, command=FOREVER, ready={"exit": True})


def test_a_number_that_went_to_a_stranger_is_never_signalled(machine: Machine, state: ResourceState) -> None:
    machine.create(state, command=FOREVER)
    stranger_row = ResourceState(uuid="row-stranger")
    machine.create(stranger_row, command=FOREVER)
    stranger = psutil.Process(int(stranger_row.physical_id or 0))
    # As if our process had ended and the kernel had given its number away: same number, another start.
    psutil.Process(int(state.physical_id or 0)).kill()
    machine.poll(
        lambda: True if machine.process(state, command="x").attribute("state") == "exited" else Wait(0.02)
    )
    status = machine.records / state.uuid / launcher.STATUS
    record = read_record(status)
    assert record is not None
    assert start_mark(stranger.pid) != record["mark"]
    write_record(status, {**record, "pid": stranger.pid, "supervisor": stranger.pid, "exit_code": None})
    assert machine.process(state, command=FOREVER).attribute("state") == "gone"
    machine.delete(state, command=FOREVER)
    assert not has_ended(stranger)
    machine.delete(stranger_row, command=FOREVER)


def test_deleted_while_its_create_was_interrupted_leaves_nothing(
    machine: Machine, state: ResourceState
) -> None:
    machine.process(state, command=FOREVER).handle_create()
    process = psutil.Process(int(state.physical_id or 0))
    machine.delete(ResourceState(uuid=state.uuid), command=FOREVER)
    assert has_ended(process)
    assert not (machine.records / state.uuid).exists()


def test_a_launcher_that_comes_after_the_delete_starts_nothing(
    machine: Machine, state: ResourceState
) -> None:
    directory = machine.records / state.uuid
    directory.mkdir(parents=True)
    assert not killed_after(LINES, lambda: launcher.main([str(directory), "create"]))
    assert not (directory / launcher.STATUS).exists()


def test_a_zombie_counts_as_gone() -> None:
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(read_end, 1)
        os._exit(0)
    assert start_mark(pid) is not None
    os.write(write_end, b"\0")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays until somebody asks
    assert start_mark(pid) is None
    os.waitpid(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    os.close(read_end)
    os.close(write_end)
