"""Proof for each RPC that says it only reads: a node looks the same before and after, to the last byte."""

import hashlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from cache.node_state.cache import NodeStateCache
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.requests import MachineState, MachineStateRequest, Section
from orchestrator.errors import PluginMistake
from orchestrator.nodes.rpc.registry import Effect, NodeRpc, load_rpcs, node_rpc
from tests.unit.workers.agent.agents import ToldCache, agent_of, ask, change, request_of, spec, told
from workers.agent.agent import Agent
from workers.agent.commands.readiness import Probe, ReadyWhen

READS = sorted(rpc.name for rpc in load_rpcs().values() if rpc.is_read)
#: The row of the process: what is found by it is found on the whole machine, where other tests run, too.
ROW = uuid4().hex
EVERYTHING = {"everything": True, "bootid": True}
#: A process that somebody has stopped, or that has ended.
_AT_REST = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
PROBE = Probe(when=ReadyWhen.TCP, host="127.0.0.1", port=1).to_wire()


def arguments_of(agent: Agent, kind: str) -> Mapping[str, list[Mapping[str, Any]]]:
    """Return what each read is asked here: about what is there, and about what is not. Every read is to be in it."""
    page = str(agent.settings.allowed_directories[0] / "page")
    return {
        "node_snapshot": [{"request": EVERYTHING}, {"request": {"hv": [[kind, "{}"], ["none", "{}"]]}}],
        "node_version": [{}],
        "operation": [
            {"operation_id": "start"},
            {"operation_id": "never", "wait_seconds": 0.01, "request_id": "none"},
        ],
        "instance_look": [{"hypervisor": kind, "name": name} for name in ("web", "none")],
        "volume_look": [{"storage": "default", "name": name} for name in ("data", "none")],
        "volume_list": [{"storage": "default"}],
        "file_find": [{"owner": owner(uuid)} for uuid in ("row-f", "none")],
        "file_look": [{"path": page, "most_bytes": 9, "digests": True}, {"path": f"{page}-none"}],
        "process_look": [
            {"uuid": row_of(kind), "members": True, "cwd": "", "probe": PROBE},
            {"uuid": "none", "members": True},
        ],
        "ready_look": [{"probe": PROBE}, {"probe": PROBE, "hypervisor": kind, "name": "web"}],
    }


def row_of(kind: str) -> str:
    return f"{ROW}-{kind}"


def owner(uuid: str) -> Mapping[str, str]:
    return {"uuid": uuid, "stack": "stack", "resource": "page"}


@pytest.fixture(scope="module", params=["fake", "process"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, kind: str) -> Path:
    return tmp_path_factory.mktemp(kind)


@pytest.fixture(scope="module")
def agent(directory: Path, kind: str) -> Iterator[Agent]:
    """A node on which there is one of everything: an instance, a volume, a file and a process."""
    agent = agent_of(directory, ToldCache(), hypervisors={kind: {}})
    instance, process = (sleeping(directory / name) for name in ("instance", "process"))
    started = request_of("instance_start", "start", hypervisor=kind, spec=spec(command=instance))
    told(agent.carry_out(started))
    change(agent, "storage_create", storage="default", name="data", size_mib=1)
    change(agent, "file_put", owner=owner("row-f"), path="page", content=b"<p>", mode=0o600, new=True)
    change(agent, "process_start", uuid=row_of(kind), run="1", argv=process, cwd="", env={}, probe=PROBE)
    for name in ("instance", "process") if kind == "process" else ("process",):
        assert (directory / name).read_text() == "here\n"
    # What is opened or made once, by the first who looks, is no change of the node.
    ask(agent, "node_snapshot", request=EVERYTHING)
    yield agent
    change(agent, "instance_remove", hypervisor=kind, name="web")
    change(agent, "process_kill", uuid=row_of(kind))
    agent.close()


def sleeping(told: Path) -> list[str]:
    """Return a command that tells when it runs, where that can be waited for, and does nothing from then on."""
    os.mkfifo(told)
    return ["/bin/sh", "-c", f"echo here > {told}; exec sleep 600"]


def fingerprint(agent: Agent, directory: Path) -> dict[str, Any]:
    """Return all that is to be told of a node: its disk, its processes, its backends' words, what was told of it."""
    assert isinstance(agent.cache, ToldCache)
    instances = [
        each.to_wire() for unit in agent.hypervisors.all_usable().values() for each in unit.instances()
    ]
    for each in instances:
        # They go on by themselves.
        del each["cpu_seconds"], each["memory_used_mib"]
    volumes = [each.to_wire() for unit in agent.storage.all_usable().values() for each in unit.volumes()]
    return {
        "files": {str(path.relative_to(directory)): _file(path) for path in sorted(directory.rglob("*"))},
        "processes": _processes(directory),
        "instances": instances,
        "volumes": volumes,
        "told": list(agent.cache.told),
        "promised": agent.reservations.total(),
        "counted": agent._answering.changes,
    }


def _file(path: Path) -> tuple[Any, ...]:
    status = path.lstat()
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return status.st_mode, status.st_uid, status.st_mtime_ns, status.st_ino, content


def _processes(directory: Path) -> list[tuple[int, float, bool]]:
    """Return this machine's processes that belong to the node: those that work in its directory."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(directory):
                # Whether it runs or sleeps at the moment, nobody has decided.
                found.append((process.pid, process.create_time(), process.status() in _AT_REST))
        except (psutil.Error, OSError):
            continue
    return sorted(found)


@pytest.mark.parametrize("name", READS)
def test_read_leaves_no_trace(agent: Agent, directory: Path, kind: str, name: str) -> None:
    asked = arguments_of(agent, kind).get(name)
    assert asked, f"{name} says that it only reads: give its arguments here, so that this is proven"
    before = fingerprint(agent, directory)
    for arguments in asked:
        ask(agent, name, **arguments)
    assert fingerprint(agent, directory) == before


def test_what_changes_a_node_does_not_pass_for_a_read(agent: Agent, directory: Path, kind: str) -> None:
    changes: list[tuple[str, Mapping[str, Any]]] = [
        ("instance_pause", {"hypervisor": kind, "name": "web"}),
        ("instance_unpause", {"hypervisor": kind, "name": "web"}),
        ("storage_grow", {"storage": "default", "name": "data", "size_mib": 2}),
        ("process_signal", {"uuid": row_of(kind), "number": int(signal.SIGWINCH)}),
    ]
    for name, arguments in changes:
        before = fingerprint(agent, directory)
        change(agent, name, **arguments)
        after = fingerprint(agent, directory)
        assert {part for part in after if after[part] != before[part]} >= {"files", "told", "counted"}, name


def test_files_and_processes_of_a_node_are_in_its_fingerprint(
    agent: Agent, directory: Path, kind: str
) -> None:
    before = fingerprint(agent, directory)
    assert len(before["processes"]) >= 1 + (kind == "process")
    page = agent.settings.allowed_directories[0] / "page"
    os.utime(page, (time.time(), 0))
    assert fingerprint(agent, directory)["files"] != before["files"]


# -- what is said of an RPC ------------------------------------------------------------------------------------


@node_rpc("unsaid")
def unsaid(agent: Agent) -> str:
    return "done"


@node_rpc("elsewhere", affects=lambda arguments: frozenset({arguments["target"]}))
def elsewhere(agent: Agent, *, target: str) -> str:
    return "done"


@node_rpc("anywhere", effect=Effect.FLUSH_ALL)
def anywhere(agent: Agent) -> None:
    raise ValueError("midway")


@node_rpc("harmless", effect=Effect.NEUTRAL, reason="it touches nothing that is remembered")
def harmless(agent: Agent) -> str:
    return "done"


@node_rpc("later", deferred=True)
def later(agent: Agent) -> str:
    return "done"


@pytest.mark.parametrize(
    ("rpc", "arguments", "said"),
    [
        (unsaid, {}, ["begin n1", "end n1"]),
        (elsewhere, {"target": "n2"}, ["begin n1, n2", "end n1, n2"]),
        (elsewhere, {"target": "n1"}, ["begin n1", "end n1"]),
        (anywhere, {}, ["begin n1, all", "end n1, all"]),
        (harmless, {}, []),
        (later, {}, ["begin n1", "end n1; deferred"]),
    ],
    ids=["unsaid", "elsewhere", "elsewhere here", "anywhere", "harmless", "later"],
)
def test_whatever_does_not_say_that_it_only_reads_voids_what_it_may_change(
    tmp_path: Path, rpc: NodeRpc, arguments: Mapping[str, Any], said: list[str]
) -> None:
    cache = ToldCache()
    agent = agent_of(tmp_path, cache, rpcs={rpc.name: rpc})
    agent.carry_out(request_of(rpc.name, **arguments))
    assert cache.told == said


def test_rpc_of_which_nothing_is_said_voids_what_is_remembered(tmp_path: Path) -> None:
    rpcs = {**load_rpcs(), "unsaid": unsaid, "harmless": harmless}
    asked, looking = [], agent_of(tmp_path)

    def fetch(node: str, request: MachineStateRequest, _seconds: float) -> MachineState:
        asked.append(node)
        result = ask(looking, "node_snapshot", request=request.to_wire())
        sections = {key: Section.from_wire(each) for key, each in result["sections"].items()}
        return MachineState(node=node, taken_at=0.0, incarnation="i", boot_id="b", sections=sections)

    cache = NodeStateCache(MemoryNodeStore(), fetch, unleased={"n1"})
    node = agent_of(tmp_path, cache, rpcs=rpcs)
    for rpc, times in (("harmless", 1), ("unsaid", 2)):
        cache.machine_state("n1")
        change(node, rpc)
        cache.machine_state("n1")
        assert len(asked) == times, rpc
    cache.close()


def test_deferred_change_that_is_only_told_again_has_no_effect_to_come(tmp_path: Path) -> None:
    cache = ToldCache()
    agent = agent_of(tmp_path, cache, rpcs={"later": later})
    request = request_of("later")
    assert [told(agent.carry_out(request)) for _ in range(2)] == ["done", "done"]
    assert cache.told == ["begin n1", "end n1; deferred", "begin n1", "end n1"]


def test_neutral_rpc_says_why() -> None:
    with pytest.raises(PluginMistake, match="must say why"):
        node_rpc("harmless", effect=Effect.NEUTRAL)
    assert [rpc.name for rpc in load_rpcs().values() if rpc.effect is Effect.NEUTRAL and not rpc.reason] == []
