"""Client of machines: calls read RPCs, sends mutations, and reads cached states; one per process and settings."""

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
    MachineState,
    MachineStateRequest,
    StorageSection,
)
from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.calls import (
    OPERATION_RPC,
    check_schema,
    error_of,
    fetch_machine_state,
    make_request,
    result_of,
)
from orchestrator.nodes.rpc.errors import LeasesUnknown, StillRunning
from orchestrator.nodes.rpc.info_queries import as_instances, as_node_info
from orchestrator.nodes.rpc.joining import join
from orchestrator.nodes.rpc.operations import Operation, OperationState
from orchestrator.nodes.rpc.registry import FAST, load_rpcs
from orchestrator.nodes.rpc.requester import REQUESTER
from orchestrator.nodes.rpc.silence import Silences
from orchestrator.nodes.rpc.transport import Transport
from orchestrator.nodes.rpc.unfinished import Unfinished, is_to_be_sent
from orchestrator.plugins.machine_requirements import LOCAL_NODE

#: How long one query of an operation waits at the agent.
LOOK_SECONDS: Final = 2.0

_MAKING: Final = threading.Lock()
#: The clients of this process. Threads and connections do not survive a fork.
#: The settings that a client uses, besides the keys.
_USED: Final = (
    *("broker_url", "cache_backend", "cache_url", "state_directory", "node_directories"),
    *("node_state_cache", "agent", "job_lease_seconds"),
)
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
    values = settings.to_dict()
    return (
        *(repr(values[name]) for name in _USED),
        *(key.get_secret_value() for key in settings.encryption_keys),
    )


class NodeClient:
    """Queries and changes machines, and caches their states; thread-safe."""

    def __init__(
        self,
        transport: Transport,
        cache: NodeStateCache,
        *,
        timeout_seconds: float,
        local: Callable[[], Lease] | None = None,
    ) -> None:
        """Make a client; ``local`` returns the lease of the agent in this process, if it has one."""
        self.cache = cache
        self._transport = transport
        self._timeout_seconds = timeout_seconds
        self._local = local
        self._unfinished = Unfinished()
        self._silences = Silences()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return this process's client for these settings, made at the first call.

        Without a broker it has an agent of its own, called ``local``.

        Raises:
            InvalidInput: no machine-state store can be made of the settings.
            Unavailable: the machine-state store does not answer.
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
        """Return this process's client for these settings; None if :meth:`of` was not called yet."""
        with _MAKING:
            return cast("Self | None", _CLIENTS.get(_key(settings)))

    # -- calls ---------------------------------------------------------------------------------------------------

    def ask(self, node: str, rpc: str, **arguments: Any) -> Any:
        """Call a read RPC of a machine, and return its result.

        ``arguments`` may have a :class:`Requester` on the wire (:data:`REQUESTER`); an agent that takes none gets none.

        Raises:
            NodeError: the machine is unreachable, or the call failed on it.
            Unavailable: the broker is out of reach.
        """
        agent, takes_requester = self._require_agent(node)
        arguments = _taken(arguments, takes_requester)
        return self._read(node, agent, rpc, arguments, timeout_seconds=self._timeout_seconds)

    def change(self, node: str, rpc: str, operation_id: str, *, wait_seconds: float, **arguments: Any) -> Any:
        """Call a mutating RPC of a machine, and return its result. Idempotent by ``operation_id``.

        Under the same id, a mutation that has succeeded is not repeated, one that is running is waited for, and one
        that has failed is repeated.

        Args:
            node: The machine's name.
            rpc: The name of the RPC.
            operation_id: The id of the operation, the same for every retry of it.
            wait_seconds: How long to wait for the end.
            arguments: The arguments of the RPC, and perhaps the requester, as of :meth:`ask`.

        Raises:
            StillRunning: the mutation was sent and has not ended yet; it goes on.
            RpcFault: the mutation failed.
            NodeError: the machine is unreachable; whether the mutation was or will be carried out is unknown.
            Unavailable: the broker is out of reach; as above.
        """
        ends = time.monotonic() + wait_seconds
        agent, takes_requester = self._require_agent(node)
        arguments = _taken(arguments, takes_requester)
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
                    # Not sent a third time at once: it may crash the agent, or the agent cannot write its journal.
                    raise StillRunning(
                        node, f"{rpc} on node {node!r} was interrupted twice; it is tried again"
                    )
                # The agent died during it, and this is its successor.
                was_interrupted = True
                request_id = self._send(node, rpc, operation_id, arguments)
        self._unfinished.forget(key)
        if found.error is not None:
            raise error_of(node, found.error)
        return found.result

    def outcome(self, node: str, operation_id: str, wait_seconds: float = 0.0) -> Operation:
        """Return the state of a mutation, after waiting at most ``wait_seconds`` for its end; begins nothing.

        Raises:
            NodeError: the machine is unreachable.
            Unavailable: the broker is out of reach.
        """
        agent, _ = self._require_agent(node)
        return self._operation(node, agent, operation_id, wait_seconds)

    # -- state ---------------------------------------------------------------------------------------------------

    def machine_state(self, node: str, request: MachineStateRequest, **how: Any) -> MachineState:
        """Return a machine's state, cached or queried; ``how`` goes to the cache.

        Raises:
            NodeError: the state cannot be read.
        """
        return self.cache.machine_state(node, request, **how)

    def machine_states(
        self, nodes: Iterable[str], request: MachineStateRequest, **how: Any
    ) -> Mapping[str, MachineState | NodeError]:
        """Return for each machine its state, or why it cannot be read."""
        return self.cache.machine_states(nodes, request, **how)

    def fetch(self, node: str, request: MachineStateRequest, timeout_seconds: float, /) -> MachineState:
        """Query a machine's state, bypassing the cache.

        Raises:
            NodeError: the machine is unreachable.
            Unavailable: the broker is out of reach.
        """
        self._require_agent(node)
        return fetch_machine_state(self._transport, node, request, timeout_seconds)

    def node_info(
        self,
        node: str,
        storage_units: Iterable[StorageSection] = (),
        hypervisors: Iterable[HypervisorSection] = (),
    ) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
        """Return a machine's boot id, its storage units in the order given, and its hypervisors' data of it.

        Raises:
            NodeError: the machine is unreachable, or a storage unit or hypervisor is not ok.
        """
        units, kinds = tuple(storage_units), tuple(hypervisors)
        request = MachineStateRequest(hypervisors=frozenset(kinds), storage=frozenset(units), bootid=True)
        return as_node_info(self.machine_state(node, request), units, kinds)

    def instance_info(self, node: str, name: str, hypervisor: HypervisorSection) -> dict[str, Any]:
        """Return memory (MiB), vcpus, state and time (seconds) of an instance; empty if it does not exist.

        Raises:
            NodeError: the machine is unreachable, or its hypervisor is not ok.
        """
        return self.all_instances_info(node, [hypervisor]).get(name, {})

    def all_instances_info(
        self, node: str, hypervisors: Iterable[HypervisorSection]
    ) -> dict[str, dict[str, Any]]:
        """Return memory (MiB), vcpus, state and time (seconds) of the instances of some hypervisors, by their names.

        Raises:
            NodeError: the machine is unreachable, a hypervisor is not ok, or two of them have an instance of the same
                name with different memory or vcpus.
        """
        kinds = tuple(hypervisors)
        return as_instances(
            self.machine_state(node, MachineStateRequest(hypervisors=frozenset(kinds))), kinds
        )

    def leases(self) -> Mapping[str, Lease]:
        """Return the leases of running agents, by machine.

        Raises:
            LeasesUnknown: the machine-state store does not answer.
        """
        if self._local is not None:
            return {LOCAL_NODE: self._local()}
        try:
            return self.cache.leases()
        except StateStoreFailed as error:
            raise LeasesUnknown(f"the node state cache does not answer: {error}") from error

    def close(self) -> None:
        """Close connections; :meth:`of` makes a new client afterwards."""
        with _MAKING:
            for key in [key for key, client in _CLIENTS.items() if client is self]:
                del _CLIENTS[key]
        self._transport.close()
        self.cache.close()

    # -- within --------------------------------------------------------------------------------------------------

    def _require_agent(self, node: str) -> tuple[str, bool]:
        """Return the incarnation of a machine's agent, "" if it is unknown, and whether it takes requesters."""
        if self._local is not None:
            if node != LOCAL_NODE:
                sentence = f"there is no node {node!r}: without a broker there is {LOCAL_NODE!r} alone"
                raise NoSuchNode(node, sentence)
            return "", True
        try:
            lease = self.cache.lease(node)
            names = frozenset() if lease else self.cache.store.names()
        except StateStoreFailed:
            # Without the store, the request itself shows whether an agent runs.
            return "", True
        if lease is not None:
            check_schema(node, lease.schema)
            self._silences.refuse(node, lease.incarnation)
            return lease.incarnation, lease.keeps_owners
        if node in names:
            raise NodeUnreachable(node, f"node {node!r} is unreachable: no agent holds its lease")
        # The store may have lost an unknown name: the request itself shows whether an agent runs.
        return "", True

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

    def _send(self, node: str, rpc: str, operation_id: str, arguments: Mapping[str, object]) -> str:
        known = load_rpcs().get(rpc)
        # The agent may have RPCs that are not installed here.
        timeout_seconds = known.timeout_seconds if known else FAST
        request = make_request(
            node, rpc, arguments, timeout_seconds=timeout_seconds, operation_id=operation_id
        )
        self._transport.send(request)
        self._unfinished.note((node, operation_id), request.id)
        return request.id


def _taken(arguments: dict[str, Any], takes_requester: bool) -> dict[str, Any]:
    """Return the arguments as an agent takes them: one of an earlier version knows no requesters."""
    if takes_requester:
        return arguments
    return {name: value for name, value in arguments.items() if name != REQUESTER}
