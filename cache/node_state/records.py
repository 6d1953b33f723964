"""A base for stores that can lock a machine's record: in memory, and in a file."""

import uuid
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from cache.node_state.store import Failure, Fill, Kept, Look, NodeStateStore, Tokens


@dataclass(slots=True)
class _Marked:
    #: Marks of changes: expiry by text of the mark.
    marks: dict[str, float] = field(default_factory=dict)

    def is_due(self, now: float) -> bool:
        """Return whether a mark has expired."""
        return any(until <= now for until in self.marks.values())

    def drop_expired(self, now: float) -> bool:
        """Remove expired marks; return whether there were any, so that the token is to be replaced."""
        is_due = self.is_due(now)
        self.marks = {mark: until for mark, until in self.marks.items() if until > now}
        return is_due


@dataclass(slots=True)
class CommonRecord(_Marked):
    """The record that concerns all nodes; its marks do."""

    epoch: str = ""
    #: The boot of the machine that wrote this, where that matters.
    boot_id: str = ""


@dataclass(slots=True)
class NodeRecord(_Marked):
    """The record of one node."""

    gen: str = ""
    #: The last entry: epoch, gen, began_at, until, data.
    kept: tuple[str, str, float, float, bytes] | None = None
    #: The fill lock: owner, epoch, gen, until.
    fill: tuple[str, str, str, float] | None = None
    #: Kind, message, until, how often in a row.
    failure: tuple[str, str, float, int] | None = None
    #: Incarnation, data, until.
    lease: tuple[str, bytes, float] | None = None
    known: bool = False
    offline: str = ""
    #: When its agent was last heard.
    heard_at: float | None = None

    def end_fill(self, owner: str) -> bool:
        """Release the fill lock; False if ``owner`` does not hold it."""
        mine = self.fill is not None and self.fill[0] == owner
        if mine:
            self.fill = None
        return mine


def new_token() -> str:
    """Return a token that was never used before."""
    return uuid.uuid4().hex


class RecordStore(NodeStateStore):
    """A store that changes records one caller at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock

    @abstractmethod
    def _read(self, node: str) -> tuple[CommonRecord, NodeRecord]:
        """Return the records, which must not be changed; the common one was read first."""

    @abstractmethod
    def _changing(
        self, nodes: Collection[str] = (), *, common: bool = False
    ) -> AbstractContextManager[tuple[CommonRecord, dict[str, NodeRecord]]]:
        """Yield records that no other caller changes meanwhile; they are saved at the end.

        The common one is saved if ``common`` announces that it may change.
        """

    def look(self, nodes: Sequence[str], *, entries: bool = True) -> list[Look]:
        """Return what the store holds of each."""
        looks = [self._look(node) for node in nodes]
        return looks if entries else [replace(look, kept=None) for look in looks]

    def _look(self, node: str) -> Look:
        common, record = self._read(node)
        # Read after the records, or an entry stored in between would come from the future.
        now = self._clock()
        if common.is_due(now) or record.is_due(now):
            with self._settled(node) as (common, record, now):
                pass
        return _seen(common, record, now)

    @contextmanager
    def _settled(self, node: str) -> Iterator[tuple[CommonRecord, NodeRecord, float]]:
        """Yield the records of a node without expired marks, to be changed, and the time."""
        with self._changing([node], common=True) as (common, records):
            now, record = self._clock(), records[node]
            if common.drop_expired(now):
                common.epoch = new_token()
            if record.drop_expired(now):
                record.gen = new_token()
            yield common, record, now

    def begin_fill(self, node: str, owner: str, life_seconds: float) -> Fill:
        """Return the tokens, and acquire the fill lock."""
        with self._settled(node) as (common, record, now):
            common.epoch = common.epoch or new_token()
            record.gen = record.gen or new_token()
            tokens = Tokens(common.epoch, record.gen)
            # A fill lock under replaced tokens is void.
            taken = (
                record.fill is not None
                and record.fill[0] != owner
                and record.fill[3] > now
                and Tokens(*record.fill[1:3]) == tokens
            )
            claimed = not taken and not record.marks
            if claimed:
                record.fill = (owner, tokens.epoch, tokens.gen, now + life_seconds)
            return Fill(tokens=tokens, now=now, claimed=claimed, dirty=bool(record.marks))

    def keep(self, node: str, owner: str, kept: Kept, until: float) -> bool:
        """Store the entry, unless a token was replaced."""
        with self._settled(node) as (common, record, _):
            mine = record.end_fill(owner)
            record.failure = None
            fits = mine and not record.marks and Tokens(common.epoch, record.gen) == kept.tokens
            if fits:
                record.kept = (kept.tokens.epoch, kept.tokens.gen, kept.began_at, until, kept.data)
            return fits

    def release(self, node: str, owner: str, *, answered: bool = True) -> None:
        """Release the fill lock."""
        with self._changing([node]) as (_, records):
            records[node].end_fill(owner)
            if answered:
                records[node].failure = None

    def fail(
        self, node: str, owner: str, kind: str, message: str, *, first_seconds: float, longest_seconds: float
    ) -> None:
        """Release the fill lock, and prevent further calls for some time."""
        with self._changing([node]) as (_, records):
            record = records[node]
            record.end_fill(owner)
            attempts = 1 + (record.failure[3] if record.failure else 0)
            pause = pause_seconds(attempts, first_seconds, longest_seconds)
            record.failure = (kind, message, self._clock() + pause, attempts)

    def bump(self, node: str) -> None:
        """Replace the node's token."""
        with self._changing([node]) as (_, records):
            records[node].gen = new_token()

    def flush(self) -> None:
        """Replace the token of all nodes."""
        with self._changing(common=True) as (common, _):
            common.epoch = new_token()

    def mark(self, nodes: Collection[str], mark: str, life_seconds: float, *, flush: bool = False) -> None:
        """Mark nodes as dirty."""
        with self._changing(nodes, common=flush) as (common, records):
            until = self._clock() + life_seconds
            for record in records.values():
                record.marks[mark] = until
                record.gen = new_token()
            if flush:
                common.marks[mark] = until
                common.epoch = new_token()

    def unmark(self, nodes: Collection[str], marks: Collection[str], *, flush: bool = False) -> None:
        """Remove marks."""
        with self._changing(nodes, common=flush) as (common, records):
            for record in records.values():
                record.marks = {mark: until for mark, until in record.marks.items() if mark not in marks}
                record.gen = new_token()
            if flush:
                common.marks = {mark: until for mark, until in common.marks.items() if mark not in marks}
                common.epoch = new_token()

    def marks(self, node: str) -> frozenset[str]:
        """Return the marks of a node, or of all together."""
        common, record = self._read(node)
        return frozenset(record.marks if node else common.marks)

    def acquire(self, node: str, incarnation: str, data: bytes, life_seconds: float) -> bytes | None:
        """Acquire or renew a lease."""
        with self._changing([node]) as (_, records):
            now, record = self._clock(), records[node]
            held = record.lease if record.lease and record.lease[2] > now else None
            same = held is not None and held[0] == incarnation
            if held and not same:
                return held[1]
            record.lease, record.known = (incarnation, data, now + life_seconds), True
            record.heard_at = now
            if not same:
                record.failure = None
            return None

    def withdraw(self, node: str, incarnation: str) -> None:
        """End a lease."""
        with self._changing([node]) as (_, records):
            record = records[node]
            if record.lease and record.lease[0] == incarnation:
                record.lease = None

    def set_offline(self, node: str, why: str) -> None:
        """Set a node offline, or online."""
        with self._changing([node]) as (_, records):
            records[node].offline, records[node].gen = why, new_token()


def pause_seconds(attempts: int, first_seconds: float, longest_seconds: float) -> float:
    """Return how long a node is left out after so many failures in a row."""
    return min(first_seconds * 2.0 ** min(attempts - 1, 30), longest_seconds)


def _seen(common: CommonRecord, record: NodeRecord, now: float) -> Look:
    kept, fill, failure, lease = record.kept, record.fill, record.failure, record.lease
    return Look(
        now=now,
        tokens=Tokens(common.epoch, record.gen) if common.epoch and record.gen else None,
        kept=Kept(tokens=Tokens(*kept[:2]), began_at=kept[2], data=kept[4])
        if kept and kept[3] > now
        else None,
        dirty=bool(record.marks),
        filling=fill is not None and fill[3] > now,
        failure=(
            Failure(kind=failure[0], message=failure[1], until=failure[2])
            if failure and failure[2] > now
            else None
        ),
        lease=lease[1] if lease and lease[2] > now else None,
        heard_at=record.heard_at,
        known=record.known,
        offline=record.offline,
    )
