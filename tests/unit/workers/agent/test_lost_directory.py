"""Agents that have lost their state directory: what they had made is found by its marks, and made no second time."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from structlog.testing import capture_logs

from orchestrator.nodes.rpc.errors import RpcFailed
from tests.unit.workers.agent.agents import agent_of, ask, change, spec
from tests.waiting import until
from workers.agent.agent import Agent

PROBE = {"when": "running", "host": "", "port": 0, "page": "", "secure": False, "status": 200}


class Machine:
    """A machine with one agent, whose directories are lost."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # No other process sleeps so long.
        self.command = ["/bin/sleep", f"8{uuid4().int % 10**12}.{os.getpid()}"]
        self.row = f"row-{uuid4().hex}"
        self.agent = self.start()

    def start(self, name: str = "n1") -> Agent:
        return agent_of(self.directory, name=name, hypervisors={"process": {}})

    def lose_directory(self) -> None:
        self.agent.close()
        for lost in ("state", "n1"):
            shutil.rmtree(self.directory / lost, ignore_errors=True)
        self.agent = self.start()

    def run(self, run: str = "r1") -> Any:
        given = {"argv": self.command, "cwd": "", "env": {}, "probe": PROBE}
        return change(self.agent, "process_start", uuid=self.row, run=run, **given)

    def instance(self, **more: Any) -> dict[str, Any]:
        return {"hypervisor": "process", "spec": spec(command=self.command, **more)}

    def running(self) -> list[int]:
        """The numbers of the processes of the command, counted outside."""
        found = psutil.process_iter(["cmdline", "status"])
        return [
            each.pid
            for each in found
            if each.info["cmdline"] == self.command and each.info["status"] != psutil.STATUS_ZOMBIE
        ]

    def page(self, content: bytes = b"text") -> None:
        path = str(self.directory / "files" / "page")
        given = {"path": path, "content": content, "mode": 0o600, "new": True}
        change(self.agent, "file_put", owner=self.owner, **given)

    @property
    def owner(self) -> dict[str, str]:
        return {"uuid": self.row, "stack": "s", "resource": "r"}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.agent.close()
    for pid in machine.running():
        psutil.Process(pid).kill()


def test_process_is_there_without_its_record_and_is_not_started_again(machine: Machine) -> None:
    started = machine.run()
    machine.lose_directory()
    seen = ask(machine.agent, "process_look", uuid=machine.row)["status"]
    assert (seen["pid"], seen["run"], seen["running"]) == (started["pid"], "r1", True)
    assert machine.run()["pid"] == started["pid"]
    assert machine.run("r2") is None, "an earlier run is still there"
    assert machine.running() == [started["pid"]]
    change(machine.agent, "process_kill", uuid=machine.row)
    until(lambda: not machine.running())


def test_agent_says_at_its_start_what_it_found_and_leaves_alone_what_is_anothers(machine: Machine) -> None:
    pid = machine.run()["pid"]
    change(machine.agent, "instance_start", **machine.instance())
    machine.lose_directory()
    other = machine.start("n2")
    assert other.recover() == []
    other.close()
    with capture_logs() as logs:
        assert machine.agent.recover() == ["web", machine.row]
    assert [each["event"] for each in logs if each["log_level"] == "warning"] == [
        "an instance was found without a record",
        "a process was found without a record",
    ]
    assert machine.agent.recover() == []
    assert ask(machine.agent, "process_look", uuid=machine.row)["status"]["pid"] == pid
    found = ask(machine.agent, "instance_look", hypervisor="process", name="web")
    assert (found["state"], found["memory_mib"]) == ("running", 100)
    assert len(machine.running()) == 2


def test_instance_is_taken_over_as_it_was_ordered_and_else_made_anew(machine: Machine) -> None:
    change(machine.agent, "instance_start", **machine.instance())
    before = machine.running()
    machine.lose_directory()
    machine.agent.recover()
    with pytest.raises(RpcFailed, match="its variables are not known: stop and start it"):
        change(machine.agent, "instance_reboot", hypervisor="process", name="web")
    change(machine.agent, "instance_start", **machine.instance())
    assert machine.running() == before
    change(machine.agent, "instance_reboot", hypervisor="process", name="web")
    rebooted = machine.running()
    assert len(rebooted) == 1
    assert rebooted != before
    machine.lose_directory()
    change(machine.agent, "instance_start", **machine.instance(env={"OTHER": "1"}))
    (anew,) = machine.running()
    assert anew not in rebooted
    assert psutil.Process(anew).environ()["OTHER"] == "1"
    machine.lose_directory()
    change(machine.agent, "instance_remove", hypervisor="process", name="web")
    assert machine.running() == []


def test_file_is_known_by_its_mark(machine: Machine) -> None:
    page = machine.directory / "files" / "page"
    machine.page()
    try:
        os.getxattr(page, "user.isotherm.resource")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    machine.lose_directory()
    machine.page(b"other")
    assert page.read_bytes() == b"other"
    page.write_bytes(b"edited")
    machine.lose_directory()
    change(machine.agent, "file_remove", owner=machine.owner, path=str(page), content=b"other")
    assert not page.exists()
    # One of another resource is not.
    page.write_bytes(b"foreign")
    os.setxattr(page, "user.isotherm.resource", b"another-row")
    machine.lose_directory()
    machine.row = f"row-{uuid4().hex}"
    with pytest.raises(RpcFailed, match="exists and is not ours"):
        machine.page()
    assert page.read_bytes() == b"foreign"
