"""Agents' leases: each node name is held by one agent, as long as it renews its lease."""

from collections.abc import Mapping

from cache.node_state.changes import Changes
from cache.node_state.errors import LeaseHeld, LeaseLost
from cache.node_state.lease import Lease
from cache.node_state.store import NodeStateStore
from cache.node_state.verdict import lease_in


class Leases:
    """The leases in a store; thread-safe. Every method may raise StateStoreFailed.

    Args:
        store: Where leases are kept.
        changes: Where the start of an agent is announced.
        lease_seconds: How long a lease lasts from its last renewal.
    """

    def __init__(self, store: NodeStateStore, changes: Changes, *, lease_seconds: float) -> None:
        self._store = store
        self._changes = changes
        self._lease_seconds = lease_seconds

    def all(self) -> Mapping[str, Lease]:
        """Return the leases of the running agents, by node, in alphabetical order."""
        names = sorted(self._store.names())
        looks = self._store.look(names, entries=False) if names else []
        return {name: lease for name, look in zip(names, looks, strict=True) if (lease := lease_in(look))}

    def of(self, node: str) -> Lease | None:
        """Return the lease of a node's agent; None: no agent runs."""
        return lease_in(self._store.look([node], entries=False)[0])

    def acquire(self, lease: Lease) -> None:
        """Acquire a node's lease for an agent that starts.

        Raises:
            LeaseHeld: another agent of that name runs.
        """
        holder = self._lend(lease)
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
        """
        holder = self._lend(lease)
        if holder is not None:
            raise LeaseLost(lease.node, f"node {lease.node!r} has another agent now: {_holder_in(holder)}")

    def release(self, lease: Lease) -> None:
        """Release a node's lease, if this agent still holds it."""
        self._store.withdraw(lease.node, lease.incarnation)

    def _lend(self, lease: Lease) -> bytes | None:
        return self._store.acquire(lease.node, lease.incarnation, lease.to_bytes(), self._lease_seconds)


def _holder_in(holder: bytes) -> str:
    try:
        return Lease.from_bytes(holder).holder or "it does not say where"
    except ValueError:
        return "of another version"
