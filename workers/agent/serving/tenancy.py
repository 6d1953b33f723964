"""Holding a node's name: taken when an agent begins, kept by saying so again and again, given back at its end."""

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol

import structlog

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
#: Where the incarnations stand that served the directory last, or were about to.
_FILE: Final = "served.json"
_MOST_REMEMBERED: Final = 8


class LeaseBook(Protocol):
    """Where names are held: :class:`cache.node_state.cache.NodeStateCache`."""

    def lease(self, node: str) -> Lease | None:
        """Return who holds a name."""

    def acquire(self, lease: Lease) -> None:
        """Take a name."""

    def renew(self, lease: Lease) -> None:
        """Keep a name."""

    def release(self, lease: Lease) -> None:
        """Give a name back."""


class Tenancy:
    """Holds a node's name from :meth:`take` until :meth:`leave`."""

    def __init__(
        self,
        book: LeaseBook,
        lease: Callable[[], Lease],
        *,
        directory: Path,
        heartbeat_seconds: float,
        on_lost: Callable[[LeaseLost], None],
    ) -> None:
        """Prepare to take a name.

        Args:
            book: Where it is held.
            lease: What the agent says of itself at the moment.
            directory: The agent's own, which one process serves.
            heartbeat_seconds: How often it says that it is there.
            on_lost: Called once, by a thread of its own, when another agent has the name.
        """
        self._book, self._lease, self._on_lost = book, lease, on_lost
        self._heartbeat_seconds = heartbeat_seconds
        #: What it said last; whoever is asked what the node has may hang, or fail.
        self._said: Lease | None = None
        self._patience = Patience("the node", heartbeat_seconds)
        self._file = directory / _FILE
        self._locks = Locks(directory / "locks")
        self._held = ExitStack()
        self._thread = Periodic(
            "lease", self._renew, every_seconds=heartbeat_seconds, first_seconds=heartbeat_seconds
        )

    def take(self) -> None:
        """Take the name. An agent that died on this machine, in this directory, is no hindrance.

        Raises:
            Conflict: another agent has it; with where that is.
            Unavailable: it is not known who has it, because the store is out of reach; or nothing can be written down.
        """
        lease = self._said = self._lease()
        try:
            self._held.enter_context(self._locks.hold(_LOCK))
        except LockTaken as error:
            raise Conflict(
                f"node {lease.node!r} has an agent on this machine already, in {self._file.parent}"
            ) from error
        try:
            before = self._predecessors()
            # Before it is so: who dies in between is known to the next all the same.
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
        """Say from now on that the agent is there."""
        self._thread.start()

    def leave(self) -> None:
        """Give the name back, if it is still this agent's."""
        self._thread.stop(self._heartbeat_seconds)
        try:
            if self._said is not None:
                self._book.release(self._said)
        except StateStoreFailed as error:
            log.warning("the node's name is not given back, its lease runs out", reason=str(error))
        self._held.close()

    def _acquire(self, lease: Lease, before: Collection[str]) -> None:
        try:
            self._book.acquire(lease)
        except LeaseHeld:
            holder = self._book.lease(lease.node)
            # Whoever has the lock of this directory is the only one that serves it: the one before is dead.
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
        """Return what is to be said now: what was said before, if who is asked what the node has fails or hangs."""
        try:
            self._said = self._patience.ask(self._lease).answer()
        except Unanswered as error:
            log.warning("the lease says what it said before", reason=str(error))
        except Exception as error:  # noqa: BLE001  # whatever it is: an agent that says nothing is taken for dead
            log.error("the lease says what it said before", reason=repr(error))
        return self._said if self._said is not None else self._lease()
