"""The client plugin ``nodes`` and its constraints: what a template may name is there, or was."""

from pathlib import Path

import pytest

from cache.node_state.errors import NodeTimeout, NoSuchNode
from orchestrator.config.settings import Settings
from orchestrator.errors import NotVerified
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientContext
from orchestrator.plugins.clients import ProjectClients
from tests.unit.workers.resources.nodes.direct import DirectNodes, client_of, clients_of
from workers.clients.nodes import HYPERVISOR, NODE, STORAGE, NodesClient
from workers.constraints.nodes import Node, NodeHypervisor, NodeStorage


@pytest.fixture
def nodes(tmp_path: Path) -> DirectNodes:
    agent = {"hypervisors": {"fake": {}}, "backend_seconds": 60}
    return DirectNodes(Settings(state_directory=tmp_path, agent=agent), "rack1-a", "rack1-b")  # type: ignore[arg-type]


@pytest.fixture
def client(nodes: DirectNodes) -> NodesClient:
    return client_of(ClientContext("default"), nodes)


@pytest.fixture
def clients(nodes: DirectNodes) -> ProjectClients:
    return clients_of(Settings(), nodes)


def test_what_is_there_is_found_by_its_name(client: NodesClient) -> None:
    assert client.find(NODE, "rack1-a") == "rack1-a"
    assert client.find(HYPERVISOR, "fake") == "fake"
    assert client.find(STORAGE, "default") == "default"
    assert client.probe() == "rack1-a, rack1-b"


@pytest.mark.parametrize(
    ("constraint", "value", "sentence"),
    [
        (Node(), "rack1-c", "there is no node 'rack1-c': did you mean 'rack1-b'?"),
        (Node(), "x", "there is no node 'x': there is 'rack1-a', 'rack1-b'"),
        (NodeHypervisor(), "fakee", "there is no hypervisor 'fakee': did you mean 'fake'?"),
        (NodeStorage(), "fast", "there is no storage unit 'fast': there is 'default'"),
        (NodeStorage(), "", "'' names no storage unit"),
    ],
    ids=["near", "far", "hypervisor", "storage", "empty"],
)
def test_what_is_not_there_is_refused_with_what_is(
    clients: ProjectClients, constraint: Node | NodeHypervisor | NodeStorage, value: str, sentence: str
) -> None:
    assert constraint.fault_by(value, clients) == sentence


def test_an_empty_text_names_no_node_and_is_left_to_placement(clients: ProjectClients) -> None:
    assert Node().fault("") is None
    assert Node().fault_by("", clients) is None


def test_a_node_that_had_an_agent_counts_as_there(nodes: DirectNodes, clients: ProjectClients) -> None:
    nodes.away.add("rack1-b")
    assert Node().fault_by("rack1-b", clients) is None


def test_what_a_silent_node_may_offer_is_left_to_it(nodes: DirectNodes, clients: ProjectClients) -> None:
    nodes.away.add("rack1-b")
    assert NodeHypervisor().fault_by("qemu", clients) is None
    assert NodeStorage().fault_by("fast", clients) is None
    assert Node().fault_by("rack1-c", clients) is not None


def test_where_nobody_has_heard_of_any_node_nobody_can_tell(
    nodes: DirectNodes, clients: ProjectClients
) -> None:
    nodes._agents.clear()
    for constraint in (Node(), NodeHypervisor(), NodeStorage()):
        with pytest.raises(NotVerified, match="no node has an agent"):
            constraint.fault_by("fake", clients)
    client = clients.get("nodes")
    assert isinstance(client, NodesClient)
    assert client.probe() == "no node has an agent"


def test_what_passes_may_be_tried_again(client: NodesClient) -> None:
    assert client.is_retryable(NodeTimeout("n", "silent"))
    assert not client.is_retryable(NoSuchNode("n", "unheard of"))
    assert client.is_not_found(EntityNotFound(NODE, "n"))
