"""The machine-state cache of one process: reads, changes and leases, over a store that all processes share.

An entry is served only if it holds all requested sections, its tokens are current, no change is under way, and the
machine's present agent sent it. Tokens are read before an agent is called: a reply that arrives after a change is
stored under tokens that are invalid by then. Reads go on without a store that fails
(:mod:`cache.node_state.reading`); changes do not begin (:mod:`cache.node_state.changes`).
"""

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from cache.node_state.changes import Changes
from cache.node_state.counts import NodeStateCounts, Tally
from cache.node_state.errors import LeaseHeld, LeaseLost, NodeError
from cache.node_state.lease import Lease, Leases
from cache.node_state.reading import Fetch, Reading
from cache.node_state.requests import MachineState, MachineStateRequest
from cache.node_state.store import NodeStateStore
from cache.node_state.verdict import Question, lease_in

#: The default request.
EVERYTHING: Final = MachineStateRequest(everything=True, bootid=True)


class NodeStateCache:
    """The last known states of machines; thread-safe.

    Args:
        store: Where entries are kept.
        fetch: Calls an agent: its node name, the request, and the time-out in seconds; raises a NodeError.
        ttl_seconds: How old an entry may be.
        rpc_timeout_seconds: How long an agent may take to answer.
        lease_seconds: How long an agent's lease lasts from its last renewal.
        dirty_seconds: How long a change counts as under way if its end is never announced.
        fill_full: Whether every call of an agent requests all sections.
        unleased: Names of nodes whose agents run in this process: they need no lease.
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
        #: How long a lease lasts without renewal.
        self.lease_seconds = lease_seconds
        self._reading = Reading(
            store,
            fetch,
            self._tally,
            ttl_seconds=ttl_seconds,
            rpc_timeout_seconds=rpc_timeout_seconds,
            fill_full=fill_full,
        )

    def machine_state(
        self,
        node: str,
        request: MachineStateRequest = EVERYTHING,
        *,
        max_age_seconds: float | None = None,
        force: bool = False,
        allow_stale: bool = False,
        timeout_seconds: float | None = None,
    ) -> MachineState:
        """Return the state of a machine: the cached one, or else fetched from its agent now.

        Sections that the machine's backends could not report are in the answer with their status. An answer that is
        ``unsettled`` was given while the machine changed.

        Args:
            node: Its name.
            request: The sections that are needed.
            max_age_seconds: How old the state may be, if less than usual. An older entry is served to others
                until the new one is stored.
            force: Call the agent whatever is cached, and invalidate the entry for all.
            allow_stale: Serve the last known state, marked as stale, if the agent cannot be called.
            timeout_seconds: How long the agent may take, if other than usual.

        Raises:
            NodeError: the agent cannot be called, or did not answer; see :mod:`cache.node_state.errors`.
        """
        question = self._question(node, request, max_age_seconds, allow_stale, timeout_seconds, force=force)
        if force and not self._reading.void(node, "force"):
            return self._reading.answer(question, None)
        return self._reading.answer(question, self._reading.look([node])[0])

    def machine_states(
        self,
        nodes: Iterable[str],
        request: MachineStateRequest = EVERYTHING,
        *,
        max_age_seconds: float | None = None,
        allow_stale: bool = False,
        timeout_seconds: float | None = None,
    ) -> Mapping[str, MachineState | NodeError]:
        """Return for each node what :meth:`machine_state` would return or raise, in the order of the names given.

        The store is read once; agents that must be called are called concurrently.
        """
        names = list(dict.fromkeys(nodes))
        questions = [
            self._question(name, request, max_age_seconds, allow_stale, timeout_seconds) for name in names
        ]
        return self._reading.answers(questions, self._reading.look(names)) if names else {}

    @property
    def counters(self) -> NodeStateCounts:
        """This process's counters."""
        return self._tally.now()

    def dirty(self, node: str) -> bool:
        """Return whether a change is under way on a node, or was answered and has yet to take effect.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        return self.store.look([node], entries=False)[0].dirty

    def bump(self, node: str, why: str) -> None:
        """Invalidate a node's entry, for all.

        Raises:
            StateStoreFailed: the store is out of reach, and nothing was invalidated.
        """
        self.store.bump(node)
        self._tally.add_labelled("bumps", why)

    def flush(self, why: str) -> None:
        """Invalidate the entries of all nodes, for all.

        Raises:
            StateStoreFailed: the store is out of reach, and nothing was invalidated.
        """
        self.store.flush()
        self._tally.add_labelled("flushes", why)

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
        """Bracket a change: the machine's entry is invalidated before and after, and none is served in between.

        The change does not begin before its mark is written. If its end cannot be written, a thread writes it later.

        Args:
            node: The machine whose agent makes the change.
            operation_id: The id of the change.
            rpc: The name of the RPC, for the counters.
            affects: Other nodes that change with it.
            flush: Whether it changes nodes that it does not name.
            deferred: Whether it takes effect after its end: the node stays dirty until :meth:`settle`, until its
                agent starts after another boot, or until the mark expires. Not if it raises.
            patience_seconds: How long it may wait for the store; None: until :meth:`close` or
                :meth:`stop_waiting`.

        Raises:
            StateStoreFailed: the store was out of reach for so long, and the change was not begun.
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
        """Record that a deferred change has taken effect.

        Raises:
            StateStoreFailed: the store is out of reach; the mark expires by itself.
        """
        self._changes.settle(node, operation_id)

    def seen(self, node: str, incarnation: str, boot_id: str) -> None:
        """Note the agent and the boot that a reply names: if either is new, invalidate the node's entry."""
        self._reading.seen(node, incarnation, boot_id)

    def set_offline(self, node: str, why: str) -> None:
        """Set a node offline, so that no caller calls its agent; an empty reason sets it online.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        self.store.set_offline(node, why)
        self._tally.add_labelled("bumps", "offline" if why else "online")

    def forget(self, node: str) -> None:
        """Remove a node that no longer exists: its name is unknown until an agent takes it again.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        self.store.forget(node)

    def leases(self) -> Leases:
        """Return the leases of the running agents, by node, in alphabetical order, and when each was heard.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        names = sorted(self.store.names())
        looks = self.store.look(names, entries=False) if names else []
        found = dict(zip(names, looks, strict=True))
        return Leases(
            {name: lease for name, look in found.items() if (lease := lease_in(look))},
            {
                name: max(0.0, look.now - look.heard_at)
                for name, look in found.items()
                if look.heard_at is not None
            },
        )

    def lease(self, node: str) -> Lease | None:
        """Return the lease of a node's agent; None: no agent runs.

        Raises:
            StateStoreFailed: the store is out of reach.
        """
        return lease_in(self.store.look([node], entries=False)[0])

    def acquire(self, lease: Lease) -> None:
        """Acquire a node's lease for an agent that starts; invalidates the node's entry.

        Raises:
            LeaseHeld: another agent of that name runs.
            StateStoreFailed: the store is out of reach.
        """
        holder = self._hold(lease)
        if holder is not None:
            raise LeaseHeld(
                lease.node,
                f"node {lease.node!r} has an agent already: {_holder_in(holder)}; each needs a name of its own",
            )
        self._changes.take_over(lease.node, lease.boot_id)

    def renew(self, lease: Lease) -> None:
        """Renew a node's lease, or take it again if it was lost and is free.

        Raises:
            LeaseLost: another agent holds it.
            StateStoreFailed: the store is out of reach.
        """
        holder = self._hold(lease)
        if holder is not None:
            raise LeaseLost(lease.node, f"node {lease.node!r} has another agent now: {_holder_in(holder)}")

    def release(self, lease: Lease) -> None:
        """Release a node's lease, if this agent still holds it.

        Raises:
            StateStoreFailed: the store is out of reach; the lease expires by itself.
        """
        self.store.withdraw(lease.node, lease.incarnation)

    def stop_waiting(self) -> None:
        """Abort the changes that wait for the store: they raise and do not begin."""
        self._changes.stop_waiting()

    def close(self) -> None:
        """Close the store; waiting callers stop waiting."""
        self._reading.close()
        self._changes.close()
        self.store.close()

    def _hold(self, lease: Lease) -> bytes | None:
        """Acquire or renew a lease; return that of another agent, if one holds it.

        The clocks are compared first: the lease tells how far that of its machine is ahead.
        """
        self.store.measure()
        if (now := self.store.now()) is not None:
            # In whole seconds, so that the lease stays the same: readers cache it.
            lease = replace(lease, clock_ahead_seconds=float(round(time.time() - now)))
        return self.store.acquire(lease.node, lease.incarnation, lease.to_bytes(), self.lease_seconds)

    def _boot_id(self, node: str) -> str:
        lease = self.lease(node)
        return lease.boot_id if lease else ""

    def _question(
        self,
        node: str,
        request: MachineStateRequest,
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


def _holder_in(lease: bytes) -> str:
    try:
        return Lease.from_bytes(lease).holder or "it does not say where"
    except ValueError:
        return "of another version"
