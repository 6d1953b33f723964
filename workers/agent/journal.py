"""The journal of an agent: the mutations carried out, and the removals from its machine.

A mutation may be delivered twice, late, or after the agent died in the middle of the first delivery. A success is
not repeated; a failure is, when requested anew. A final removal is recorded as a tombstone: no late message
may bring the subject back. Each fact is a file of its own, replaced as a whole.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from orchestrator.nodes.rpc.errors import RpcRetryable
from orchestrator.nodes.rpc.messages import Fault, Request
from orchestrator.nodes.rpc.operations import Operation, OperationState
from workers.agent.locks import Locks, LockTaken
from workers.agent.records import read_record, write_record

#: The polling interval for operations of another process, which cannot wake this one.
_LOOK_AGAIN_SECONDS: Final = 0.2
#: The interval of the purge of old records.
_PURGE_SECONDS: Final = 3600.0
#: The most operations whose joining requests are remembered.
_MOST_JOINED: Final = 1000
_DIED: Final = Fault(kind=RpcRetryable.kind, message="the agent died in the middle")


class UnderWay(Exception):
    """The operation is being carried out by another delivery."""


class AnotherOperation(Exception):
    """The id belongs to another call."""


@dataclass
class Delivery:
    """One delivery of an operation, while it holds the operation's lock."""

    #: The result of an earlier delivery, or the failure of an earlier one of this very request; None: the work is
    #: still to be done.
    over: Operation | None
    _end: Callable[[Operation], None]

    def succeeded(self, result: Any) -> None:
        """Record the result, which every further delivery returns."""
        self._end(Operation(state=OperationState.DONE, result=result))

    def failed(self, error: Fault) -> None:
        """Record the failure; another delivery runs the operation again."""
        self._end(Operation(state=OperationState.FAILED, error=error))


@dataclass
class Journal:
    """The journal in one directory; safe for threads, and for other processes that share the directory."""

    directory: Path
    locks: Locks
    #: How long finished operations are kept.
    keep_seconds: float
    clock: Callable[[], float] = time.time
    #: Notified whenever an operation ends in this process.
    _over: threading.Condition = field(default_factory=threading.Condition)
    #: The requests, by operation, that came while it was under way: they share its end.
    _joined: dict[str, set[str]] = field(default_factory=dict)
    _purged_at: float = 0.0

    # -- operations --------------------------------------------------------------------------------------------

    @contextmanager
    def delivery(self, request: Request) -> Iterator[Delivery]:
        """Lock an operation, from reading its record to its end.

        A delivery that ends without an outcome leaves it interrupted.

        Raises:
            UnderWay: another delivery holds it.
            AnotherOperation: the id belongs to another call.
        """
        try:
            with ExitStack() as held:
                try:
                    held.enter_context(self.locks.hold(_operation_lock(request.operation_id)))
                except LockTaken as error:
                    with self._over:
                        # Requests of another process, or of one that has just ended, stay.
                        while len(self._joined) >= _MOST_JOINED:
                            del self._joined[next(iter(self._joined))]
                        self._joined.setdefault(request.operation_id, set()).add(request.id)
                    raise UnderWay from error
                yield self._begun(request)
        finally:
            with self._over:
                self._over.notify_all()

    def _begun(self, request: Request) -> Delivery:
        self._purge_now_and_then()
        begun_file, ended_file = self._files_of(request.operation_id)
        facts = {
            "operation_id": request.operation_id,
            "rpc": request.rpc,
            "digest": _digest(request),
            "request_id": request.id,
            "at": self.clock(),
        }
        ended, begun = read_record(ended_file), read_record(begun_file)
        for record in (ended, begun):
            if record is not None and record["digest"] != facts["digest"]:
                raise AnotherOperation(record["rpc"])

        def end(operation: Operation) -> None:
            self._write_end(facts, operation)

        # A copy of a message that failed is not tried again: newer requests may have come since.
        if ended is not None and (ended["state"] == OperationState.DONE or _belongs_to(ended, request.id)):
            return Delivery(_operation_of(ended), end)
        write_record(begun_file, facts)
        return Delivery(None, end)

    def _write_end(self, facts: Mapping[str, Any], operation: Operation) -> None:
        operation_id = facts["operation_id"]
        begun_file, ended_file = self._files_of(operation_id)
        with self._over:
            joined = self._joined.pop(operation_id, set())
        write_record(ended_file, {**operation.to_wire(), **facts, "joined": sorted(joined)})
        begun_file.unlink(missing_ok=True)

    def note_late(self, request: Request, error: Fault) -> None:
        """Record that a request came too late, unless more is known of its operation."""
        if self.operation(request.operation_id).state is OperationState.UNKNOWN:
            with suppress(UnderWay, AnotherOperation), self.delivery(request) as delivery:
                if delivery.over is None:
                    delivery.failed(error)

    def operation(self, operation_id: str, *, request_id: str = "") -> Operation:
        """Return the record of an operation.

        With ``request_id``, failures and interruptions of other requests are ignored: the operation is unknown until
        this request has arrived.
        """
        begun_file, ended_file = self._files_of(operation_id)
        begun = read_record(begun_file)
        # In this order: the end is written before the lock is released.
        held = self.locks.is_held(_operation_lock(operation_id))
        ended = read_record(ended_file)
        if ended is not None and ended["state"] == OperationState.DONE:
            return _operation_of(ended)
        if held:
            return Operation(state=OperationState.RUNNING)
        if begun is not None:
            if read_record(begun_file) != begun:
                return self.operation(operation_id, request_id=request_id)
            if request_id in ("", begun["request_id"]):
                return Operation(state=OperationState.INTERRUPTED, request_id=begun["request_id"])
        elif ended is not None and (not request_id or _belongs_to(ended, request_id)):
            return _operation_of(ended)
        return Operation(state=OperationState.UNKNOWN)

    def wait(self, operation_id: str, wait_seconds: float, *, request_id: str = "") -> Operation:
        """Return the record of an operation as soon as it is over or interrupted, or the time is up."""
        deadline = time.monotonic() + wait_seconds
        with self._over:
            while True:
                found = self.operation(operation_id, request_id=request_id)
                left = deadline - time.monotonic()
                if left <= 0 or found.state not in (OperationState.UNKNOWN, OperationState.RUNNING):
                    return found
                self._over.wait(min(left, _LOOK_AGAIN_SECONDS))

    def give_up_interrupted(self) -> list[str]:
        """Record as failed the operations in whose middle an agent has died; return their ids.

        Another delivery runs each again, as before.
        """
        given_up = []
        for path in self._records("begun"):
            with suppress(LockTaken, FileNotFoundError):
                begun = read_record(path)
                if begun is None:
                    continue
                with self.locks.hold(_operation_lock(begun["operation_id"])):
                    # Another process of this agent may have been faster.
                    if path.exists():
                        self._write_end(begun, Operation(state=OperationState.FAILED, error=_DIED))
                        given_up.append(begun["operation_id"])
        return given_up

    # -- final removals ----------------------------------------------------------------------------------------

    def bury(self, kind: str, name: str, why: str = "was removed") -> None:
        """Record that a subject is removed for good; must precede the removal."""
        grave = {"kind": kind, "name": name, "why": why, "at": self.clock()}
        write_record(self._grave(kind, name), grave)

    def burial(self, kind: str, name: str) -> str:
        """Return the fate of a subject, such as ``was removed``; empty: none recorded."""
        record = read_record(self._grave(kind, name))
        return "" if record is None else str(record["why"])

    def dig_up(self, kind: str, name: str) -> None:
        """Delete the record of a removal: the subject has come back on purpose."""
        self._grave(kind, name).unlink(missing_ok=True)

    # -- files -------------------------------------------------------------------------------------------------

    def purge(self) -> None:
        """Delete what is older than ``keep_seconds``."""
        oldest = self.clock() - self.keep_seconds
        for path in [*self._records("ended"), *self._records("begun"), *self._records("buried")]:
            with suppress(FileNotFoundError):  # another process of this agent was faster
                if path.stat().st_mtime < oldest and not self._is_under_way(path):
                    path.unlink()

    def _purge_now_and_then(self) -> None:
        if self.clock() - self._purged_at >= _PURGE_SECONDS:
            self._purged_at = self.clock()
            self.purge()

    def _is_under_way(self, path: Path) -> bool:
        record = read_record(path) if path.parent.name == "begun" else None
        return record is not None and self.locks.is_held(_operation_lock(record["operation_id"]))

    def _files_of(self, operation_id: str) -> tuple[Path, Path]:
        name = _file_name(operation_id)
        return self.directory / "begun" / name, self.directory / "ended" / name

    def _grave(self, kind: str, name: str) -> Path:
        return self.directory / "buried" / _file_name(f"{kind}\0{name}")

    def _records(self, part: str) -> list[Path]:
        return sorted((self.directory / part).glob("*.json"))


def _operation_of(record: Mapping[str, Any]) -> Operation:
    return Operation.from_wire({name: record[name] for name in ("state", "request_id", "result", "error")})


def _belongs_to(record: Mapping[str, Any], request_id: str) -> bool:
    return request_id == record["request_id"] or request_id in record["joined"]


def _operation_lock(operation_id: str) -> str:
    return f"operation {operation_id}"


def _file_name(name: str) -> str:
    # An id may hold any characters.
    return f"{hashlib.sha256(name.encode()).hexdigest()}.json"


def _digest(request: Request) -> str:
    """Return a digest that identifies a call without revealing its arguments."""
    call = json.dumps([request.rpc, dict(request.arguments)], sort_keys=True, default=repr)
    return hashlib.sha256(call.encode()).hexdigest()
