"""Messages between agents and their clients, packed with msgpack: Request, Reply, Fault."""

import time
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Self

from cache.node_state.requests import SCHEMA_VERSION
from hooks.values.dataclass import dataclass


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
    #: Seconds since the epoch by the sender's clock; agents drop the request after it.
    deadline: float
    #: Instead of the deadline, where it is known: when the request expires, in seconds since this machine booted.
    expires_at: float | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        wire = {name: getattr(self, name) for name in self.__slots__ if name != "expires_at"}
        return {**wire, "arguments": dict(self.arguments)}

    def life(self, now: float | None) -> dict[str, float]:
        """Return the remaining time of a request that is being sent, to travel beside it; agents of old ignore it.

        ``now`` is the time by a clock that its agent can read too; None: there is none, and the deadline counts.
        """
        return {} if now is None else {"sent_at": now, "lifetime_seconds": self.deadline - time.time()}

    def received(self, life: Mapping[str, Any], now: float | None) -> Self:
        """Return a request that has just come, with the time that :meth:`life` leaves it at ``now``."""
        sent_at, lifetime_seconds = life.get("sent_at"), life.get("lifetime_seconds")
        if now is None or not isinstance(sent_at, float) or not isinstance(lifetime_seconds, float):
            return self
        left = lifetime_seconds - max(0.0, now - sent_at)
        return replace(self, expires_at=_boot_seconds() + left)

    def seconds_left(self, wall_clock: float) -> float:
        """Return for how long the request is still valid; ``wall_clock`` is this machine's."""
        return self.deadline - wall_clock if self.expires_at is None else self.expires_at - _boot_seconds()

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


def _boot_seconds() -> float:
    # It counts while the machine is suspended, and cannot be set.
    return time.clock_gettime(time.CLOCK_BOOTTIME)
