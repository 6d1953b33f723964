"""Messages between agents and their clients, packed with msgpack: Request, Reply, Fault."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from cache.node_state.requests import SCHEMA_VERSION

#: The Celery task of a mutation, on the queue of its machine.
NODE_TASK: Final = "node.call"


def node_queue(node: str) -> str:
    """Return the name of the queue of a machine's mutations."""
    return f"node.{node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of an RPC on a machine."""

    id: str
    node: str
    rpc: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: The idempotency key of a mutation: the same for redeliveries and for retries.
    operation_id: str = ""
    #: Seconds since the epoch; agents drop the request after it.
    deadline: float

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        wire = {name: getattr(self, name) for name in self.__slots__}
        return {**wire, "arguments": dict(self.arguments)}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            TypeError: a field is missing or unknown.
        """
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error on a machine."""

    #: A key of :data:`orchestrator.nodes.rpc.errors.FAULTS`.
    kind: str
    #: The message for users; holds no secret.
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An agent's reply to a read or a mutation."""

    id: str
    node: str
    #: The incarnation of the agent, and the machine's boot id.
    incarnation: str
    boot_id: str
    #: How many mutations it has begun, and how many are under way.
    seq: int
    inflight: int
    #: Seconds since the epoch by the node's clock, when it began; how long it took.
    taken_at: float
    duration_seconds: float
    schema: int = SCHEMA_VERSION
    result: Any = None
    error: Fault | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        wire = {name: getattr(self, name) for name in self.__slots__}
        if self.error is not None:
            wire["error"] = [self.error.kind, self.error.message]
        return wire

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            TypeError: a field is missing or unknown.
        """
        error = data.get("error")
        return cls(**{**data, "error": Fault(kind=error[0], message=error[1]) if error else None})
