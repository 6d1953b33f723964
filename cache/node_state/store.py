"""The contract of a store of machine states: every method is one atomic step.

*Tokens* are random, never counted: a store that has lost some makes new ones, and entries under the old ones
are invalid. Times are seconds of the store's own clock, which is compared with no other.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

#: The longest wait for a store that others write, or whose server is silent; then it is taken for one that is down.
#: Machine states do without it, but placement refuses a stack where leases cannot be read, so a busy one is waited for.
TIMEOUT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Tokens:
    """The validity of a node's entry: it ends when either token is replaced."""

    #: The token of all nodes.
    epoch: str
    #: The token of this node.
    gen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A stored entry of a node."""

    tokens: Tokens
    #: When the call of the agent began; the state is not older.
    began_at: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The last failure to reach a node's agent."""

    #: unreachable or timeout.
    kind: str
    message: str
    #: The agent is not called again before then.
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All that the store holds of a node at one moment."""

    #: The moment, by the store's clock.
    now: float
    #: None where one of them is missing: no entry is valid.
    tokens: Tokens | None = None
    #: The last stored entry, valid or not.
    kept: Kept | None = None
    #: Whether a change is under way, or one that was answered has yet to take effect.
    dirty: bool = False
    #: Whether a fill lock is held.
    filling: bool = False
    failure: Failure | None = None
    #: The lease of its agent, as bytes; None: no agent runs.
    lease: bytes | None = None
    #: When its agent last acquired or renewed its lease; None: unknown.
    heard_at: float | None = None
    #: Whether an agent of this name was ever seen.
    known: bool = False
    #: Why the operator set it offline; empty: it is online.
    offline: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """What a caller needs before it calls an agent."""

    #: To be passed back with the reply.
    tokens: Tokens
    now: float
    #: Whether this caller got the fill lock; False: another holds it, or nothing would be stored now.
    claimed: bool
    dirty: bool


class NodeStateStore(ABC):
    """Base of stores; thread-safe.

    Every method may raise :class:`cache.node_state.errors.StateStoreFailed`; repeating it then is harmless.
    *Marks* make a node dirty, each until a time: an expired mark is removed at the next access, and the
    node's token is replaced with it. A mark made with ``flush`` does the same to the token of all nodes.
    """

    @abstractmethod
    def look(self, nodes: Sequence[str], *, entries: bool = True) -> list[Look]:
        """Return what the store holds of each node, in one round trip; without the data of ``entries`` if False."""

    @abstractmethod
    def begin_fill(self, node: str, owner: str, life_seconds: float) -> Fill:
        """Return the tokens, made where they are missing, and acquire the fill lock if it is free under them."""

    @abstractmethod
    def keep(self, node: str, owner: str, kept: Kept, until: float) -> bool:
        """Store a node's entry until a time; release the fill lock and clear the failure. False: refused.

        It is refused if a token was replaced meanwhile, the node is dirty, or ``owner`` has lost its fill lock.
        """

    @abstractmethod
    def release(self, node: str, owner: str, *, answered: bool = True) -> None:
        """Release a fill lock without storing; if the agent ``answered`` all the same, clear its failure."""

    @abstractmethod
    def fail(
        self, node: str, owner: str, kind: str, message: str, *, first_seconds: float, longest_seconds: float
    ) -> None:
        """Release a fill lock, and prevent further calls for some time: doubled with each failure since a reply."""

    @abstractmethod
    def bump(self, node: str) -> None:
        """Replace the node's token."""

    @abstractmethod
    def flush(self) -> None:
        """Replace the token of all nodes."""

    @abstractmethod
    def mark(self, nodes: Collection[str], mark: str, life_seconds: float, *, flush: bool = False) -> None:
        """Make nodes dirty and replace their tokens; with ``flush`` also that of all nodes."""

    @abstractmethod
    def unmark(self, nodes: Collection[str], marks: Collection[str], *, flush: bool = False) -> None:
        """Remove marks, present or not, and replace the tokens as :meth:`mark` does."""

    @abstractmethod
    def marks(self, node: str) -> frozenset[str]:
        """Return the marks of a node; those of all nodes together for an empty name."""

    @abstractmethod
    def acquire(self, node: str, incarnation: str, data: bytes, life_seconds: float) -> bytes | None:
        """Acquire or renew a node's lease; if another incarnation holds it, change nothing and return its data.

        The node is known from then on; a new agent clears the failures of the one before it.
        """

    @abstractmethod
    def withdraw(self, node: str, incarnation: str) -> None:
        """End a lease, if this incarnation still holds it."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """Return the names of the known nodes."""

    @abstractmethod
    def set_offline(self, node: str, why: str) -> None:
        """Set a node offline, and replace its token; an empty reason sets it online."""

    @abstractmethod
    def forget(self, node: str) -> None:
        """Delete everything about a node, its name included."""

    def now(self) -> float | None:
        """Return the time by the clock that all users of the store share, without querying it; None: unknown.

        It is that of the last :meth:`look` or :meth:`measure`, carried on by a clock that cannot be set.
        """
        return None

    def measure(self) -> None:  # noqa: B027  # most stores are of one machine, and have its clock
        """Query the store's clock, for :meth:`now`."""

    def close(self) -> None:  # noqa: B027  # most stores hold no resources
        """Close the connections."""
