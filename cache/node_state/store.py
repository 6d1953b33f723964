"""The contract of a store of what nodes said: every method is one step, whoever else does what at the same time.

*Tokens* are random, never counted: a store that has lost some makes new ones, and whatever was kept under the old ones
is void. Times are seconds of the store's own clock; nobody else's clock is compared with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """What is true of a node as long as neither of the two is replaced."""

    #: Of all nodes.
    epoch: str
    #: Of this node: its generation.
    gen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a node said, as it was kept."""

    tokens: Tokens
    #: When it began to be asked for; what it says is not older.
    began_at: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a node could not be asked a moment ago."""

    #: unreachable or timeout.
    kind: str
    message: str
    #: Until then it is not asked again.
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All that there is of a node at one moment."""

    #: The moment, by the store's clock.
    now: float
    #: None where one of them is missing: nothing that is kept is valid.
    tokens: Tokens | None = None
    #: What was kept last, valid or not.
    kept: Kept | None = None
    #: Whether a change is under way, or one that was answered is still to take effect.
    dirty: bool = False
    #: Whether somebody asks just now.
    filling: bool = False
    failure: Failure | None = None
    #: What its agent says of itself, as bytes; None: there is no agent.
    lease: bytes | None = None
    #: Whether there ever was one.
    known: bool = False
    #: Why the operator does not want it to be asked; empty: it may be.
    offline: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """What somebody needs who is about to ask a node."""

    #: To be given back with what the node says.
    tokens: Tokens
    now: float
    #: Whether it is this caller who asks for all; False: another does, or nothing would be kept now.
    claimed: bool
    dirty: bool


class NodeStateStore(ABC):
    """Base of stores; safe for threads.

    Every method may raise :class:`cache.node_state.errors.StateStoreFailed`; to do the same again then is harmless.
    *Marks* say that a node is dirty, each until a time: a mark whose time is over goes when anybody looks, and the
    node's token with it. A mark that is made with ``flush`` does the same to the token of all nodes.
    """

    @abstractmethod
    def look(self, nodes: Sequence[str], *, entries: bool = True) -> list[Look]:
        """Return what there is of each node, in one journey; without ``entries`` what nodes said is left out."""

    @abstractmethod
    def begin_fill(self, node: str, owner: str, life_seconds: float) -> Fill:
        """Return the tokens, made where they are missing, and claim the question if nobody else asks under them."""

    @abstractmethod
    def keep(self, node: str, owner: str, kept: Kept, until: float) -> bool:
        """Keep what a node said until a time; end the claim and the failure. False: refused, as something has moved.

        That is: the tokens are others by now, the node is dirty, or ``owner`` has lost its claim.
        """

    @abstractmethod
    def release(self, node: str, owner: str, *, answered: bool = True) -> None:
        """End a claim without keeping anything; if the node has answered all the same, its failure ends too."""

    @abstractmethod
    def fail(
        self, node: str, owner: str, kind: str, message: str, *, first_seconds: float, longest_seconds: float
    ) -> None:
        """End a claim, and have nobody ask again for some time: twice as long with each failure since an answer."""

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
        """Take marks away, there or not, and replace the tokens as :meth:`mark` does."""

    @abstractmethod
    def marks(self, node: str) -> frozenset[str]:
        """Return the marks of a node; those of all nodes together for an empty name."""

    @abstractmethod
    def acquire(self, node: str, incarnation: str, data: bytes, life_seconds: float) -> bytes | None:
        """Take or prolong a node's lease; if another incarnation has it, change nothing and return what that said.

        The node is known from now on; to one that begins, the failures of the one before it are nothing.
        """

    @abstractmethod
    def withdraw(self, node: str, incarnation: str) -> None:
        """End a lease, if it is still this incarnation's."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """Return the names of the nodes that are known."""

    @abstractmethod
    def set_offline(self, node: str, why: str) -> None:
        """Say that the operator does not want a node to be asked, and replace its token; empty: it may be asked."""

    @abstractmethod
    def forget(self, node: str) -> None:
        """Forget all of a node, its name too."""

    def close(self) -> None:  # noqa: B027  # most have nothing to let go of
        """Let go of connections."""
