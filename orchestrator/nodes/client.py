"""How everybody but agents speaks to nodes: one client for a process and its settings."""

import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from cache.node_state.errors import NodeError, SchemaMismatch, SectionFailed
from cache.node_state.requests import (
    BOOTID_KEY,
    INSTANCES_DATA,
    NODE_DATA,
    SCHEMA_VERSION,
    HypervisorSection,
    Section,
    Snapshot,
    SnapshotRequest,
    StorageSection,
)
from orchestrator.nodes.errors import FAULTS, RpcFailed, StillRunning
from orchestrator.nodes.messages import Fault, Reply, Request
from orchestrator.nodes.old_shapes import instance_fields, node_fields, ok_data
from orchestrator.nodes.operations import Operation, OperationState
from orchestrator.nodes.registry import FAST, load_rpcs
from orchestrator.nodes.transport import Transport
from orchestrator.nodes.unfinished import Unfinished, is_to_be_sent

#: The RPCs that the client itself calls.
SNAPSHOT_RPC: Final = "node_snapshot"
OPERATION_RPC: Final = "operation"
#: How long one question for an operation waits at the agent.
LOOK_SECONDS: Final = 5.0


def make_request(
    node: str, rpc: str, arguments: Mapping[str, Any], *, timeout_seconds: float, operation_id: str = ""
) -> Request:
    """Return a request that is of use for so long."""
    return Request(
        id=uuid.uuid4().hex,
        node=node,
        rpc=rpc,
        arguments=arguments,
        operation_id=operation_id,
        deadline=time.time() + timeout_seconds,
    )


def result_of(reply: Reply) -> Any:
    """Return what an agent answered.

    Raises:
        SchemaMismatch: it speaks another version.
        RpcFault: it answered that the call went wrong.
    """
    if reply.schema != SCHEMA_VERSION:
        sentence = (
            f"node {reply.node!r} speaks version {reply.schema} of what nodes answer, not {SCHEMA_VERSION}"
        )
        raise SchemaMismatch(reply.node, sentence)
    if reply.error is not None:
        raise _fault(reply.node, reply.error)
    return reply.result


def fetch_snapshot(
    transport: Transport, node: str, request: SnapshotRequest, timeout_seconds: float
) -> Snapshot:
    """Ask a node what it is and what runs on it.

    Raises:
        NodeError: it does not answer, or not as is understood here.
        Unavailable: the broker is out of reach.
    """
    call = make_request(node, SNAPSHOT_RPC, {"request": request.to_wire()}, timeout_seconds=timeout_seconds)
    reply = transport.read(call, timeout_seconds=timeout_seconds)
    result = result_of(reply)
    return Snapshot(
        node=node,
        taken_at=reply.taken_at,
        incarnation=reply.incarnation,
        boot_id=reply.boot_id,
        sections={key: Section.from_wire(each) for key, each in result["sections"].items()},
        unsettled=bool(result["unsettled"]),
    )


class StateCache(Protocol):
    """What a client needs of :class:`cache.node_state.cache.NodeStateCache`."""

    def snapshot(self, node: str, request: SnapshotRequest, **how: Any) -> Snapshot:
        """Return what a node said of itself."""

    def snapshot_many(
        self, nodes: Iterable[str], request: SnapshotRequest, **how: Any
    ) -> Mapping[str, Snapshot | NodeError]:
        """Return what nodes said of themselves."""

    def leases(self) -> Mapping[str, Any]:
        """Return who is there."""


class NodeClient:
    """Asks nodes, has them changed, and remembers what they said; safe for threads."""

    def __init__(self, transport: Transport, cache: StateCache, *, timeout_seconds: float) -> None:
        """Make a client.

        Args:
            transport: How requests get to agents.
            cache: What is remembered of nodes, and who holds their leases.
            timeout_seconds: An agent that does not answer a question within so long is taken for unreachable.
        """
        self.cache = cache
        self._transport = transport
        self._timeout_seconds = timeout_seconds
        self._unfinished = Unfinished()

    # -- calls ---------------------------------------------------------------------------------------------------

    def ask(self, node: str, rpc: str, **arguments: Any) -> Any:
        """Ask a node by one of its reads, and return what it answers.

        Raises:
            NodeError: it cannot be asked, or says that the call went wrong.
            Unavailable: the broker is out of reach.
        """
        return self._read(node, rpc, arguments, timeout_seconds=self._timeout_seconds)

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
        key = (node, operation_id)
        sent = self._unfinished.get(key)
        request_id = sent.request_id if sent else ""
        found = self._operation(node, operation_id, 0.0, request_id)
        if is_to_be_sent(found.state, time.monotonic() - sent.at if sent else None):
            request_id = self._send(node, rpc, operation_id, arguments)
            found = Operation(state=OperationState.UNKNOWN)
        while not found.over:
            patience = ends - time.monotonic()
            if patience <= 0:
                raise StillRunning(
                    node, f"{rpc} on node {node!r} is not over after {wait_seconds:g} s; it goes on"
                )
            found = self._operation(node, operation_id, min(patience, LOOK_SECONDS), request_id)
            if found.state is OperationState.INTERRUPTED:
                # Its agent has died in the middle, and this is the next one.
                request_id = self._send(node, rpc, operation_id, arguments)
        self._unfinished.forget(key)
        return _result_in(node, found)

    def outcome(self, node: str, operation_id: str, wait_seconds: float = 0.0) -> Operation:
        """Return how far a mutation is, after waiting so long at most until it is over; nothing is begun.

        Raises:
            NodeError: the node cannot be asked.
            Unavailable: the broker is out of reach.
        """
        return self._operation(node, operation_id, wait_seconds)

    # -- state ---------------------------------------------------------------------------------------------------

    def snapshot(self, node: str, request: SnapshotRequest, **how: Any) -> Snapshot:
        """Return what a node said of itself, now or within the cache's time; see the cache for ``how``."""
        return self.cache.snapshot(node, request, **how)

    def snapshot_many(
        self, nodes: Iterable[str], request: SnapshotRequest, **how: Any
    ) -> Mapping[str, Snapshot | NodeError]:
        """Return for each node what it said of itself, or why it cannot be told."""
        return self.cache.snapshot_many(nodes, request, **how)

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
        snapshot = self.snapshot(node, request)
        return (
            str(ok_data(snapshot, BOOTID_KEY)),
            [dict(ok_data(snapshot, unit.key)) for unit in units],
            [node_fields(ok_data(snapshot, kind.key)[NODE_DATA]) for kind in kinds],
        )

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
        snapshot = self.snapshot(node, SnapshotRequest(hypervisors=frozenset(kinds)))
        found: dict[str, dict[str, Any]] = {}
        for kind in kinds:
            for name, data in ok_data(snapshot, kind.key)[INSTANCES_DATA].items():
                fields = instance_fields(data)
                other = found.setdefault(name, fields)
                if any(other[field] != fields[field] for field in ("memory", "vcpus")):
                    sentence = (
                        f"node {node!r} has instance {name!r} under two hypervisors that differ over it"
                    )
                    raise SectionFailed(node, sentence)
        return found

    def leases(self) -> Mapping[str, Any]:
        """Return the nodes that have an agent at the moment, and what their agents say of themselves."""
        return self.cache.leases()

    def close(self) -> None:
        """Let go of connections."""
        self._transport.close()

    # -- within --------------------------------------------------------------------------------------------------

    def _read(self, node: str, rpc: str, arguments: Mapping[str, Any], *, timeout_seconds: float) -> Any:
        request = make_request(node, rpc, arguments, timeout_seconds=timeout_seconds)
        return result_of(self._transport.read(request, timeout_seconds=timeout_seconds))

    def _operation(
        self, node: str, operation_id: str, wait_seconds: float, request_id: str = ""
    ) -> Operation:
        arguments = {"operation_id": operation_id, "wait_seconds": wait_seconds, "request_id": request_id}
        timeout_seconds = wait_seconds + self._timeout_seconds
        return Operation.from_wire(
            self._read(node, OPERATION_RPC, arguments, timeout_seconds=timeout_seconds)
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
        raise _fault(node, found.error)
    return found.result


def _fault(node: str, fault: Fault) -> NodeError:
    return FAULTS.get(fault.kind, RpcFailed)(node, fault.message)
