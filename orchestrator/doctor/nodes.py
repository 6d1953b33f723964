"""Doctor checks of nodes: the backend of the node state cache, and which agents answer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from cache.node_state.errors import NodeError, StateStoreFailed
from cache.node_state.store import Look
from cache.node_state.verdict import lease_in
from cache.stores.regions import masked
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import PATIENCE_SECONDS, Check
from orchestrator.errors import InvalidInput, Unavailable
from orchestrator.nodes.rpc.calls import VERSION_RPC, make_request, result_of
from orchestrator.nodes.rpc.reports import clock_fault
from orchestrator.nodes.rpc.state_cache import DIRECTORY, FILE, MEMORY, make_node_state_store, where
from orchestrator.nodes.rpc.transport import Transport

_CACHE = "node state cache"


def check_nodes(settings: Settings) -> Iterator[Check]:
    """Check the node state cache and, if there is a broker, that the agents of nodes answer."""
    try:
        backend, url = where(settings)
        store = make_node_state_store(settings)
    except InvalidInput as error:
        yield Check(name=_CACHE, ok=False, detail=str(error), hint="correct the setting")
        return
    place = f"{backend} at {masked(url)}" if url else backend
    if backend == FILE:
        place = f"file at {settings.state_directory / DIRECTORY}"
    if backend == MEMORY and not settings.embedded:
        detail = "memory: the cache is not shared between agents and the processes that query them"
        hint = "set node_state_cache.backend to redis; or to file, if everything is on one machine"
        yield Check(name=_CACHE, ok=False, detail=detail, hint=hint)
        return
    with closing(store):
        try:
            names = sorted(store.names())
            looks = dict(zip(names, store.look(names, entries=False), strict=True))
        except StateStoreFailed as error:
            hint = "start the server, or correct ISOTHERM_NODE_STATE_CACHE__URL; until then no agent starts"
            yield Check(name=_CACHE, ok=False, detail=f"{place}: {error}", hint=hint, is_service=True)
            return
    yield Check(name=_CACHE, ok=True, detail=place)
    if not settings.embedded:
        yield _check_agents(settings, looks, store.now)
        if wrong := _wrong_clocks(looks):
            hint = "set it, such as by NTP; until then the times that the agent reports are wrong"
            yield Check(name="clocks of nodes", ok=False, detail="; ".join(wrong), hint=hint)


def _wrong_clocks(looks: Mapping[str, Look]) -> list[str]:
    leases = {name: lease for name, look in looks.items() if (lease := lease_in(look)) is not None}
    return [f"{name}: {fault}" for name, lease in leases.items() if (fault := clock_fault(lease))]


def _check_agents(settings: Settings, looks: Mapping[str, Look], now: Callable[[], float | None]) -> Check:
    wanted = [name for name, look in looks.items() if not look.offline]
    faults = dict.fromkeys(wanted, "no agent") | _ask(
        settings, [name for name in wanted if looks[name].lease], now
    )
    silent = [f"{name}: {fault}" for name, fault in faults.items() if fault]
    groups = {
        "answering": [name for name, fault in faults.items() if not fault],
        "drained": [name for name in looks if name not in wanted],
    }
    answering = [f"{word}: {', '.join(names)}" for word, names in groups.items() if names]
    # An installation without nodes is fine.
    detail = "; ".join([*answering, *silent]) or "none has had an agent: nothing can be placed on nodes"
    hint = "start it there: isotherm agent --node NAME; or drain the node: isotherm node drain NAME"
    return Check(name="nodes", ok=not silent, detail=detail, hint=hint if silent else "", is_service=True)


def _ask(settings: Settings, nodes: Sequence[str], now: Callable[[], float | None]) -> dict[str, str]:
    """Return the fault of each node that has an agent; empty if the agent answers."""
    if not nodes:
        return {}
    # Imports kombu, which only an installation with nodes needs.
    from orchestrator.nodes.rpc.kombu_transport import KombuTransport

    with closing(KombuTransport(settings, now=now)) as transport, ThreadPoolExecutor() as pool:
        return dict(zip(nodes, pool.map(lambda node: _fault(transport, node), nodes), strict=True))


def _fault(transport: Transport, node: str) -> str:
    request = make_request(node, VERSION_RPC, {}, timeout_seconds=PATIENCE_SECONDS)
    try:
        result_of(transport.read(request, timeout_seconds=PATIENCE_SECONDS))
    except (NodeError, Unavailable) as error:
        return str(error)
    return ""
