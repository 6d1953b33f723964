"""How nodes are asked and changed: by an agent in this process, and by one that answers as a test has it answer."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import (
    NodeTimeout,
    NodeUnreachable,
    NoSuchNode,
    SchemaMismatch,
    SectionFailed,
    StateStoreFailed,
)
from cache.node_state.lease import Lease
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.requests import (
    BOOTID_KEY,
    ERROR,
    INSTANCES_DATA,
    NODE_DATA,
    OK,
    HypervisorSection,
    MachineState,
    MachineStateRequest,
    Section,
    StorageSection,
)
from cache.node_state.store import Look, NodeStateStore
from orchestrator.config.nodes import AgentSettings, NodeStateCacheSettings
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.nodes.rpc.errors import NotThere, RpcRetryable, StillRunning
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.operations import Operation, OperationState
from orchestrator.nodes.rpc.requester import REQUESTER
from orchestrator.nodes.rpc.unfinished import RESEND_SECONDS, is_to_be_sent
from orchestrator.plugins.machine_requirements import LOCAL_NODE

DONE, FAILED, RUNNING = OperationState.DONE, OperationState.FAILED, OperationState.RUNNING
UNKNOWN, INTERRUPTED = OperationState.UNKNOWN, OperationState.INTERRUPTED
FAKE, FILES = HypervisorSection("fake"), StorageSection("file", "default")
DATA: dict[str, Any] = {
    "memory_mib": 64,
    "vcpus": 2,
    "state": "running",
    "cpu_seconds": 1.5,
    "raw_state": "r",
    "id": "7",
}


class Scripted:
    """A transport whose agent says of an operation what a test has it say, and notes what is sent."""

    def __init__(self) -> None:
        self.sent: list[Request] = []
        self.looks: list[dict[str, Any]] = []
        self.requests: list[Request] = []
        #: What the next looks find; the last one again and again.
        self.found: list[Operation] = [Operation(state=UNKNOWN)]
        self.sections: dict[str, Section] = {}
        self.snapshots = 0
        self.incarnation = "1"
        self.asked = 0
        self.deaf = False

    def read(self, request: Request, *, timeout_seconds: float) -> Reply:
        assert request.deadline > time.time()
        self.requests.append(request)
        self.asked += 1
        if self.deaf:
            raise NodeTimeout(request.node, f"node {request.node!r} did not answer")
        if request.rpc == "operation":
            self.looks.append(dict(request.arguments))
            found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
            return self._reply(request, found.to_wire())
        return self._reply(request, None, Fault(kind="not_there", message=f"no {request.rpc} here"))

    def send(self, request: Request) -> None:
        self.sent.append(request)

    def close(self) -> None:
        self.sent.clear()

    def _reply(self, request: Request, result: Any, error: Fault | None = None) -> Reply:
        return Reply(
            id=request.id,
            node=request.node,
            incarnation=self.incarnation,
            boot_id="b",
            seq=0,
            inflight=0,
            taken_at=5.0,
            duration_seconds=0.1,
            result=result,
            error=error,
        )


@pytest.fixture
def agent() -> Scripted:
    return Scripted()


def client_of(agent: Scripted, store: NodeStateStore) -> NodeClient:
    """Return a client of the node n1, whose agent is scripted."""

    def fetch(node: str, request: MachineStateRequest, seconds: float) -> MachineState:
        sections = dict(agent.sections)
        agent.snapshots += 1
        return MachineState(
            node=node, taken_at=5.0, incarnation=agent.incarnation, boot_id="b", sections=sections
        )

    return NodeClient(agent, NodeStateCache(store, fetch), timeout_seconds=1.0)


@pytest.fixture
def client(agent: Scripted) -> NodeClient:
    client = client_of(agent, MemoryNodeStore())
    client.cache.acquire(Lease(node="n1", incarnation="1", boot_id="b"))
    return client


def start(client: NodeClient, wait_seconds: float = 300.0) -> Any:
    return client.change("n1", "instance_start", "start-1", wait_seconds=wait_seconds, spec={"name": "web"})


# -- changes -----------------------------------------------------------------------------------------------------


def test_change_is_sent_once_and_its_own_end_is_waited_for(agent: Scripted, client: NodeClient) -> None:
    agent.found = [Operation(state=UNKNOWN), Operation(state=RUNNING), Operation(state=DONE, result=7)]
    assert start(client) == 7
    (sent,) = agent.sent
    assert (sent.rpc, sent.operation_id, sent.arguments) == (
        "instance_start",
        "start-1",
        {"spec": {"name": "web"}},
    )
    assert [look["request_id"] for look in agent.looks] == ["", sent.id, sent.id]


@pytest.mark.parametrize("keeps_owners", [False, True])
def test_agent_of_an_earlier_version_gets_no_requester(
    agent: Scripted, client: NodeClient, keeps_owners: bool
) -> None:
    client.cache.acquire(Lease(node="n1", incarnation="1", boot_id="b", keeps_owners=keeps_owners))
    agent.found = [Operation(state=UNKNOWN), Operation(state=DONE)]
    stated: dict[str, Any] = {"name": "web", REQUESTER: {"project": "p"}}
    client.change("n1", "instance_pause", "pause-1", wait_seconds=300.0, **stated)
    with pytest.raises(NotThere):
        client.ask("n1", "instance_look", **stated)
    arrives = stated if keeps_owners else {"name": "web"}
    asked = [request for request in agent.requests if request.rpc == "instance_look"]
    for request in (*agent.sent, *asked):
        assert request.arguments == arrives
    assert (len(agent.sent), len(asked)) == (1, 1)


def test_change_that_was_made_is_not_sent_again(agent: Scripted, client: NodeClient) -> None:
    agent.found = [Operation(state=DONE, result=7)]
    assert start(client) == 7
    assert agent.sent == []


def test_change_that_takes_long_is_told_to_be_running_and_joined_later(
    agent: Scripted, client: NodeClient
) -> None:
    with pytest.raises(StillRunning, match=r"instance_start on node 'n1' is not over after 0\.01 s"):
        start(client, 0.01)
    agent.found = [Operation(state=RUNNING), Operation(state=DONE, result=7)]
    assert start(client) == 7
    assert len(agent.sent) == 1


def test_failure_that_nobody_was_told_is_told_before_it_is_tried_again(
    agent: Scripted, client: NodeClient
) -> None:
    with pytest.raises(StillRunning):
        start(client, 0.01)
    agent.found = [Operation(state=FAILED, error=Fault(kind="retryable", message="no memory"))]
    with pytest.raises(RpcRetryable, match="no memory"):
        start(client)
    agent.found = [
        Operation(state=FAILED, error=Fault(kind="retryable", message="no memory")),
        Operation(state=DONE),
    ]
    start(client)
    assert len(agent.sent) == 2


def test_change_in_whose_middle_the_agent_died_is_sent_to_the_next_one(
    agent: Scripted, client: NodeClient
) -> None:
    agent.found = [
        Operation(state=UNKNOWN),
        Operation(state=INTERRUPTED),
        Operation(state=RUNNING),
        Operation(state=DONE, result=7),
    ]
    assert start(client) == 7
    first, second = agent.sent
    assert first.id != second.id
    assert first.operation_id == second.operation_id
    assert agent.looks[-1]["request_id"] == second.id


def test_change_that_no_agent_survives_is_not_sent_again_and_again(
    agent: Scripted, client: NodeClient
) -> None:
    agent.found = [Operation(state=UNKNOWN), Operation(state=INTERRUPTED)]
    with pytest.raises(StillRunning, match="interrupted twice"):
        start(client)
    assert len(agent.sent) == 2


@pytest.mark.parametrize(
    ("found", "sent_seconds_ago", "is_sent"),
    [
        (UNKNOWN, None, True),
        (UNKNOWN, RESEND_SECONDS - 1, False),
        (UNKNOWN, RESEND_SECONDS, True),
        (RUNNING, None, False),
        (RUNNING, 9999.0, False),
        (DONE, None, False),
        (FAILED, None, True),
        (FAILED, 9999.0, False),
        (INTERRUPTED, None, True),
        (INTERRUPTED, 0.0, True),
    ],
)
def test_what_is_sent(found: OperationState, sent_seconds_ago: float | None, is_sent: bool) -> None:
    assert is_to_be_sent(found, sent_seconds_ago) is is_sent


def test_outcome_begins_nothing(agent: Scripted, client: NodeClient) -> None:
    assert client.outcome("n1", "start-1").state is UNKNOWN
    assert agent.sent == []


# -- who is asked ------------------------------------------------------------------------------------------------


def test_faults_come_as_errors(client: NodeClient) -> None:
    with pytest.raises(NotThere, match="no instance_look here"):
        client.ask("n1", "instance_look", name="web")


def test_nodes_without_an_agent_are_not_asked(agent: Scripted, client: NodeClient) -> None:
    client.cache.acquire(gone := Lease(node="gone", incarnation="2", boot_id="b"))
    client.cache.release(gone)
    client.cache.acquire(Lease(node="newer", incarnation="3", boot_id="b", schema=99))
    with pytest.raises(NodeUnreachable, match="no agent holds its lease"):
        client.ask("gone", "instance_look")
    with pytest.raises(SchemaMismatch, match="speaks version 99"):
        client.outcome("newer", "1")
    assert agent.looks == []
    assert set(client.leases()) == {"n1", "newer"}


def test_node_of_which_the_store_knows_nothing_any_more_is_asked(agent: Scripted, client: NodeClient) -> None:
    client.cache.forget("n1")
    agent.found = [Operation(state=DONE, result=7)]
    assert start(client) == 7
    with pytest.raises(NoSuchNode):
        client.machine_state("n1", MachineStateRequest(bootid=True))


def test_another_agent_than_the_last_one_voids_what_is_kept(agent: Scripted, client: NodeClient) -> None:
    agent.sections = {BOOTID_KEY: Section(status=OK, data="b")}
    for _ in range(2):
        client.machine_state("n1", MachineStateRequest(bootid=True))
        client.outcome("n1", "start-1")
    assert agent.snapshots == 1
    agent.incarnation = "2"
    client.outcome("n1", "start-1")
    client.machine_state("n1", MachineStateRequest(bootid=True))
    assert agent.snapshots == 2


def test_agent_that_does_not_answer_is_left_alone_until_there_is_another(
    agent: Scripted, client: NodeClient
) -> None:
    agent.deaf = True
    for _ in range(3):
        with pytest.raises(NodeTimeout, match="'n1' did not answer"):
            client.outcome("n1", "start-1")
    assert agent.asked == 1
    agent.deaf = False
    client.cache.store.forget("n1")
    client.cache.acquire(Lease(node="n1", incarnation="2", boot_id="b"))
    client.outcome("n1", "start-1")
    assert agent.asked == 2


class Failing(MemoryNodeStore):
    """A store that is away."""

    def look(self, nodes: Sequence[str], *, entries: bool = True) -> list[Look]:
        raise StateStoreFailed("refused")

    def names(self) -> frozenset[str]:
        raise StateStoreFailed("refused")


def test_nodes_are_asked_and_changed_without_the_store(agent: Scripted) -> None:
    client = client_of(agent, Failing())
    agent.found = [Operation(state=DONE, result=7)]
    assert start(client) == 7
    with pytest.raises(Unavailable, match="the node state cache does not answer: refused"):
        client.leases()


# -- old shapes --------------------------------------------------------------------------------------------------


def test_wrappers_have_the_old_shapes(agent: Scripted, client: NodeClient) -> None:
    unit = {"type": "file", "name": "default", "storage_size": 100, "storage_free": 60}
    node = {"memory_total_mib": 1000, "memory_free_mib": 500, "cpu_total": 4, "hv_version": None}
    agent.sections = {
        BOOTID_KEY: Section(status=OK, data="b"),
        FAKE.key: Section(status=OK, data={NODE_DATA: node, INSTANCES_DATA: {"web": DATA}}),
        FILES.key: Section(status=OK, data=unit),
    }
    expected = {"memory": 64, "vcpus": 2, "state": "running", "time": 1.5}
    for _ in ("from the node", "from the cache"):
        assert client.node_info("n1", [FILES], [FAKE]) == (
            "b",
            [unit],
            [{"memory_total": 1000, "memory_free": 500, "cpu_total": 4}],
        )
        assert client.instance_info("n1", "web", FAKE) == expected
        assert client.instance_info("n1", "mail", FAKE) == {}
        assert client.all_instances_info("n1", [FAKE]) == {"web": expected}
    assert agent.snapshots == 1


def test_instance_under_two_hypervisors_that_differ_is_an_error(agent: Scripted, client: NodeClient) -> None:
    other = HypervisorSection("other")

    def seen(**changed: Any) -> Section:
        return Section(status=OK, data={NODE_DATA: {}, INSTANCES_DATA: {"web": {**DATA, **changed}}})

    agent.sections = {FAKE.key: seen(), other.key: seen(state="paused", cpu_seconds=9.0)}
    assert client.all_instances_info("n1", [FAKE, other])["web"]["state"] == "running"
    client.cache.bump("n1", "test")
    agent.sections[other.key] = seen(vcpus=3)
    with pytest.raises(SectionFailed, match="two hypervisors report instance 'web'"):
        client.all_instances_info("n1", [FAKE, other])


def test_section_that_failed_is_no_answer(agent: Scripted, client: NodeClient) -> None:
    agent.sections = {FAKE.key: Section(status=ERROR, message="the daemon is away")}
    with pytest.raises(SectionFailed, match="the daemon is away"):
        client.instance_info("n1", "web", FAKE)


# -- the agent of embedded mode ----------------------------------------------------------------------------------


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[NodeClient]:
    agent = AgentSettings(hypervisors={"fake": {"memory_mib": 1000, "cpus": 4}})
    settings = Settings(state_directory=tmp_path, node_directories=(tmp_path,), agent=agent)
    client = NodeClient.of(settings)
    assert NodeClient.of(settings) is client
    yield client
    client.close()


def test_local_agent_is_asked_and_changed(embedded: NodeClient) -> None:
    assert list(embedded.leases()) == [LOCAL_NODE]
    assert embedded.ask(LOCAL_NODE, "node_version")["node"] == LOCAL_NODE
    before = embedded.all_instances_info(LOCAL_NODE, [FAKE])
    spec = {"name": "web", "memory_mib": 64}
    for _ in range(2):
        embedded.change(LOCAL_NODE, "instance_start", "s", wait_seconds=20, hypervisor="fake", spec=spec)
    assert (before, list(embedded.all_instances_info(LOCAL_NODE, [FAKE]))) == ({}, ["web"])
    with pytest.raises(NoSuchNode, match="without a broker there is 'local' alone"):
        embedded.ask("host1", "node_version")


def test_change_that_fails_says_why(embedded: NodeClient) -> None:
    with pytest.raises(NotThere):
        embedded.change(
            LOCAL_NODE, "instance_stop", "x", wait_seconds=20, hypervisor="fake", name="web", grace_seconds=0
        )


def test_client_that_was_closed_is_made_anew(tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path)
    made: list[NodeClient] = []
    threads = [threading.Thread(target=lambda: made.append(NodeClient.of(settings))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(client) for client in made}) == 1
    made[0].close()
    again = NodeClient.of(settings)
    assert again is not made[0]
    again.close()


def test_a_broker_that_is_away_makes_nodes_unreachable_each_on_its_own(tmp_path: Path) -> None:
    settings = Settings(
        state_directory=tmp_path,
        broker_url="redis://127.0.0.1:1/0",
        node_state_cache=NodeStateCacheSettings(backend="file"),
    )
    client = NodeClient.of(settings)
    for node in ("n1", "n2"):
        client.cache.acquire(Lease(node=node, incarnation=node, boot_id="b"))
    found = client.machine_states(["n1", "n2"], MachineStateRequest(bootid=True))
    assert {node: type(error) for node, error in found.items()} == {
        "n1": NodeUnreachable,
        "n2": NodeUnreachable,
    }
    assert "node 'n1' cannot be asked: the broker does not answer" in str(found["n1"])
    client.close()
