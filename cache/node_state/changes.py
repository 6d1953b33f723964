"""Changes of machines: their tokens are replaced before and after, so that no outdated entry is served.

A change that cannot be announced does not begin. An end that cannot be announced is owed: until it is
written, the mark of its beginning keeps the cache from serving the machine's entry, and when
the mark expires, the token is replaced with it.
"""

import threading
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import structlog

from cache.node_state.counts import Tally
from cache.node_state.errors import StateStoreFailed
from cache.node_state.store import NodeStateStore

#: The pause before a store that failed is tried again: at first, and at most.
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 5.0
#: Prefixes of marks: of a change under way, and of one that was answered and has yet to take effect.
WORK, DEFERRED = "work", "deferred"

log = structlog.get_logger()


class Changes:
    """The changes that this process makes to machines, or has agents make; thread-safe."""

    def __init__(self, store: NodeStateStore, tally: Tally, *, dirty_seconds: float) -> None:
        self._store = store
        self._tally = tally
        self._dirty_seconds = dirty_seconds
        self._closed = threading.Event()
        #: Set when changes that wait for the store must not begin any more.
        self._ending = threading.Event()
        self._lock = threading.Lock()
        #: Ends still to be announced.
        self._owed: list[Callable[[], None]] = []
        self._payer: threading.Thread | None = None

    @contextmanager
    def mutating(
        self,
        node: str,
        operation_id: str,
        *,
        rpc: str,
        affects: Collection[str],
        flush: bool,
        boot_id: str | None,
        patience_seconds: float | None,
    ) -> Iterator[None]:
        """Bracket a change; see :meth:`cache.node_state.cache.NodeStateCache.mutating`.

        ``boot_id`` belongs to a deferred change: during this boot it has not taken effect yet.
        """
        nodes = sorted({node, *affects})
        kind = WORK if boot_id is None else DEFERRED
        mark = "|".join((kind, node, boot_id or "", operation_id, uuid.uuid4().hex))
        self._until_written(
            lambda: self._store.mark(nodes, mark, self._dirty_seconds, flush=flush), patience_seconds
        )
        self._count(nodes, rpc, flush=flush)
        ended: Collection[str] = (mark,)
        try:
            yield
            if kind == DEFERRED:
                ended = ()
        finally:
            self._at_last(lambda: self._store.unmark(nodes, ended, flush=flush))
            self._count(nodes, rpc, flush=flush)

    def take_over(self, node: str, boot_id: str) -> None:
        """Replace the token of a node whose agent starts, and remove the marks of the agent before it.

        Deferred changes have taken effect if the machine has booted since.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        self._store.unmark([node], _over(self._store.marks(node), node, boot_id))
        common = _over(self._store.marks(""), node, boot_id)
        if common:
            self._store.unmark([], common, flush=True)
        self._count([node], "agent began", flush=bool(common))

    def settle(self, node: str, operation_id: str) -> None:
        """Record that a deferred change has taken effect.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        ended = {mark for mark in self._store.marks(node) if mark.split("|")[3] == operation_id}
        self._store.unmark([node], ended)
        self._count([node], "settled", flush=False)

    def stop_waiting(self) -> None:
        """Abort changes that wait for the store; those under way end as usual."""
        self._ending.set()

    def close(self) -> None:
        """Announce owed ends, if the store takes them at once; waiting callers stop waiting."""
        self._ending.set()
        self._closed.set()
        with self._lock:
            owed, self._owed = self._owed, []
        for announce in owed:
            with suppress(StateStoreFailed):
                announce()

    def _until_written(self, write: Callable[[], None], patience_seconds: float | None) -> None:
        pause, waited = _FIRST_PAUSE_SECONDS, 0.0
        while True:
            try:
                return write()
            except StateStoreFailed as error:
                self._tally.add("errors")
                if patience_seconds is not None and waited >= patience_seconds:
                    raise
                log.warning("a change waits until it can be announced", reason=str(error))
                if self._ending.wait(pause):
                    raise
            waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _at_last(self, write: Callable[[], None]) -> None:
        try:
            write()
        except StateStoreFailed as error:
            self._tally.add("errors")
            log.warning("the end of a change is announced later", reason=str(error))
            with self._lock:
                self._owed.append(write)
                if self._payer is None:
                    self._payer = threading.Thread(target=self._pay, name="node-state-owed", daemon=True)
                    self._payer.start()

    def _pay(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._closed.wait(pause):
            with self._lock:
                if not self._owed:
                    self._payer = None
                    return
                first = self._owed[0]
            try:
                first()
            except StateStoreFailed:
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            pause = _FIRST_PAUSE_SECONDS
            with self._lock:
                # Taken over by :meth:`close`.
                if first in self._owed:
                    self._owed.remove(first)

    def _count(self, nodes: Collection[str], why: str, *, flush: bool) -> None:
        self._tally.add_labelled("bumps", why, len(nodes))
        if flush:
            self._tally.add_labelled("flushes", why)


def _over(marks: Collection[str], node: str, boot_id: str) -> set[str]:
    """Return the marks of a node's earlier agent that are obsolete."""
    over = set()
    for mark in marks:
        kind, owner, marked_boot_id, *_ = mark.split("|")
        if owner == node and (kind == WORK or marked_boot_id != boot_id):
            over.add(mark)
    return over
