"""``isotherm agent`` as a real process: it is asked, it is changed, it dies in the middle, it loses its name."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from cache.node_state.errors import NodeError, NodeUnreachable
from cache.node_state.lease import Lease
from cache.node_state.requests import BOOTID_KEY, MachineStateRequest, StorageSection
from orchestrator.config.settings import Settings, load_settings
from orchestrator.doctor.check import Check
from orchestrator.doctor.nodes import check_nodes
from orchestrator.errors import Conflict
from orchestrator.nodes.rpc.calls import make_request
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.nodes.rpc.kombu_transport import KombuTransport
from orchestrator.nodes.rpc.operations import OperationState
from tests import keys
from tests.allowing import everything
from tests.services.engine import EngineProcess
from tests.services.servers import RedisServer
from tests.waiting import until
from tests.warm import start
from workers.agent.serving.process import serve

NODE = "host1"
#: Longer than anything takes.
LONG = 300.0


class Node:
    """A node whose agent is a process, and a client that asks it."""

    def __init__(self, directory: Path, redis_url: str) -> None:
        self.directory = directory
        self.engines: list[EngineProcess] = []
        self.values = {
            "broker_url": redis_url,
            "state_directory": str(directory / "state"),
            "node_state_cache": json.dumps({"heartbeat_seconds": 0.2, "rpc_timeout_seconds": LONG}),
            "agent": json.dumps({"labels": {"zone": "z", "rack": "r0"}, "threads": 2}),
            "node_directories": json.dumps([str(directory)]),
            "log_level": "INFO",
        }
        self.settings: Settings = load_settings(
            **{name: json.loads(value) if value[0] in "{[" else value for name, value in self.values.items()}
        )
        self.client = NodeClient.of(self.settings)

    def start(self, state: str = "state") -> EngineProcess:
        """Start an agent with a state directory, and return when it takes changes."""
        others = keys.others()
        ours = {f"ISOTHERM_{name.upper()}": value for name, value in self.values.items()}
        ours |= everything(self.directory)
        ours["ISOTHERM_STATE_DIRECTORY"] = str(self.directory / state)
        words = ("agent", "--node", NODE, "--label", "rack=r1")
        process = start(words, directory=self.directory, environment={**others, **ours})
        self.engines.append(EngineProcess(process))
        self.engines[-1].wait_until_ready()
        return self.engines[-1]

    def start_with_clock(self, ahead_seconds: float) -> None:
        """Start an agent on a machine whose clock is wrong."""
        program = (
            "import time; right = time.time; "
            f"time.time = lambda: right() + {ahead_seconds}; "
            "from orchestrator.cli.start import main; main()"
        )
        others = keys.others()
        ours = {f"ISOTHERM_{name.upper()}": value for name, value in self.values.items()}
        process = subprocess.Popen(
            [sys.executable, "-c", program, "agent", "--node", NODE],
            cwd=self.directory,
            env={**others, **ours},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.engines.append(EngineProcess(process))
        self.engines[-1].wait_until_ready()

    def hasty_client(self, rpc_timeout_seconds: float) -> NodeClient:
        """Return a client that takes the agent for unreachable sooner."""
        numbers = self.settings.node_state_cache.with_values(rpc_timeout_seconds=rpc_timeout_seconds)
        return NodeClient.of(self.settings.with_values(node_state_cache=numbers))

    def change(self, operation_id: str, name: str) -> Any:
        """Have a volume made."""
        volume = {"storage": "default", "name": name, "size_mib": 1, "options": {}}
        return self.client.change(NODE, "storage_create", operation_id, wait_seconds=LONG, **volume)

    def incarnation(self) -> str:
        """Return which agent answers."""
        lease = self.client.leases().get(NODE)
        return lease.incarnation if lease else ""


@pytest.fixture
def node(tmp_path: Path, redis_url: str) -> Iterator[Node]:
    with closed(Node(tmp_path, redis_url)) as node:
        yield node


@contextmanager
def closed(node: Node) -> Iterator[Node]:
    """Give a node, and end its agents afterwards."""
    try:
        yield node
    finally:
        for engine in node.engines:
            engine.process.terminate()
            engine.wait()
        node.client.close()


def test_an_agent_is_asked_changed_killed_and_followed(node: Node, redis_server: RedisServer) -> None:
    first = node.start()
    # The name under which Celery's tools find it, and compose.yaml asks whether it is well.
    assert f"agent-{NODE}@{socket.gethostname()} ready." in first.log
    lease = node.client.leases()[NODE]
    assert (lease.labels, lease.storage) == ({"zone": "z", "rack": "r1"}, {"default": "file"})
    # A change, whose effect the next machine state shows.
    request = MachineStateRequest(storage=frozenset({StorageSection("file", "default")}), bootid=True)
    before = node.client.machine_state(NODE, request)
    assert node.client.machine_state(NODE, request).cached
    made = node.change("make-a", "a")
    assert Path(made["path"]).exists()
    after = node.client.machine_state(NODE, request)
    assert not after.cached
    assert after.sections[BOOTID_KEY] == before.sections[BOOTID_KEY]
    # Nobody else gets its name, on this machine or on another.
    with pytest.raises(Conflict, match="on this machine already"):
        serve(node.settings, node=NODE, labels={})
    elsewhere = node.settings.with_values(state_directory=node.directory / "elsewhere")
    with pytest.raises(Conflict, match=f"has an agent already: .*process {first.process.pid}"):
        serve(elsewhere, node=NODE, labels={})
    # The broker, and the store of leases, lose everything.
    redis_server.client(int(node.settings.broker_url.rpartition("/")[2])).flushdb()
    until(lambda: node.incarnation() == lease.incarnation)
    assert node.change("make-b", "b")["name"] == "b"
    # It dies in the middle of a change; the next one on the machine takes its name at once, and ends the change.
    with stopping_a_deaf_instance(node) as stopped:
        until(lambda: node.client.outcome(NODE, "stop").state is OperationState.RUNNING)
        first.kill()
        second = node.start()
    assert stopped == ["stopped"]
    assert node.client.ask(NODE, "instance_look", hypervisor="process", name="deaf")["state"] == "shutdown"
    assert node.incarnation() not in ("", lease.incarnation)
    # And it knows what was done.
    assert node.change("make-a", "a") == made
    removed = {"hypervisor": "process", "name": "deaf"}
    node.client.change(NODE, "instance_remove", "remove", wait_seconds=LONG, **removed)
    second.process.terminate()
    assert second.wait() == 0
    with pytest.raises(NodeUnreachable, match="no agent holds its lease"):
        node.client.ask(NODE, "node_version")
    assert not node.client.leases()


@contextmanager
def stopping_a_deaf_instance(node: Node) -> Iterator[list[str]]:
    """Have an instance stopped that ends when the test says so, by who goes on whatever passes until it is."""
    end = node.directory / "end"
    deaf = ["/bin/sh", "-c", f"trap '' TERM; until [ -e {end} ]; do sleep 0.05; done"]
    spec = {"name": "deaf", "memory_mib": 16, "command": deaf, "cwd": str(node.directory)}
    node.client.change(NODE, "instance_start", "start", wait_seconds=LONG, hypervisor="process", spec=spec)
    grace = {"hypervisor": "process", "name": "deaf", "grace_seconds": LONG}
    hasty = node.hasty_client(1.0)
    stopped: list[str] = []

    def stop() -> None:
        while not stopped:
            try:
                hasty.change(NODE, "instance_stop", "stop", wait_seconds=LONG, **grace)
                stopped.append("stopped")
            except NodeError as error:
                if not error.passing:
                    stopped.append(str(error))
                threading.Event().wait(0.1)

    stopper = threading.Thread(target=stop)
    stopper.start()
    try:
        yield stopped
    finally:
        end.touch()
        stopper.join(LONG)
    hasty.close()


def test_an_agent_that_stood_still_goes_on_and_ends_when_it_has_lost_its_name(node: Node) -> None:
    agent = node.start()
    hasty = node.hasty_client(0.3)
    suspend(agent)
    with pytest.raises(NodeError) as caught:
        hasty.change(
            NODE, "storage_create", "make-a", wait_seconds=0.1, storage="default", name="a", size_mib=1
        )
    hasty.close()
    assert caught.value.passing
    agent.process.send_signal(signal.SIGCONT)
    assert node.change("make-a", "a")["name"] == "a"
    assert node.client.outcome(NODE, "make-a").state is OperationState.DONE

    agent.expected_code = 1
    lease = node.client.leases()[NODE]
    node.client.cache.release(lease)
    node.client.cache.acquire(Lease(node=NODE, incarnation="another", boot_id="b", holder="elsewhere"))
    assert agent.wait() == 1
    assert "has another agent now: elsewhere" in agent.log
    assert node.incarnation() == "another"


def suspend(agent: EngineProcess) -> None:
    """Return when an agent stands still: the signal stops one of its threads after the other."""
    agent.process.send_signal(signal.SIGSTOP)
    threads = Path(f"/proc/{agent.process.pid}/task")
    until(lambda: all("\nState:\tT" in each.read_text() for each in threads.glob("*/status")))


@pytest.mark.parametrize("state", ["state", "elsewhere"])
def test_an_agent_that_stands_still_is_followed_and_does_nothing_afterwards(
    tmp_path: Path, redis_url: str, state: str
) -> None:
    command = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.05; done", f"{os.getpid()}-{state}"]
    spec = {"name": "web", "memory_mib": 16, "command": command}
    web = {"hypervisor": "process", "name": "web"}
    with closed(Node(tmp_path, redis_url)) as node:
        first = node.start()
        node.client.change(
            NODE, "instance_start", "start", wait_seconds=LONG, hypervisor="process", spec=spec
        )
        # It takes a while: the command does not end when it is asked to.
        transport = KombuTransport(node.settings)
        transport.send(make_request(NODE, "instance_reboot", web, timeout_seconds=LONG, operation_id="again"))
        transport.close()
        until(lambda: node.client.outcome(NODE, "again").state is OperationState.RUNNING)
        suspend(first)
        # As if its lease had run out meanwhile.
        node.client.cache.release(node.client.leases()[NODE])
        first.expected_code = -signal.SIGKILL
        second = node.start(state)
        assert running(command) == 1
        node.client.change(NODE, "instance_remove", "remove", wait_seconds=LONG, **web)
        with suppress(ProcessLookupError):
            os.kill(first.process.pid, signal.SIGCONT)
        assert first.wait() == -signal.SIGKILL
        assert running(command) == 0
        assert "the agent before this one is killed" in second.log


def running(command: list[str]) -> int:
    """How many processes of a command there are on this machine, by whatever they are known."""
    return sum(each.info["cmdline"] == command for each in psutil.process_iter(["cmdline"]))


@pytest.mark.parametrize("ahead_seconds", [-3600.0, 3600.0])
def test_an_agent_whose_clock_is_wrong_works_and_is_told_of(node: Node, ahead_seconds: float) -> None:
    node.start_with_clock(ahead_seconds)
    assert node.change("make", "a")["name"] == "a"
    request = MachineStateRequest(bootid=True)
    assert node.client.machine_state(NODE, request).sections[BOOTID_KEY].data
    assert node.client.leases()[NODE].clock_ahead_seconds == pytest.approx(ahead_seconds, abs=60)
    # What has expired is not carried out for all that; what has not is, by an agent that knows no clock but its own.
    transport = KombuTransport(node.settings, now=node.client.cache.store.now)
    volume = {"storage": "default", "size_mib": 1, "options": {}}
    for name, seconds in (("late", -1.0), ("early", LONG)):
        given = {**volume, "name": name}
        transport.send(
            make_request(NODE, "storage_create", given, timeout_seconds=seconds, operation_id=name)
        )
    transport.close()
    until(lambda: node.client.outcome(NODE, "early").state is OperationState.DONE)
    late = until(lambda: node.client.outcome(NODE, "late").error)
    assert "after its deadline" in late.message

    def checked() -> dict[str, Check]:
        return {each.name: each for each in check_nodes(node.settings)}

    # On a busy machine it may not answer within a second.
    checks = until(lambda: found if (found := checked())["nodes"].ok else None)
    word = "ahead" if ahead_seconds > 0 else "behind"
    assert checks["clocks of nodes"].detail.endswith(f"s {word}")
