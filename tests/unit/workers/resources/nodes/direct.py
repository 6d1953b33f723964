"""Nodes that are asked by calls within a test: their agents, without queue and mailbox.

By default without the journal of operations, too. So every change is really made, also the one that is asked for twice:
handlers must do no harm then.
"""

from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

from cache.node_state.errors import NodeError, NodeTimeout, NodeUnreachable
from cache.node_state.lease import Lease
from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.calls import result_of
from orchestrator.nodes.rpc.errors import FAULTS, StillRunning
from orchestrator.nodes.rpc.messages import Request
from orchestrator.nodes.rpc.registry import NodeRpc
from orchestrator.nodes.rpc.requester import REQUESTER
from orchestrator.plugins.client_plugin import ClientContext
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.machine_requirements import LOCAL_NODE
from workers.agent.agent import Agent
from workers.agent.faults import fault_of
from workers.agent.owners import requested_by
from workers.agent.rpcs import files, instances, node, processes, storage
from workers.clients.nodes import NodesClient


def _rpcs(*modules: ModuleType) -> dict[str, NodeRpc]:
    return {
        each.name: each for module in modules for each in vars(module).values() if isinstance(each, NodeRpc)
    }


RPCS = _rpcs(files, instances, node, processes, storage)


class NothingRemembered:
    """Stands for the cache of nodes' states: nothing is remembered, so nothing becomes void."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None

    def mutating(self, *_: Any, **__: Any) -> Any:
        """Bracket nothing."""
        return _Nothing()


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class DirectNodes:
    """The client of nodes, as far as resource types use it."""

    def __init__(self, settings: Settings, *names: str, journals: bool = False) -> None:
        """Make nodes; with ``journals``, what was done under an id is not done again under it."""
        self._settings, self._journals = settings, journals
        self._agents: dict[str, Agent] = {}
        for name in names or (LOCAL_NODE,):
            self.agent(name)
        #: Those that have no agent at the moment.
        self.away: set[str] = set()
        #: The RPCs whose next answer is lost, though they are carried out.
        self.deaf: list[str] = []
        #: How often the RPC of a name is said to go on still, though it is over.
        self.slow: dict[str, int] = {}
        #: What was asked and changed: node, RPC, operation id (empty: asked).
        self.calls: list[tuple[str, str, str]] = []
        #: Called before and after whatever a node does.
        self.instruction: Callable[[], None] = lambda: None

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

    def leases(self) -> Mapping[str, Lease]:
        """Tell which nodes there are, and what they offer."""
        return {name: agent.lease() for name, agent in self._agents.items() if name not in self.away}

    @property
    def cache(self) -> Any:
        """What knows the names of nodes, also of those that are away."""
        return SimpleNamespace(store=SimpleNamespace(names=lambda: frozenset(self._agents)))

    def close(self) -> None:
        """Let go of nothing."""

    def counted(self, rpc: str) -> int:
        """Count how often an RPC was called."""
        return sum(name == rpc for _, name, _ in self.calls)

    def _call(self, node: str, rpc: str, operation_id: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append((node, rpc, operation_id))
        if node in self.away:
            raise NodeUnreachable(node, f"node {node!r} has no agent")
        self.instruction()
        result = self._done(node, rpc, operation_id, arguments)
        self.instruction()
        if rpc in self.deaf:
            self.deaf.remove(rpc)
            raise NodeTimeout(node, f"node {node!r} did not answer {rpc}")
        if self.slow.get(rpc, 0) > 0:
            self.slow[rpc] -= 1
            raise StillRunning(node, f"{rpc} on node {node!r} is not over")
        return result

    def _done(self, node: str, rpc: str, operation_id: str, arguments: Mapping[str, Any]) -> Any:
        agent = self.agent(node)
        if self._journals and operation_id:
            request = Request(
                id=str(len(self.calls)),
                node=node,
                rpc=rpc,
                arguments=arguments,
                operation_id=operation_id,
                deadline=float("inf"),
            )
            return result_of(agent.carry_out(request))
        try:
            given = dict(arguments)
            with requested_by(node, given.pop(REQUESTER, None)):
                return RPCS[rpc].handler(agent, **given)
        except NodeError:
            raise
        except Exception as error:  # as an agent tells them
            fault = fault_of(error, rpc)
            raise FAULTS[fault.kind](node, fault.message) from error


def clients_of(settings: Settings, nodes: DirectNodes) -> ProjectClients:
    """Return the clients of a project whose nodes are these."""

    def build(context: ClientContext, name: str) -> NodesClient:
        assert name == NodesClient.name
        return client_of(context, nodes)

    return ProjectClients(ClientContext("default", settings), build)


def client_of(context: ClientContext, nodes: DirectNodes) -> NodesClient:
    """Return the client plugin whose nodes are these."""
    return NodesClient(context, {}, nodes=nodes)  # type: ignore[arg-type]  # as far as it is used
