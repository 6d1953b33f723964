"""What nodes said last, for all processes that share a store; who misses asks the node, one for all.

An entry is served only if it holds all that is asked for, its tokens are those of now, no change is under way, and
the node's agent is the one that said it. Tokens are taken before a node is asked: what comes back after something has
changed is kept under tokens that are void by then. The reading side goes on without a store that fails
(:mod:`cache.node_state.reading`); the changing side does not (:mod:`cache.node_state.changes`).
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Final

from cache.node_state.changes import Changes
from cache.node_state.counts import NodeStateCounts, Tally
from cache.node_state.errors import NodeError
from cache.node_state.lease import Lease
from cache.node_state.leases import Leases
from cache.node_state.reading import Fetch, Reading
from cache.node_state.requests import Snapshot, SnapshotRequest
from cache.node_state.store import NodeStateStore
from cache.node_state.verdict import Question

#: What is asked for where nothing else is said.
EVERYTHING: Final = SnapshotRequest(everything=True, bootid=True)


class NodeStateCache:
    """What nodes said last; safe for threads.

    Args:
        store: Where it is kept.
        fetch: Asks a node: its name, what for, and how long at most, in seconds; raises a NodeError.
        ttl_seconds: How old an answer may be.
        rpc_timeout_seconds: How long a node may take to answer.
        lease_seconds: How long an agent's lease lasts from its last renewal.
        dirty_seconds: How long a change is taken for being under way whose end nobody announces.
        fill_full: Whether a node that is asked at all is asked for everything.
        unleased: Nodes whose agents are in this process: they need no lease.
    """

    def __init__(
        self,
        store: NodeStateStore,
        fetch: Fetch,
        *,
        ttl_seconds: float = 600.0,
        rpc_timeout_seconds: float = 10.0,
        lease_seconds: float = 40.0,
        dirty_seconds: float = 900.0,
        fill_full: bool = True,
        unleased: Collection[str] = (),
    ) -> None:
        self.store = store
        self._ttl_seconds = ttl_seconds
        self._rpc_timeout_seconds = rpc_timeout_seconds
        self._unleased = frozenset(unleased)
        self._tally = Tally()
        self._changes = Changes(store, self._tally, dirty_seconds=dirty_seconds)
        self._leases = Leases(store, self._changes, lease_seconds=lease_seconds)
        self._reading = Reading(
            store,
            fetch,
            self._tally,
            ttl_seconds=ttl_seconds,
            rpc_timeout_seconds=rpc_timeout_seconds,
            fill_full=fill_full,
        )

    def snapshot(
        self,
        node: str,
        request: SnapshotRequest = EVERYTHING,
        *,
        max_age_seconds: float | None = None,
        force: bool = False,
        allow_stale: bool = False,
        timeout_seconds: float | None = None,
    ) -> Snapshot:
        """Return what a node says of itself: as it was kept, or else asked for now.

        Sections that its backends could not tell are in the answer with their status. An answer that is ``unsettled``
        was given while the node changed.

        Args:
            node: Its name.
            request: What is asked for.
            max_age_seconds: How old an answer may be, if less than usual. What is kept and older is served to others
                until the new answer is there.
            force: The node is asked whatever is kept, and what is kept is void for all.
            allow_stale: If the node cannot be asked, what it said once will do; it is marked as stale.
            timeout_seconds: How long the node may take, if other than usual.

        Raises:
            NodeError: the node cannot be asked, or did not answer; see :mod:`cache.node_state.errors`.
        """
        question = self._question(node, request, max_age_seconds, allow_stale, timeout_seconds, force=force)
        if force and not self._reading.void(node, "force"):
            return self._reading.answer(question, None)
        return self._reading.answer(question, self._reading.look([node])[0])

    def snapshot_many(
        self,
        nodes: Iterable[str],
        request: SnapshotRequest = EVERYTHING,
        *,
        max_age_seconds: float | None = None,
        allow_stale: bool = False,
        timeout_seconds: float | None = None,
    ) -> Mapping[str, Snapshot | NodeError]:
        """Return for each node what :meth:`snapshot` would return or raise, in the order of the names given.

        The store is looked into once; nodes that have to be asked are asked at the same time.
        """
        names = list(dict.fromkeys(nodes))
        questions = [
            self._question(name, request, max_age_seconds, allow_stale, timeout_seconds) for name in names
        ]
        return self._reading.answers(questions, self._reading.look(names)) if names else {}

    @property
    def counters(self) -> NodeStateCounts:
        """What has happened in this process."""
        return self._tally.now()

    def dirty(self, node: str) -> bool:
        """Whether a change is under way on a node, or is still to take effect.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        return self.store.look([node], entries=False)[0].dirty

    def bump(self, node: str, why: str) -> None:
        """Make what is kept of a node void, for all.

        Raises:
            StateStoreFailed: it is not: the store is out of reach.
        """
        self._changes.bump(node, why)

    def flush(self, why: str) -> None:
        """Make what is kept of all nodes void, for all.

        Raises:
            StateStoreFailed: it is not: the store is out of reach.
        """
        self._changes.flush(why)

    def mutating(
        self,
        node: str,
        operation_id: str,
        *,
        rpc: str = "change",
        affects: Collection[str] = (),
        flush: bool = False,
        deferred: bool = False,
        patience_seconds: float | None = None,
    ) -> AbstractContextManager[None]:
        """Bracket a change of a node: what is kept is void before and after, and nothing is kept or served meanwhile.

        The change does not begin before that is written. An end that cannot be written is written later, by a thread.

        Args:
            node: Whose agent makes the change.
            operation_id: Which change it is.
            rpc: What it is called, for the counts.
            affects: Other nodes that it changes.
            flush: Whether it changes nodes that it does not name.
            deferred: Whether it takes effect after its end: the node stays dirty until :meth:`settle`, until its
                agent begins after another boot, or until the mark's time is over. Not if it raises.
            patience_seconds: How long it may wait for the store; None: until this cache is closed, or
                told to :meth:`stop_waiting`.

        Raises:
            StateStoreFailed: the store was out of reach for so long, and nothing was begun.
        """
        return self._changes.mutating(
            node,
            operation_id,
            rpc=rpc,
            affects=affects,
            flush=flush,
            boot_id=self._boot_id(node) if deferred else None,
            patience_seconds=patience_seconds,
        )

    def settle(self, node: str, operation_id: str) -> None:
        """Say that a deferred change has taken effect.

        Raises:
            StateStoreFailed: the store is out of reach; the mark's time will be over some day.
        """
        self._changes.settle(node, operation_id)

    def seen(self, node: str, incarnation: str, boot_id: str) -> None:
        """Heed what any reply of a node tells of its agent: of another one, or after another boot, all else is void."""
        self._reading.seen(node, incarnation, boot_id)

    def set_offline(self, node: str, why: str) -> None:
        """Have nobody ask a node any more, or again for an empty reason.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        self._changes.set_offline(node, why)

    def forget(self, node: str) -> None:
        """Forget a node that is no more: its name is unknown from now on, until an agent has it again.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        self.store.forget(node)

    def leases(self) -> Mapping[str, Lease]:
        """Return what the agents that are there say of themselves, by node, in alphabetical order.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        return self._leases.all()

    def lease(self, node: str) -> Lease | None:
        """Return what a node's agent says of itself; None: there is none.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        return self._leases.of(node)

    def acquire(self, lease: Lease) -> None:
        """Take a node's name for an agent that begins; whatever was kept of the node is void.

        Raises:
            LeaseHeld: an agent of that name runs already.
            StateStoreFailed: the store is out of reach.
        """
        self._leases.acquire(lease)

    def renew(self, lease: Lease) -> None:
        """Keep a node's name, or take it again if it was lost and nobody else has it.

        Raises:
            LeaseLost: another agent has taken it.
            StateStoreFailed: the store is out of reach.
        """
        self._leases.renew(lease)

    def release(self, lease: Lease) -> None:
        """Give a node's name back, if it is still this agent's.

        Raises:
            StateStoreFailed: the store is out of reach; the lease runs out by itself.
        """
        self._leases.release(lease)

    def stop_waiting(self) -> None:
        """Have changes that wait for the store not begin: whoever makes them ends."""
        self._changes.stop_waiting()

    def close(self) -> None:
        """Let go of the store; whoever waits for it waits no longer."""
        self._reading.close()
        self._changes.close()
        self.store.close()

    def _boot_id(self, node: str) -> str:
        lease = self.lease(node)
        return lease.boot_id if lease else ""

    def _question(
        self,
        node: str,
        request: SnapshotRequest,
        max_age_seconds: float | None,
        allow_stale: bool,
        timeout_seconds: float | None,
        *,
        force: bool = False,
    ) -> Question:
        oldest = self._ttl_seconds if max_age_seconds is None else min(max_age_seconds, self._ttl_seconds)
        return Question(
            node=node,
            request=request,
            max_age_seconds=oldest,
            timeout_seconds=self._rpc_timeout_seconds if timeout_seconds is None else timeout_seconds,
            leased=node not in self._unleased,
            force=force,
            allow_stale=allow_stale,
        )
