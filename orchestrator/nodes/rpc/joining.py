"""How a process is joined to nodes: over the broker, or, without one, to the one agent that it has itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stevedore.driver import DriverManager

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeUnreachable, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import Snapshot, SnapshotRequest
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.calls import fetch_snapshot
from orchestrator.nodes.rpc.local import LocalTransport
from orchestrator.nodes.rpc.names import agent_directory
from orchestrator.nodes.rpc.state_cache import make_node_state_cache
from orchestrator.nodes.rpc.transport import Transport
from orchestrator.plugins.asks import LOCAL_NODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What a client of nodes is made of."""

    transport: Transport
    cache: NodeStateCache
    #: What the agent in this process says of itself; None: there is none.
    local: Callable[[], Lease] | None = None


def join(settings: Settings) -> Joined:
    """Return how nodes are asked, and what is remembered of them.

    Raises:
        InvalidInput: the settings say nothing of which that can be made.
        Unavailable: what was left undone on this machine cannot be told to be.
    """
    return _to_own_agent(settings) if settings.embedded else _over_broker(settings)


def _over_broker(settings: Settings) -> Joined:
    # kombu is slow to import, and only what has a broker needs it.
    from orchestrator.nodes.rpc.kombu_transport import KombuTransport

    transport = KombuTransport(settings)

    def fetch(node: str, request: SnapshotRequest, seconds: float) -> Snapshot:
        try:
            return fetch_snapshot(transport, node, request, seconds)
        except Unavailable as error:
            # The node may be sound; all that is known is that nobody can ask it.
            raise NodeUnreachable(node, f"node {node!r} cannot be asked: {error}") from error

    return Joined(transport=transport, cache=make_node_state_cache(settings, fetch))


def _to_own_agent(settings: Settings) -> Joined:
    def fetch(node: str, request: SnapshotRequest, seconds: float) -> Snapshot:
        return fetch_snapshot(transport, node, request, seconds)

    cache = make_node_state_cache(settings, fetch)
    # Found by its entry point: this package does not know the workers'.
    driver: Any = DriverManager("isotherm.workers", "agent", invoke_on_load=False).driver
    directory = agent_directory(settings.state_directory, LOCAL_NODE)
    agent = driver(LOCAL_NODE, settings, cache, directory=directory, shared=True)
    transport = LocalTransport(agent, threads=settings.agent.threads)
    try:
        agent.begin()
    except StateStoreFailed as error:
        raise Unavailable(f"the node state cache does not answer: {error}") from error
    return Joined(transport=transport, cache=cache, local=agent.lease)
