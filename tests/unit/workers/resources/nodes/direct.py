"""A node that is asked by calls within a test: its agent's handlers, without queue, mailbox or journal of operations.

So every change is really made, also the one that is asked for twice: handlers must do no harm then.
"""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from cache.node_state.errors import NodeError
from orchestrator.nodes.errors import FAULTS
from orchestrator.nodes.registry import NodeRpc
from orchestrator.plugins.asks import LOCAL_NODE
from orchestrator.plugins.clients import ClientContext, ProjectClients
from orchestrator.settings import Settings
from workers.agent.agent import Agent
from workers.agent.faults import fault_of
from workers.agent.rpcs import files, instances, processes, storage
from workers.clients.nodes import NodesClient


def _rpcs(*modules: ModuleType) -> dict[str, NodeRpc]:
    return {
        each.name: each for module in modules for each in vars(module).values() if isinstance(each, NodeRpc)
    }


RPCS = _rpcs(files, instances, processes, storage)


class NothingRemembered:
    """Stands for the cache of nodes' states: nothing is remembered, so nothing becomes void."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


class DirectNodes:
    """The client of nodes, as far as resource types use it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._agents: dict[str, Agent] = {}
        self.agent()
        #: What each call raises once, in the order of calls; None: it is carried out.
        self.troubles: list[Exception | None] = []
        #: What was asked and changed: node, RPC, operation id (empty: asked).
        self.calls: list[tuple[str, str, str]] = []

    def agent(self, node: str = LOCAL_NODE) -> Agent:
        """Return a node's agent."""
        if node not in self._agents:
            directory = self._settings.state_directory / "agents" / node
            cache: Any = NothingRemembered()
            self._agents[node] = Agent(node, self._settings, cache, directory=directory)
        return self._agents[node]

    def ask(self, node: str, rpc: str, **arguments: Any) -> Any:
        """Ask a node."""
        assert RPCS[rpc].is_read
        return self._call(node, rpc, "", arguments)

    def change(self, node: str, rpc: str, operation_id: str, *, wait_seconds: float, **arguments: Any) -> Any:
        """Have a node changed."""
        assert not RPCS[rpc].is_read
        return self._call(node, rpc, operation_id, arguments)

    def leases(self) -> Mapping[str, Any]:
        """Tell which nodes there are."""
        return dict.fromkeys(self._agents)

    def close(self) -> None:
        """Let go of nothing."""

    def _call(self, node: str, rpc: str, operation_id: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append((node, rpc, operation_id))
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is not None:
            raise trouble
        try:
            return RPCS[rpc].handler(self.agent(node), **arguments)
        except NodeError:
            raise
        except Exception as error:  # as an agent tells them
            fault = fault_of(error, rpc)
            raise FAULTS[fault.kind](node, fault.message) from error


def clients_of(settings: Settings, nodes: DirectNodes) -> ProjectClients:
    """Return the clients of a project whose nodes are these."""

    def build(context: ClientContext, name: str) -> NodesClient:
        assert name == NodesClient.name
        return NodesClient(context, {}, nodes=nodes)  # type: ignore[arg-type]  # as far as it is used

    return ProjectClients(ClientContext("default", settings), build)
