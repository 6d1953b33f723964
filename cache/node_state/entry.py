"""Entries: a machine's reported state, packed section by section, so that only requested sections are unpacked."""

import marshal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

import msgpack

from cache.node_state.requests import ABSENT, OK, SCHEMA_VERSION, MachineState, MachineStateRequest, Section

#: The number of sections of which this process keeps a form that is copied fast.
_MOST_COPIED: Final = 128
#: The limit of extra sections that are fetched again because a caller requested them once.
_MOST_NAMED: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A machine's reported state, as far as it may be served."""

    taken_at: float
    incarnation: str
    boot_id: str
    #: The sections that were named when it was fetched.
    request: MachineStateRequest
    #: Whether it holds every section that the machine has.
    complete: bool
    #: The data of ok sections by key, packed.
    sections: Mapping[str, bytes]

    @classmethod
    def of(cls, machine_state: MachineState, request: MachineStateRequest) -> Self:
        """Return the entry of a state that was fetched by ``request``: its ok sections."""
        ok = {key: each.data for key, each in machine_state.sections.items() if each.status == OK}
        failed = any(each.status not in (OK, ABSENT) for each in machine_state.sections.values())
        return cls(
            taken_at=machine_state.taken_at,
            incarnation=machine_state.incarnation,
            boot_id=machine_state.boot_id,
            request=request,
            complete=request.everything and not failed,
            sections={key: msgpack.packb(data) for key, data in ok.items()},
        )

    def fulfils(self, request: MachineStateRequest) -> bool:
        """Return whether it holds every requested section."""
        return (self.complete or not request.everything) and request.keys <= self.sections.keys()

    def machine_state(
        self, node: str, request: MachineStateRequest, *, age_seconds: float, stale: bool
    ) -> MachineState:
        """Return the requested sections; the caller may change the result."""
        wanted = self.sections.keys() if request.everything else self.sections.keys() & request.keys
        return MachineState(
            node=node,
            taken_at=self.taken_at,
            incarnation=self.incarnation,
            boot_id=self.boot_id,
            sections={key: Section(status=OK, data=_own_copy(self.sections[key])) for key in wanted},
            stale=stale,
            age_seconds=age_seconds,
            cached=True,
        )

    def to_bytes(self) -> bytes:
        """Return the packed form that :meth:`from_bytes` reads."""
        head = [SCHEMA_VERSION, self.taken_at, self.incarnation, self.boot_id, self.complete]
        packed: bytes = msgpack.packb([*head, self.request.to_wire(), dict(self.sections)])
        return packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self | None:
        """Return the entry that was packed; None for anything else, or another version."""
        try:
            schema, taken_at, incarnation, boot_id, complete, request, sections = msgpack.unpackb(packed)
            if schema != SCHEMA_VERSION:
                return None
            return cls(
                taken_at=taken_at,
                incarnation=incarnation,
                boot_id=boot_id,
                request=MachineStateRequest.from_wire(request),
                complete=complete,
                sections=sections,
            )
        except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
            return None


def _own_copy(packed: bytes) -> object:
    """Return the packed data as new objects, which no other caller has."""
    fast = _to_be_copied(packed)
    # Safe: only what this very process wrote a moment ago, in its own memory.
    return msgpack.unpackb(packed, strict_map_key=False) if fast is None else marshal.loads(fast)  # noqa: S302


@lru_cache(maxsize=_MOST_COPIED)
def _to_be_copied(packed: bytes) -> bytes | None:
    """Return the same in the interpreter's marshal format, which is read in half the time; None if it has none."""
    try:
        return marshal.dumps(msgpack.unpackb(packed, strict_map_key=False))
    except ValueError:
        return None


def joined(request: MachineStateRequest, other: MachineStateRequest) -> MachineStateRequest:
    """Return a request for the sections of both; the first alone where both would be too much."""
    both = MachineStateRequest(
        hypervisors=request.hypervisors | other.hypervisors,
        storage=request.storage | other.storage,
        bootid=request.bootid or other.bootid,
        everything=request.everything or other.everything,
    )
    return both if len(both.keys) <= _MOST_NAMED else request


def only(machine_state: MachineState, request: MachineStateRequest) -> Mapping[str, Section]:
    """Return the sections of a state that are requested."""
    if request.everything:
        return machine_state.sections
    return {key: section for key, section in machine_state.sections.items() if key in request.keys}
