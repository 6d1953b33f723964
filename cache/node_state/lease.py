"""What an agent says of itself as long as it is there."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import msgpack

from cache.node_state.requests import SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who a node is: what does not change as long as its agent runs, and is known without asking it."""

    node: str
    #: Which agent: a new one with every start.
    incarnation: str
    #: Which boot of the machine.
    boot_id: str
    #: Of what the agent answers.
    schema: int = SCHEMA_VERSION
    #: Where the agent runs, for people: host and process.
    holder: str = ""
    #: What is said of the node for placement, such as its rack.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The names of the hypervisors that it offers.
    hypervisors: tuple[str, ...] = ()
    #: The storage units that it offers: type by name.
    storage: Mapping[str, str] = field(default_factory=dict)
    #: What the machine has: ``memory_mib`` and ``vcpus``.
    totals: Mapping[str, int] = field(default_factory=dict)
    #: Memory that is left to the machine itself.
    reserved_memory_mib: int = 0
    #: So much of what there is may be promised.
    memory_ratio: float = 1.0
    vcpu_ratio: float = 1.0

    def to_bytes(self) -> bytes:
        """Return what :meth:`from_bytes` rebuilds."""
        packed: bytes = msgpack.packb(asdict(self))
        return packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self:
        """Rebuild; what another version says of itself beyond this is left out.

        Raises:
            ValueError: that is no lease.
        """
        try:
            said: dict[str, Any] = msgpack.unpackb(packed)
            known = {name: said[name] for name in cls.__slots__ if name in said}
            return cls(**{**known, "hypervisors": tuple(known.get("hypervisors", ()))})
        except (TypeError, KeyError, msgpack.UnpackException) as error:
            raise ValueError("that is no lease") from error
