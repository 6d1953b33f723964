"""How what a node said is kept: section by section, so that nobody unpacks what is not asked for."""

import marshal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self

import msgpack

from cache.node_state.requests import ABSENT, OK, SCHEMA_VERSION, Section, Snapshot, SnapshotRequest

#: Of so many sections this process keeps what is copied fast.
_MOST_COPIED: Final = 128
#: So many sections beyond what the node itself tells are asked for again because somebody asked for them once.
_MOST_NAMED: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a node said, as far as it may be served."""

    taken_at: float
    incarnation: str
    boot_id: str
    #: What was named when it was asked.
    request: SnapshotRequest
    #: Whether it holds everything that the node has.
    complete: bool
    #: The data of ok sections by key, packed.
    sections: Mapping[str, bytes]

    @classmethod
    def of(cls, snapshot: Snapshot, request: SnapshotRequest) -> Self:
        """Return what is kept of a snapshot that was asked for by ``request``: its ok sections."""
        ok = {key: each.data for key, each in snapshot.sections.items() if each.status == OK}
        failed = any(each.status not in (OK, ABSENT) for each in snapshot.sections.values())
        return cls(
            taken_at=snapshot.taken_at,
            incarnation=snapshot.incarnation,
            boot_id=snapshot.boot_id,
            request=request,
            complete=request.everything and not failed,
            sections={key: msgpack.packb(data) for key, data in ok.items()},
        )

    def fulfils(self, request: SnapshotRequest) -> bool:
        """Whether it holds all that is asked for."""
        return (self.complete or not request.everything) and request.keys <= self.sections.keys()

    def snapshot(self, node: str, request: SnapshotRequest, *, age_seconds: float, stale: bool) -> Snapshot:
        """Return what is asked for of what it holds; the caller may change what it is given."""
        wanted = self.sections.keys() if request.everything else self.sections.keys() & request.keys
        return Snapshot(
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
        """Return what :meth:`from_bytes` rebuilds."""
        head = [SCHEMA_VERSION, self.taken_at, self.incarnation, self.boot_id, self.complete]
        packed: bytes = msgpack.packb([*head, self.request.to_wire(), dict(self.sections)])
        return packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self | None:
        """Rebuild; None if that is no entry, or one of another version."""
        try:
            schema, taken_at, incarnation, boot_id, complete, request, sections = msgpack.unpackb(packed)
            if schema != SCHEMA_VERSION:
                return None
            return cls(
                taken_at=taken_at,
                incarnation=incarnation,
                boot_id=boot_id,
                request=SnapshotRequest.from_wire(request),
                complete=complete,
                sections=sections,
            )
        except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
            return None


def _own_copy(packed: bytes) -> Any:
    """Return what is packed, as objects that nobody else has."""
    fast = _to_be_copied(packed)
    # Nothing but what this very process wrote a moment ago, and keeps in its own memory.
    return msgpack.unpackb(packed, strict_map_key=False) if fast is None else marshal.loads(fast)  # noqa: S302


@lru_cache(maxsize=_MOST_COPIED)
def _to_be_copied(packed: bytes) -> bytes | None:
    """Return the same in the interpreter's own form, which is read in half the time; None where it has none."""
    try:
        return marshal.dumps(msgpack.unpackb(packed, strict_map_key=False))
    except ValueError:
        return None


def joined(request: SnapshotRequest, other: SnapshotRequest) -> SnapshotRequest:
    """Return a request for what either names; for the first alone where that were too much."""
    both = SnapshotRequest(
        hypervisors=request.hypervisors | other.hypervisors,
        storage=request.storage | other.storage,
        bootid=request.bootid or other.bootid,
        everything=request.everything or other.everything,
    )
    return both if len(both.keys) <= _MOST_NAMED else request


def only(snapshot: Snapshot, request: SnapshotRequest) -> Mapping[str, Section]:
    """Return those sections of a snapshot that are asked for."""
    if request.everything:
        return snapshot.sections
    sections: dict[str, Any] = {
        key: section for key, section in snapshot.sections.items() if key in request.keys
    }
    return sections
