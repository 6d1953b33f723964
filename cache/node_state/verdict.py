"""The verdict on a question about a machine: a cached answer, a refusal, or a call of its agent."""

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
from cache.node_state.requests import SCHEMA_VERSION, MachineStateRequest
from cache.node_state.store import Failure, Look

#: The errors of failed calls, by their kind in the store.
FAILURES: dict[str, type[NodeUnreachable]] = {"unreachable": NodeUnreachable, "timeout": NodeTimeout}


class Miss(StrEnum):
    """Why the agent has to be called."""

    #: No entry was stored, or it had expired.
    ABSENT = "absent"
    #: The entry lacks a requested section.
    PARTIAL = "partial"
    #: The entry is invalid: a token was replaced.
    TOKEN = "token"  # noqa: S105  # no secret
    #: A change is under way.
    DIRTY = "dirty"
    #: The entry is older than the caller accepts.
    AGED = "aged"
    #: The caller forces a call.
    FORCED = "forced"
    #: The store is out of reach.
    STORE = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An entry that can be served, and its age."""

    entry: Entry
    age_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A read of one machine's state, and the conditions under which an entry will do."""

    node: str
    request: MachineStateRequest
    #: How old it may be.
    max_age_seconds: float
    #: How long the agent may take.
    timeout_seconds: float
    #: Whether the agent runs elsewhere and holds a lease; False: it is in this process.
    leased: bool = True
    #: Whether a recent failure and a stored entry are ignored.
    force: bool = False
    #: Whether the last known state will do if the agent cannot be called.
    allow_stale: bool = False


def refusal(question: Question, look: Look, nearest: Callable[[], str] = lambda: "") -> NodeError | None:
    """Return why the agent must not be called; None: it may be.

    ``nearest`` returns a suggestion for an unknown name.
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
        schema = "?" if lease is None else lease.schema
        return SchemaMismatch(
            node,
            f"the agent of node {node!r} speaks version {schema} of the schema, this is version {SCHEMA_VERSION}",
        )
    return None if look.failure is None or question.force else failed(node, look.failure)


def failed(node: str, failure: Failure) -> NodeUnreachable:
    """Return the error of a recorded failure."""
    return FAILURES.get(failure.kind, NodeUnreachable)(node, failure.message)


def judge(question: Question, look: Look, entry: Entry | None) -> Hit | Miss:
    """Return whether an entry may be served, for a machine whose agent may be called.

    ``entry`` is the one that ``look`` holds.
    """
    if look.dirty:
        return Miss.DIRTY
    if look.kept is None or entry is None:
        return Miss.ABSENT
    lease = lease_in(look) if question.leased else None
    # An agent that started since has replaced the token; should it have failed to, it is noticed here.
    another = lease is not None and lease.incarnation != entry.incarnation
    if look.tokens is None or look.kept.tokens != look.tokens or another:
        return Miss.TOKEN
    age_seconds = look.now - look.kept.began_at
    # Below zero: the clock was set back.
    if not 0 <= age_seconds <= question.max_age_seconds:
        return Miss.AGED
    return Hit(entry=entry, age_seconds=age_seconds) if entry.fulfils(question.request) else Miss.PARTIAL


def lease_in(look: Look) -> Lease | None:
    """Return the lease of the node's agent, which must not be changed; None if none runs, or it is unreadable."""
    return None if look.lease is None else _read(look.lease)


@lru_cache(maxsize=1024)
def _read(lease: bytes) -> Lease | None:
    # Cached: it stays the same for hours, and every look needs it.
    try:
        return Lease.from_bytes(lease)
    except ValueError:
        return None
