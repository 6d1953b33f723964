"""Decide what becomes of a question about a node: an answer out of the cache, a refusal, or a question to the node."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from cache.node_state.entry import Entry
from cache.node_state.errors import (
    NodeError,
    NodeOffline,
    NodeTimeout,
    NodeUnreachable,
    NoSuchNode,
    SchemaMismatch,
)
from cache.node_state.lease import Lease
from cache.node_state.requests import SCHEMA_VERSION, SnapshotRequest
from cache.node_state.store import Failure, Look

#: What nodes that could not be asked are said to have done, by the words in the store.
FAILURES: dict[str, type[NodeUnreachable]] = {"unreachable": NodeUnreachable, "timeout": NodeTimeout}


class Miss(StrEnum):
    """Why the node has to be asked."""

    #: Nothing was kept, or it was too old for the store.
    ABSENT = "absent"
    #: Something else was kept than what is asked for.
    PARTIAL = "partial"
    #: What was kept is void.
    TOKEN = "token"  # noqa: S105  # no secret
    #: A change is under way.
    DIRTY = "dirty"
    #: What was kept is too old.
    AGED = "aged"
    #: Whoever asks wants the node to be asked.
    FORCED = "forced"
    #: The store is out of reach.
    STORE = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An entry that can be served, and how old it is."""

    entry: Entry
    age_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked about a node, and under which conditions an answer will do."""

    node: str
    request: SnapshotRequest
    #: How old it may be.
    max_age_seconds: float
    #: How long the node may take.
    timeout_seconds: float
    #: Whether the node has an agent elsewhere, that holds a lease; False: it is in this process.
    leased: bool = True
    #: Whether a failure a moment ago, or an answer that is kept, is of no interest.
    force: bool = False
    #: Whether what the node said once will do if it cannot be asked.
    allow_stale: bool = False


def refusal(question: Question, look: Look, nearest: Callable[[], str] = lambda: "") -> NodeError | None:
    """Return why the node is not to be asked; None: it may be.

    ``nearest`` gives a hint at what may have been meant by an unknown name.
    """
    node = question.node
    if look.offline:
        return NodeOffline(node, f"node {node!r} is offline: {look.offline}")
    if question.leased and look.lease is None:
        if not look.known:
            return NoSuchNode(node, f"there is no node {node!r}{nearest()}")
        return NodeUnreachable(node, f"node {node!r} is unreachable: no agent holds its lease")
    lease = lease_in(look)
    if question.leased and (lease is None or lease.schema != SCHEMA_VERSION):
        said = "?" if lease is None else lease.schema
        return SchemaMismatch(
            node,
            f"the agent of node {node!r} speaks version {said} of the schema, this is version {SCHEMA_VERSION}",
        )
    return None if look.failure is None or question.force else failed(node, look.failure)


def failed(node: str, failure: Failure) -> NodeUnreachable:
    """Return the error of which a failure tells."""
    return FAILURES.get(failure.kind, NodeUnreachable)(node, failure.message)


def judge(question: Question, look: Look, entry: Entry | None) -> Hit | Miss:
    """Return whether an entry may be served, of a node that may be asked.

    ``entry`` is what ``look`` has kept.
    """
    if look.dirty:
        return Miss.DIRTY
    if look.kept is None or entry is None:
        return Miss.ABSENT
    lease = lease_in(look) if question.leased else None
    # An agent that began since has seen to the token; should it have failed to, this is seen all the same.
    another = lease is not None and lease.incarnation != entry.incarnation
    if look.tokens is None or look.kept.tokens != look.tokens or another:
        return Miss.TOKEN
    age_seconds = look.now - look.kept.began_at
    # Below zero: the clock was set back.
    if not 0 <= age_seconds <= question.max_age_seconds:
        return Miss.AGED
    return Hit(entry=entry, age_seconds=age_seconds) if entry.fulfils(question.request) else Miss.PARTIAL


def lease_in(look: Look) -> Lease | None:
    """Return what the node's agent says of itself, not to be changed; None if there is none, or it cannot be read."""
    return None if look.lease is None else _read(look.lease)


@lru_cache(maxsize=1024)
def _read(lease: bytes) -> Lease | None:
    # It is the same for hours, and every look needs it.
    try:
        return Lease.from_bytes(lease)
    except ValueError:
        return None
