"""The tenancy of a node name: its lease is acquired at start, renewed by a heartbeat, released at the end."""

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import structlog

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import LeaseHeld, LeaseLost, StateStoreFailed
from cache.node_state.lease import Lease
from orchestrator.config.periodic import Periodic
from orchestrator.errors import Conflict, Unavailable
from workers.agent.locks import Locks, LockTaken
from workers.agent.patience import Patience, Unanswered
from workers.agent.records import read_record, write_record

log = structlog.get_logger()

#: The lock of the one process that serves a directory.
_LOCK: Final = "agent process"
#: The file of the incarnations that served the directory last, or were about to.
_FILE: Final = "served.json"
_MOST_REMEMBERED: Final = 8


class Tenancy:
    """Holds a node's lease from :meth:`take` until :meth:`leave`."""

    def __init__(
        self,
        book: NodeStateCache,
        lease: Callable[[], Lease],
        *,
        directory: Path,
        heartbeat_seconds: float,
        on_lost: Callable[[LeaseLost], None],
    ) -> None:
        """Keep the arguments; ``on_lost`` is called once, in a thread of its own, when another agent has the lease."""
        self._book, self._lease, self._on_lost = book, lease, on_lost
        self._heartbeat_seconds = heartbeat_seconds
        #: The lease as last written; measuring the machine for a new one may hang, or fail.
        self._last_lease: Lease | None = None
        self._patience = Patience("the node", heartbeat_seconds)
        self._file = directory / _FILE
        self._locks = Locks(directory / "locks")
        self._held = ExitStack()
        self._thread = Periodic(
            "lease", self._renew, every_seconds=heartbeat_seconds, first_seconds=heartbeat_seconds
        )

    def take(self) -> None:
        """Acquire the lease. A dead agent of this machine and this directory does not prevent it.

        Raises:
            Conflict: another agent holds it; the message names its host.
            Unavailable: the holder is unknown, because the store is out of reach; or the directory cannot be written.
        """
        lease = self._last_lease = self._lease()
        try:
            self._held.enter_context(self._locks.hold(_LOCK))
        except LockTaken as error:
            raise Conflict(
                f"node {lease.node!r} has an agent on this machine already, in {self._file.parent}"
            ) from error
        try:
            before = self._predecessors()
            # Recorded first: the successor of a process that dies in between recognizes it all the same.
            self._note([*before, lease.incarnation])
            self._acquire(lease, before)
            self._note([lease.incarnation])
        except LeaseHeld as error:
            self._note(before)
            self._held.close()
            raise Conflict(str(error)) from error
        except StateStoreFailed as error:
            self._held.close()
            raise Unavailable(f"the node state cache does not answer: {error}") from error
        except OSError as error:
            self._held.close()
            raise Unavailable(f"{self._file} cannot be written: {error.strerror}") from error

    def keep(self) -> None:
        """Start the heartbeat."""
        self._thread.start()

    def leave(self) -> None:
        """Release the lease, if this agent still holds it."""
        self._thread.stop(self._heartbeat_seconds)
        try:
            if self._last_lease is not None:
                self._book.release(self._last_lease)
        except StateStoreFailed as error:
            log.warning("the node's name is not given back, its lease runs out", reason=str(error))
        self._held.close()

    def _acquire(self, lease: Lease, before: Collection[str]) -> None:
        try:
            self._book.acquire(lease)
        except LeaseHeld:
            holder = self._book.lease(lease.node)
            # The holder of this directory's lock is the only one that serves it: the earlier one is dead.
            if holder is None or holder.incarnation not in before:
                raise
            log.info("the agent before this one has died", holder=holder.holder)
            self._book.release(holder)
            self._book.acquire(lease)

    def _predecessors(self) -> list[str]:
        try:
            record = read_record(self._file)
        except ValueError:
            return []
        return [] if record is None else list(record["incarnations"])

    def _note(self, incarnations: Sequence[str]) -> None:
        write_record(self._file, {"incarnations": list(incarnations[-_MOST_REMEMBERED:])})

    def _renew(self) -> None:
        try:
            self._book.renew(self._latest())
        except StateStoreFailed as error:
            log.warning("the node's lease is not renewed", reason=str(error))
        except LeaseLost as error:
            self._thread.stop()
            self._on_lost(error)

    def _latest(self) -> Lease:
        """Return the present lease; the last one, if measuring the machine fails or hangs."""
        try:
            self._last_lease = self._patience.ask(self._lease).answer()
        except Unanswered as error:
            log.warning("lease renewed with old values", reason=str(error))
        except Exception as error:  # noqa: BLE001  # of any kind: an agent that renews nothing is taken for dead
            log.error("lease renewed with old values", reason=repr(error))
        return self._last_lease if self._last_lease is not None else self._lease()
