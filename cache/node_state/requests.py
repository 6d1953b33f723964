"""Requests for a machine's state, and the sections of the reply.

Units are those of the whole project: MiB, seconds, counts. Fields are described in docs/nodes.md.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

#: Version of agents' replies; a reply of another version is not used.
SCHEMA_VERSION: Final = 1

#: The three kinds of sections that can be requested, as keys of a request.
CACHE_REQ_HV: Final = "hv"
CACHE_REQ_DISKINFO: Final = "disk"
CACHE_REQ_BOOTID: Final = "bootid"

#: The two parts of a hypervisor's data.
NODE_DATA: Final = "_NODE_DATA"
INSTANCES_DATA: Final = "_INSTANCES_DATA"

#: A section's status; only ok ones are stored.
OK: Final = "ok"
ERROR: Final = "error"
TIMEOUT: Final = "timeout"
#: The node has no such hypervisor or storage unit.
ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True, order=True)
class HypervisorSection:
    """A request for one hypervisor of a machine: the machine as it sees it, and its instances."""

    type: str
    #: The hypervisor's parameters as sorted JSON; other parameters are another section.
    parameters: str = "{}"

    @classmethod
    def of(cls, kind: str, parameters: Mapping[str, Any] | None = None) -> Self:
        """Return the section of a hypervisor with these parameters."""
        return cls(kind, json.dumps(dict(parameters or {}), sort_keys=True))

    @property
    def key(self) -> str:
        """The section's key in a machine state."""
        return f"hv:{self.type}:{hashlib.sha256(self.parameters.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True, order=True)
class StorageSection:
    """A request for the size and the free space of one storage unit."""

    type: str
    name: str
    #: Whether only whole free physical volumes count (``lvm-vg``): the same name, another meaning of free.
    exclusive: bool = False

    @property
    def key(self) -> str:
        """The section's key in a machine state."""
        return f"disk:{self.type}:{self.name}:{int(self.exclusive)}"


#: The key of the boot id's section.
BOOTID_KEY: Final = "bootid"


@dataclass(frozen=True, slots=True)
class MachineStateRequest:
    """The requested sections of a machine; by default every section that it has."""

    hypervisors: frozenset[HypervisorSection] = field(default_factory=frozenset)
    storage: frozenset[StorageSection] = field(default_factory=frozenset)
    bootid: bool = False
    #: Whether every section that the machine has is requested, besides the named ones.
    everything: bool = False

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the named sections."""
        named = {section.key for section in self.hypervisors} | {unit.key for unit in self.storage}
        return frozenset(named | {BOOTID_KEY} if self.bootid else named)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, which :meth:`from_wire` reads."""
        return {
            CACHE_REQ_HV: [[each.type, each.parameters] for each in sorted(self.hypervisors)],
            CACHE_REQ_DISKINFO: [[each.type, each.name, each.exclusive] for each in sorted(self.storage)],
            CACHE_REQ_BOOTID: self.bootid,
            "everything": self.everything,
        }

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Return the request of plain types."""
        return cls(
            hypervisors=frozenset(HypervisorSection(*each) for each in data.get(CACHE_REQ_HV, ())),
            storage=frozenset(StorageSection(*each) for each in data.get(CACHE_REQ_DISKINFO, ())),
            bootid=bool(data.get(CACHE_REQ_BOOTID, False)),
            everything=bool(data.get("everything", False)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a machine's reported state."""

    #: ok, error, timeout or absent.
    status: str
    #: Of an ok section: plain types. Of a hypervisor ``{_NODE_DATA: {...}, _INSTANCES_DATA: {name: {...}}}``, of
    #: storage ``{"type", "name", "storage_size", "storage_free"}``, of the boot id its text.
    data: Any = None
    #: Of another: why.
    message: str = ""

    def to_wire(self) -> list[Any]:
        """Return plain types, which :meth:`from_wire` reads."""
        return [self.status, self.data, self.message]

    @classmethod
    def from_wire(cls, data: Iterable[Any]) -> Self:
        """Return the section of plain types."""
        status, value, message = data
        return cls(status=status, data=value, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """The state that a machine reported at one moment."""

    node: str
    #: Seconds since the epoch by the machine's clock, when it began to look.
    taken_at: float
    #: The agent's incarnation: a new one with every start.
    incarnation: str
    boot_id: str
    sections: Mapping[str, Section]
    #: Changes were under way during the look: the state is of no single moment, and is not stored.
    unsettled: bool = False
    #: The agent cannot be called now: this is the last known state.
    stale: bool = False
    #: How long ago it was received, in seconds.
    age_seconds: float = 0.0
    #: Whether it was served from the cache.
    cached: bool = False

    def lacks(self, request: MachineStateRequest) -> frozenset[str]:
        """Return the keys of the requested sections that are missing, or not ok."""
        return frozenset(
            key for key in request.keys if key not in self.sections or self.sections[key].status != OK
        )
