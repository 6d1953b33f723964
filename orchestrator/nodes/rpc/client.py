"""How everybody but agents speaks to nodes: one client for a process and its settings."""

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self, cast

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import (
    NodeError,
    NodeTimeout,
    NodeUnreachable,
    NoSuchNode,
    StateStoreFailed,
)
from cache.node_state.lease import Lease
from cache.node_state.requests import (
    HypervisorSection,
    Snapshot,
    SnapshotRequest,
    StorageSection,
)
from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.calls import (
    OPERATION_RPC,
    check_schema,
    error_of,
    fetch_snapshot,
    make_request,
    result_of,
)
from orchestrator.nodes.rpc.errors import LeasesUnknown, StillRunning
from orchestrator.nodes.rpc.joining import join
from orchestrator.nodes.rpc.old_shapes import as_instances, as_node_info
from orchestrator.nodes.rpc.operations import Operation, OperationState
from orchestrator.nodes.rpc.registry import FAST, load_rpcs
from orchestrator.nodes.rpc.silence import Silences
from orchestrator.nodes.rpc.transport import Transport
from orchestrator.nodes.rpc.unfinished import Unfinished, is_to_be_sent
from orchestrator.plugins.asks import LOCAL_NODE

#: How long one question for an operation waits at the agent.
LOOK_SECONDS: Final = 2.0

_MAKING: Final = threading.Lock()
#: The clients of this process. Threads and connections do not survive a fork.
_CLIENTS: "Final[dict[tuple[str, ...], NodeClient]]" = {}


def _forget_after_fork() -> None:
    _CLIENTS.clear()
    _MAKING.release()


def _close_all() -> None:
    for client in list(_CLIENTS.values()):
        client.close()


atexit.register(_close_all)
os.register_at_fork(
    before=_MAKING.acquire, after_in_parent=_MAKING.release, after_in_child=_forget_after_fork
)


def _key(settings: Settings) -> tuple[str, ...]:
    # What else is in the settings is of no matter to nodes.
    said = settings.model_dump_json(
        include={"broker_url", "cache_backend", "cache_url", "state_directory", "node_directories"}
        | {"node_state_cache", "agent", "job_lease_seconds"}
    )
    return (said, *(key.get_secret_value() for key in settings.encryption_keys))


class NodeClient:
    """Asks nodes, has them changed, and remembers what they said; safe for threads."""

    def __init__(
        self,
        transport: Transport,
        cache: NodeStateCache,
        *,
        timeout_seconds: float,
        local: Callable[[], Lease] | None = None,
    ) -> None:
        """Make a client.

        Args:
            transport: How requests get to agents.
            cache: What is remembered of nodes, and who holds their leases.
            timeout_seconds: An agent that does not answer a question within so long is taken for unreachable.
            local: What the one agent says of itself that is in this process, and needs no lease; None: there is none.
        """
        self.cache = cache
        self._transport = transport
        self._timeout_seconds = timeout_seconds
        self._local = local
        self._unfinished = Unfinished()
        self._silences = Silences()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return this process's client for these settings, made when it is first asked for.

        Without a broker it has an agent of its own, called ``local``.

        Raises:
            InvalidInput: the settings say nothing of which a client can be made.
            Unavailable: what was left undone on this machine cannot be told to be.
        """
        key = _key(settings)
        with _MAKING:
            if key not in _CLIENTS:
                joined = join(settings)
                timeout_seconds = settings.node_state_cache.rpc_timeout_seconds
                _CLIENTS[key] = cls(
                    joined.transport, joined.cache, timeout_seconds=timeout_seconds, local=joined.local
                )
            client = _CLIENTS[key]
        return cast("Self", client)

    @classmethod
    def made(cls, settings: Settings) -> Self | None:
        """Return this process's client for these settings if anybody has asked for it yet."""
        with _MAKING:
            return cast("Self | None", _CLIENTS.get(_key(settings)))

    # -- calls ---------------------------------------------------------------------------------------------------

    def ask(self, node: str, rpc: str, **arguments: Any) -> Any:
        """Ask a node by one of its reads, and return what it answers.

        Raises:
            NodeError: it cannot be asked, or says that the call went wrong.
            Unavailable: the broker is out of reach.
        """
        agent = self._require_agent(node)
        return self._read(node, agent, rpc, arguments, timeout_seconds=self._timeout_seconds)

    def change(self, node: str, rpc: str, operation_id: str, *, wait_seconds: float, **arguments: Any) -> Any:
        """Have a node carry out a mutation, and return its result.

        Doing the same again, under the same id, is harmless: what has succeeded is not done again, what is under way
        is waited for, and what has failed is done again.

        Args:
            node: Which node.
            rpc: What it is to do.
            operation_id: What makes two tries one and the same; another one for anything else.
            wait_seconds: How long to wait for the end.
            arguments: Those of the RPC.

        Raises:
            StillRunning: it was handed over, and is not over yet; it goes on.
            RpcFault: it went wrong.
            NodeError: the node cannot be asked; whether the mutation was or will be carried out is not known.
            Unavailable: the broker is out of reach; as above.
        """
        ends = time.monotonic() + wait_seconds
        agent = self._require_agent(node)
        key = (node, operation_id)
        sent = self._unfinished.get(key)
        request_id = sent.request_id if sent else ""
        found = self._operation(node, agent, operation_id, 0.0, request_id)
        if is_to_be_sent(found.state, time.monotonic() - sent.at if sent else None):
            request_id = self._send(node, rpc, operation_id, arguments)
            found = Operation(state=OperationState.UNKNOWN)
        was_interrupted = False
        while not found.over:
            patience = ends - time.monotonic()
            if patience <= 0:
                raise StillRunning(
                    node, f"{rpc} on node {node!r} is not over after {wait_seconds:g} s; it goes on"
                )
            found = self._operation(node, agent, operation_id, min(patience, LOOK_SECONDS), request_id)
            if found.state is OperationState.INTERRUPTED:
                if was_interrupted:
                    # Not again at once: its agent dies of it, or its disk is full and no end is written down.
                    raise StillRunning(
                        node, f"{rpc} on node {node!r} was interrupted twice; it is tried again"
                    )
                # Its agent has died in the middle, and this is the next one.
                was_interrupted = True
                request_id = self._send(node, rpc, operation_id, arguments)
        self._unfinished.forget(key)
        return _result_in(node, found)

    def outcome(self, node: str, operation_id: str, wait_seconds: float = 0.0) -> Operation:
        """Return how far a mutation is, after waiting so long at most until it is over; nothing is begun.

        Raises:
            NodeError: the node cannot be asked.
            Unavailable: the broker is out of reach.
        """
        agent = self._require_agent(node)
        return self._operation(node, agent, operation_id, wait_seconds)

    # -- state ---------------------------------------------------------------------------------------------------

    def snapshot(self, node: str, request: SnapshotRequest, **how: Any) -> Snapshot:
        """Return what a node said of itself, now or within the cache's time; see the cache for ``how``."""
        return self.cache.snapshot(node, request, **how)

    def snapshot_many(
        self, nodes: Iterable[str], request: SnapshotRequest, **how: Any
    ) -> Mapping[str, Snapshot | NodeError]:
        """Return for each node what it said of itself, or why it cannot be told."""
        return self.cache.snapshot_many(nodes, request, **how)

    def fetch(self, node: str, request: SnapshotRequest, timeout_seconds: float, /) -> Snapshot:
        """Ask a node what it is and what runs on it, whatever is remembered, and remember nothing.

        Raises:
            NodeError: it cannot be asked, or does not answer.
            Unavailable: the broker is out of reach.
        """
        self._require_agent(node)
        return fetch_snapshot(self._transport, node, request, timeout_seconds)

    def node_info(
        self,
        node: str,
        storage_units: Iterable[StorageSection] = (),
        hypervisors: Iterable[HypervisorSection] = (),
    ) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
        """Return a node's boot id, its storage units in the order of the question, and what hypervisors say of it.

        Raises:
            NodeError: the node cannot be asked, or cannot tell one of the things that are asked for.
        """
        units, kinds = tuple(storage_units), tuple(hypervisors)
        request = SnapshotRequest(hypervisors=frozenset(kinds), storage=frozenset(units), bootid=True)
        return as_node_info(self.snapshot(node, request), units, kinds)

    def instance_info(self, node: str, name: str, hypervisor: HypervisorSection) -> dict[str, Any]:
        """Return memory (MiB), vcpus, state and time (seconds) of an instance; nothing of one that is not there.

        Raises:
            NodeError: the node, or its hypervisor, cannot tell.
        """
        return self.all_instances_info(node, [hypervisor]).get(name, {})

    def all_instances_info(
        self, node: str, hypervisors: Iterable[HypervisorSection]
    ) -> dict[str, dict[str, Any]]:
        """Return memory (MiB), vcpus, state and time (seconds) of the instances of some hypervisors, by their names.

        Raises:
            NodeError: the node, or one of the hypervisors, cannot tell; or two of them have an instance of the same
                name with other memory or other vcpus.
        """
        kinds = tuple(hypervisors)
        return as_instances(self.snapshot(node, SnapshotRequest(hypervisors=frozenset(kinds))), kinds)

    def leases(self) -> Mapping[str, Lease]:
        """Return the nodes that have an agent at the moment, and what their agents say of themselves.

        Raises:
            LeasesUnknown: nobody can tell.
        """
        if self._local is not None:
            return {LOCAL_NODE: self._local()}
        try:
            return self.cache.leases()
        except StateStoreFailed as error:
            raise LeasesUnknown(f"the node state cache does not answer: {error}") from error

    def close(self) -> None:
        """Let go of connections; whoever asks for a client of these settings again gets another."""
        with _MAKING:
            for key in [key for key, client in _CLIENTS.items() if client is self]:
                del _CLIENTS[key]
        self._transport.close()
        self.cache.close()

    # -- within --------------------------------------------------------------------------------------------------

    def _require_agent(self, node: str) -> str:
        """Return which agent a node has; empty: it is not known. One that has none is refused without asking it.

        Raises:
            NodeError: it has none, or one of another version.
        """
        if self._local is not None:
            if node != LOCAL_NODE:
                sentence = f"there is no node {node!r}: without a broker there is {LOCAL_NODE!r} alone"
                raise NoSuchNode(node, sentence)
            return ""
        try:
            lease = self.cache.lease(node)
            names = frozenset() if lease else self.cache.store.names()
        except StateStoreFailed:
            # Whoever does not know asks the node.
            return ""
        if lease is not None:
            check_schema(node, lease.schema)
            self._silences.refuse(node, lease.incarnation)
            return lease.incarnation
        if node in names:
            raise NodeUnreachable(node, f"node {node!r} is unreachable: no agent holds its lease")
        # Of a name that nobody knows the store may have lost what it knew: who is there answers.
        return ""

    def _read(
        self, node: str, agent: str, rpc: str, arguments: Mapping[str, Any], *, timeout_seconds: float
    ) -> Any:
        request = make_request(node, rpc, arguments, timeout_seconds=timeout_seconds)
        try:
            reply = self._transport.read(request, timeout_seconds=timeout_seconds)
        except NodeTimeout as error:
            self._silences.note(node, agent, error)
            raise
        self._silences.end(node)
        self.cache.seen(node, reply.incarnation, reply.boot_id)
        return result_of(reply)

    def _operation(
        self, node: str, agent: str, operation_id: str, wait_seconds: float, request_id: str = ""
    ) -> Operation:
        arguments = {"operation_id": operation_id, "wait_seconds": wait_seconds, "request_id": request_id}
        timeout_seconds = wait_seconds + self._timeout_seconds
        return Operation.from_wire(
            self._read(node, agent, OPERATION_RPC, arguments, timeout_seconds=timeout_seconds)
        )

    def _send(self, node: str, rpc: str, operation_id: str, arguments: Mapping[str, Any]) -> str:
        known = load_rpcs().get(rpc)
        # The agent may know one that is not installed here.
        timeout_seconds = known.timeout_seconds if known else FAST
        request = make_request(
            node, rpc, arguments, timeout_seconds=timeout_seconds, operation_id=operation_id
        )
        self._transport.send(request)
        self._unfinished.note((node, operation_id), request.id)
        return request.id


def _result_in(node: str, found: Operation) -> Any:
    if found.error is not None:
        raise error_of(node, found.error)
    return found.result
