"""One RPC call: makes the request, and the result or error of the reply."""

import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

from cache.node_state.errors import NodeError, SchemaMismatch
from cache.node_state.requests import SCHEMA_VERSION, MachineState, MachineStateRequest, Section
from orchestrator.nodes.rpc.errors import FAULTS, RpcFailed
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.transport import Transport

#: The names of the RPCs that the engine itself calls.
MACHINE_STATE_RPC: Final = "node_snapshot"
VERSION_RPC: Final = "node_version"
OPERATION_RPC: Final = "operation"


def make_request(
    node: str, rpc: str, arguments: Mapping[str, object], *, timeout_seconds: float, operation_id: str = ""
) -> Request:
    """Return a request whose deadline is ``timeout_seconds`` from now."""
    return Request(
        id=uuid.uuid4().hex,
        node=node,
        rpc=rpc,
        arguments=arguments,
        operation_id=operation_id,
        deadline=time.time() + timeout_seconds,
    )


def result_of(reply: Reply) -> Any:
    """Return the result of a reply.

    Raises:
        SchemaMismatch: the agent has another schema version.
        RpcFault: the call failed on the machine.
    """
    check_schema(reply.node, reply.schema)
    if reply.error is not None:
        raise error_of(reply.node, reply.error)
    return reply.result


def fetch_machine_state(
    transport: Transport, node: str, request: MachineStateRequest, timeout_seconds: float
) -> MachineState:
    """Query a machine's state.

    Raises:
        NodeError: it does not answer, or has another schema version.
        Unavailable: the broker is out of reach.
    """
    call = make_request(
        node, MACHINE_STATE_RPC, {"request": request.to_wire()}, timeout_seconds=timeout_seconds
    )
    reply = transport.read(call, timeout_seconds=timeout_seconds)
    result = result_of(reply)
    return MachineState(
        node=node,
        taken_at=reply.taken_at,
        incarnation=reply.incarnation,
        boot_id=reply.boot_id,
        sections={key: Section.from_wire(each) for key, each in result["sections"].items()},
        unsettled=bool(result["unsettled"]),
    )


def check_schema(node: str, schema: int) -> None:
    """Refuse an agent of another schema version.

    Raises:
        SchemaMismatch: the versions differ.
    """
    if schema != SCHEMA_VERSION:
        sentence = f"the agent of node {node!r} speaks version {schema} of the schema, this is version {SCHEMA_VERSION}"
        raise SchemaMismatch(node, sentence)


def error_of(node: str, fault: Fault) -> NodeError:
    """Return the exception of a fault that an agent reported."""
    return FAULTS.get(fault.kind, RpcFailed)(node, fault.message)
