"""The lease of an agent: what it publishes about its machine as long as it runs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import msgpack

from cache.node_state.requests import SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Facts about a machine that do not change while its agent runs, and are known without calling it."""

    node: str
    #: The agent's incarnation: a new one with every start.
    incarnation: str
    #: The machine's boot id.
    boot_id: str
    #: Version of the agent's replies.
    schema: int = SCHEMA_VERSION
    #: Where the agent runs, for display: host and process.
    holder: str = ""
    #: Labels of the machine for placement, such as its rack.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The names of its hypervisors.
    hypervisors: tuple[str, ...] = ()
    #: Its storage units: type by name.
    storage: Mapping[str, str] = field(default_factory=dict)
    #: The machine's capacity: ``memory_mib`` and ``vcpus``.
    totals: Mapping[str, int] = field(default_factory=dict)
    #: Memory reserved for the machine itself.
    reserved_memory_mib: int = 0
    #: Overcommit: how much of each capacity may be reserved, as a factor.
    memory_ratio: float = 1.0
    vcpu_ratio: float = 1.0
    #: How far the machine's clock is ahead of the store's, in seconds; None: it was not measured.
    clock_ahead_seconds: float | None = None
    #: Whether its agent takes the requester of a call, and keeps it as the owner of what it makes.
    keeps_owners: bool = False

    def to_bytes(self) -> bytes:
        """Return the packed form that :meth:`from_bytes` reads."""
        packed: bytes = msgpack.packb(asdict(self))
        return packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self:
        """Return the lease that was packed; unknown fields of another version are ignored.

        Raises:
            ValueError: ``packed`` is no lease.
        """
        try:
            fields: dict[str, Any] = msgpack.unpackb(packed)
            known = {name: fields[name] for name in cls.__slots__ if name in fields}
            return cls(**{**known, "hypervisors": tuple(known.get("hypervisors", ()))})
        except (TypeError, KeyError, msgpack.UnpackException) as error:
            raise ValueError("that is no lease") from error


class Leases(dict[str, Lease]):
    """The leases of running agents, by node, and when each known agent was last heard."""

    def __init__(self, leases: Mapping[str, Lease], heard_seconds: Mapping[str, float]) -> None:
        super().__init__(leases)
        #: How many seconds ago it acquired or renewed its lease, where known; also without a lease now.
        self.heard_seconds = heard_seconds
