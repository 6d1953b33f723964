"""Which agents are there: each node's name is held by one, as long as that says so again and again."""

from collections.abc import Mapping

from cache.node_state.changes import Changes
from cache.node_state.errors import LeaseHeld, LeaseLost
from cache.node_state.lease import Lease
from cache.node_state.store import NodeStateStore
from cache.node_state.verdict import lease_in


class Leases:
    """The leases in a store; safe for threads. Every method may raise StateStoreFailed.

    Args:
        store: Where they are.
        changes: Where it is said that an agent begins.
        lease_seconds: How long a lease lasts from its last renewal.
    """

    def __init__(self, store: NodeStateStore, changes: Changes, *, lease_seconds: float) -> None:
        self._store = store
        self._changes = changes
        self._lease_seconds = lease_seconds

    def all(self) -> Mapping[str, Lease]:
        """Return what the agents that are there say of themselves, by node, in alphabetical order."""
        names = sorted(self._store.names())
        looks = self._store.look(names, entries=False) if names else []
        return {name: lease for name, look in zip(names, looks, strict=True) if (lease := lease_in(look))}

    def of(self, node: str) -> Lease | None:
        """Return what a node's agent says of itself; None: there is none."""
        return lease_in(self._store.look([node], entries=False)[0])

    def acquire(self, lease: Lease) -> None:
        """Take a node's name for an agent that begins.

        Raises:
            LeaseHeld: an agent of that name runs already.
        """
        holder = self._lend(lease)
        if holder is not None:
            raise LeaseHeld(
                lease.node,
                f"node {lease.node!r} has an agent already: {_told(holder)}; each needs a name of its own",
            )
        self._changes.take_over(lease.node, lease.boot_id)

    def renew(self, lease: Lease) -> None:
        """Keep a node's name, or take it again if it was lost and nobody else has it.

        Raises:
            LeaseLost: another agent has taken it.
        """
        holder = self._lend(lease)
        if holder is not None:
            raise LeaseLost(lease.node, f"node {lease.node!r} has another agent now: {_told(holder)}")

    def release(self, lease: Lease) -> None:
        """Give a node's name back, if it is still this agent's."""
        self._store.withdraw(lease.node, lease.incarnation)

    def _lend(self, lease: Lease) -> bytes | None:
        return self._store.acquire(lease.node, lease.incarnation, lease.to_bytes(), self._lease_seconds)


def _told(holder: bytes) -> str:
    try:
        return Lease.from_bytes(holder).holder or "it does not say where"
    except ValueError:
        return "of another version"
