"""Transport and cache of a process's machine client: over the broker, or to its own agent in embedded mode."""

from collections.abc import Callable

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeUnreachable, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import MachineState, MachineStateRequest
from hooks.loading.entries import load_named
from hooks.values.dataclass import dataclass
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.calls import fetch_machine_state
from orchestrator.nodes.rpc.local import LocalTransport
from orchestrator.nodes.rpc.names import agent_directory
from orchestrator.nodes.rpc.state_cache import make_node_state_cache
from orchestrator.nodes.rpc.transport import Transport
from orchestrator.plugins.machine_requirements import LOCAL_NODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The parts of a machine client."""

    transport: Transport
    cache: NodeStateCache
    #: Returns the lease of the agent in this process; None if it has none.
    local: Callable[[], Lease] | None = None


def join(settings: Settings) -> Joined:
    """Return the transport and the machine-state cache for these settings.

    Raises:
        InvalidInput: no machine-state store can be made of the settings.
        Unavailable: the machine-state store does not answer.
    """
    return _to_own_agent(settings) if settings.embedded else _over_broker(settings)


def _over_broker(settings: Settings) -> Joined:
    # kombu is slow to import, and not needed in embedded mode.
    from orchestrator.nodes.rpc.kombu_transport import KombuTransport

    transport = KombuTransport(settings)

    def fetch(node: str, request: MachineStateRequest, seconds: float) -> MachineState:
        try:
            return fetch_machine_state(transport, node, request, seconds)
        except Unavailable as error:
            # The broker is out of reach; the machine itself may be fine.
            raise NodeUnreachable(node, f"node {node!r} cannot be asked: {error}") from error

    cache = make_node_state_cache(settings, fetch)
    transport.now = cache.store.now
    return Joined(transport=transport, cache=cache)


def _to_own_agent(settings: Settings) -> Joined:
    def fetch(node: str, request: MachineStateRequest, seconds: float) -> MachineState:
        return fetch_machine_state(transport, node, request, seconds)

    cache = make_node_state_cache(settings, fetch)
    # Loaded by entry point: this package must not import the workers.
    driver = load_named("isotherm.workers", "agent")
    directory = agent_directory(settings.state_directory, LOCAL_NODE)
    agent = driver(LOCAL_NODE, settings, cache, directory=directory, shared=True)
    transport = LocalTransport(agent, threads=settings.agent.threads)
    try:
        agent.begin()
    except StateStoreFailed as error:
        raise Unavailable(f"the node state cache does not answer: {error}") from error
    return Joined(transport=transport, cache=cache, local=agent.lease)
