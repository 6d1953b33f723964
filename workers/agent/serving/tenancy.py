"""The tenancy of a node name: its lease is acquired at start, renewed by a heartbeat, released at the end.

One process of a machine serves a directory, and one acts for a node (:mod:`workers.agent.serving.presence`). A
process that has let its lease run out is followed by the next one, which ends it.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import LeaseHeld, LeaseLost, StateStoreFailed
from cache.node_state.lease import Lease
from orchestrator.config.logger import get_logger
from orchestrator.config.periodic import Periodic
from orchestrator.errors import Conflict, Unavailable
from workers.agent.fence import Fence, Fenced
from workers.agent.locks import Locks, LockTaken
from workers.agent.patience import Patience, Unanswered
from workers.agent.records import read_record, write_record
from workers.agent.serving.presence import Presence

log = get_logger()

#: The lock of the one process that serves a directory.
_LOCK: Final = "agent process"
#: The file of the incarnations that served the directory last, or were about to.
_FILE: Final = "served.json"
_MOST_REMEMBERED: Final = 8
#: The longest wait for the directory of a process that was ended.
_LOCK_SECONDS: Final = 10.0


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
        presence: Presence | None = None,
    ) -> None:
        """Keep the arguments; ``on_lost`` is called once, in any thread, when another agent has the lease.

        Without ``presence``, a predecessor that still has the directory is not ended.
        """
        self._book, self._lease, self._on_lost = book, lease, on_lost
        self._heartbeat_seconds, self._presence = heartbeat_seconds, presence
        #: To be checked before each effect on the machine.
        self.fence = Fence(book.lease_seconds, self._confirm)
        self._losing = threading.Lock()
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

        Nor does one that stands still: it is ended once its lease has run out.

        Raises:
            Conflict: another agent holds it; the message names its host.
            Unavailable: the holder is unknown, because the store is out of reach; or the directory cannot be written.
        """
        lease = self._last_lease = self._lease()
        alone = self._lock_directory()
        try:
            if not alone and (self._presence is None or self._book.lease(lease.node) is not None):
                raise Conflict(
                    f"node {lease.node!r} has an agent on this machine already, in {self._file.parent}"
                )
            before = self._predecessors()
            # Recorded first: the successor of a process that dies in between recognizes it all the same.
            self._note([*before, lease.incarnation])
            began = self.fence.now()
            self._acquire(lease, before if alone else [], before)
            self._be_alone(lease, locked=alone)
            self._note([lease.incarnation])
            self.fence.renewed(began)
        except Conflict:
            self._held.close()
            raise
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

    def _lock_directory(self, wait_seconds: float = 0.0) -> bool:
        try:
            self._held.enter_context(self._locks.hold(_LOCK, wait_seconds=wait_seconds))
        except LockTaken:
            return False
        return True

    def _be_alone(self, lease: Lease, *, locked: bool) -> None:
        """End the process that had the lease before, if it still runs on this machine, and lock the directory."""
        try:
            if self._presence is not None:
                self._presence.claim()
                self._held.callback(self._presence.release)
            if not locked and not self._lock_directory(_LOCK_SECONDS):
                raise Conflict(f"another process has {self._file.parent} and no lease: end it first")
        except Conflict:
            self._book.release(lease)
            raise

    def _acquire(self, lease: Lease, dead: Collection[str], before: Sequence[str]) -> None:
        try:
            self._take_lease(lease, dead)
        except LeaseHeld as error:
            self._note(before)
            raise Conflict(str(error)) from error

    def _take_lease(self, lease: Lease, dead: Collection[str]) -> None:
        try:
            self._book.acquire(lease)
        except LeaseHeld:
            holder = self._book.lease(lease.node)
            # The holder of this directory's lock is the only one that serves it: the earlier one is dead.
            if holder is None or holder.incarnation not in dead:
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
        lease, began = self._latest(), self.fence.now()
        try:
            self._book.renew(lease)
            self.fence.renewed(began)
        except StateStoreFailed as error:
            log.warning("the node's lease is not renewed", reason=str(error))
        except LeaseLost as error:
            self._lose(error)

    def _confirm(self) -> None:
        """Renew the lease that may have run out, for the fence."""
        try:
            self._book.renew(self._last_lease or self._lease())
        except StateStoreFailed as error:
            raise Fenced(f"whether another agent has the node's lease is unknown: {error}") from error
        except LeaseLost as error:
            self._lose(error)
            raise Fenced(str(error)) from error

    def _lose(self, error: LeaseLost) -> None:
        with self._losing:
            if self.fence.is_lost:
                return
            self.fence.lost(str(error))
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
