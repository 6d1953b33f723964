"""What an agent must not forget: the mutations it has carried out, and what was removed from its node.

A mutation may be delivered twice, late, or after the agent died in the middle of the first delivery. What succeeded is
not done again; what failed is, when it is asked for anew. And what was removed for good is buried: no late message
may bring it back. Each fact is a file of its own, replaced as a whole.
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

#: How often one looks whether another process has ended an operation: it can wake nobody here.
_LOOK_AGAIN_SECONDS: Final = 0.2
#: How often old records are looked for.
_PURGE_SECONDS: Final = 3600.0
#: Of so many operations it is remembered at once who came while they were under way.
_MOST_JOINED: Final = 1000
_DIED: Final = Fault(kind=RpcRetryable.kind, message="the agent died in the middle")


class UnderWay(Exception):
    """The operation is being carried out at this moment, by another delivery."""


class AnotherOperation(Exception):
    """The operation of this id was another call."""


@dataclass
class Delivery:
    """One delivery of an operation, while it has the operation for itself."""

    #: What an earlier delivery brought about, or how an earlier one of this very request failed; None: the work is to
    #: be done.
    over: Operation | None
    _end: Callable[[Operation], None]

    def succeeded(self, result: Any) -> None:
        """Write the result down: from now on it is what every delivery gets."""
        self._end(Operation(state=OperationState.DONE, result=result))

    def failed(self, error: Fault) -> None:
        """Write the failure down; another delivery runs the operation again."""
        self._end(Operation(state=OperationState.FAILED, error=error))


@dataclass
class Journal:
    """The journal in one directory; safe for threads, and for other processes that share the directory."""

    directory: Path
    locks: Locks
    #: How long is remembered what is over.
    keep_seconds: float
    clock: Callable[[], float] = time.time
    #: Woken whenever an operation is over in this process.
    _over: threading.Condition = field(default_factory=threading.Condition)
    #: The requests, by operation, that came while it was under way: its end is theirs.
    _joined: dict[str, set[str]] = field(default_factory=dict)
    _purged_at: float = 0.0

    # -- operations --------------------------------------------------------------------------------------------

    @contextmanager
    def delivery(self, request: Request) -> Iterator[Delivery]:
        """Have an operation for oneself, from the look at what is known of it to the end.

        A delivery that ends without a word leaves it interrupted.

        Raises:
            UnderWay: another delivery has it.
            AnotherOperation: this id was given to another call before.
        """
        try:
            with ExitStack() as held:
                try:
                    held.enter_context(self.locks.hold(_operation_lock(request.operation_id)))
                except LockTaken as error:
                    with self._over:
                        # Those of another process, or of one that has just ended, nobody takes away.
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

        # A copy of a message that failed is not tried again: since then, others may have come that count.
        if ended is not None and (ended["state"] == OperationState.DONE or _is_told_to(ended, request.id)):
            return Delivery(_told(ended), end)
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
        """Write down that a request came too late, unless more is known of its operation."""
        if self.operation(request.operation_id).state is OperationState.UNKNOWN:
            with suppress(UnderWay, AnotherOperation), self.delivery(request) as delivery:
                if delivery.over is None:
                    delivery.failed(error)

    def operation(self, operation_id: str, *, request_id: str = "") -> Operation:
        """Return what is known of an operation.

        Args:
            operation_id: Which one.
            request_id: If given, a failure or an interruption of other requests alone counts for nothing: the operation
                is unknown until this one has arrived.
        """
        begun_file, ended_file = self._files_of(operation_id)
        begun = read_record(begun_file)
        # In this order: who lets go of the lock has written the end before.
        held = self.locks.is_held(_operation_lock(operation_id))
        ended = read_record(ended_file)
        if ended is not None and ended["state"] == OperationState.DONE:
            return _told(ended)
        if held:
            return Operation(state=OperationState.RUNNING)
        if begun is not None:
            if read_record(begun_file) != begun:
                return self.operation(operation_id, request_id=request_id)
            if request_id in ("", begun["request_id"]):
                return Operation(state=OperationState.INTERRUPTED, request_id=begun["request_id"])
        elif ended is not None and (not request_id or _is_told_to(ended, request_id)):
            return _told(ended)
        return Operation(state=OperationState.UNKNOWN)

    def wait(self, operation_id: str, wait_seconds: float, *, request_id: str = "") -> Operation:
        """Return what is known of an operation as soon as it is over or interrupted, or the time is up."""
        deadline = time.monotonic() + wait_seconds
        with self._over:
            while True:
                found = self.operation(operation_id, request_id=request_id)
                left = deadline - time.monotonic()
                if left <= 0 or found.state not in (OperationState.UNKNOWN, OperationState.RUNNING):
                    return found
                self._over.wait(min(left, _LOOK_AGAIN_SECONDS))

    def give_up_interrupted(self) -> list[str]:
        """Write down as failed the operations in whose middle an agent has died; return their ids.

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

    # -- what is removed for good ------------------------------------------------------------------------------

    def bury(self, kind: str, name: str, why: str = "was removed") -> None:
        """Write down that something is gone for good; to be done before it is removed."""
        grave = {"kind": kind, "name": name, "why": why, "at": self.clock()}
        write_record(self._grave(kind, name), grave)

    def burial(self, kind: str, name: str) -> str:
        """Return what has become of something, such as ``was removed``; empty: nothing is known."""
        record = read_record(self._grave(kind, name))
        return "" if record is None else str(record["why"])

    def dig_up(self, kind: str, name: str) -> None:
        """Forget that something was gone: it has come back by an order that knew."""
        self._grave(kind, name).unlink(missing_ok=True)

    # -- the files ---------------------------------------------------------------------------------------------

    def purge(self) -> None:
        """Forget what is older than has to be kept."""
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
        """Return where the beginning of an operation is on record, and where its end."""
        name = _file_name(operation_id)
        return self.directory / "begun" / name, self.directory / "ended" / name

    def _grave(self, kind: str, name: str) -> Path:
        return self.directory / "buried" / _file_name(f"{kind}\0{name}")

    def _records(self, part: str) -> list[Path]:
        return sorted((self.directory / part).glob("*.json"))


def _told(record: Mapping[str, Any]) -> Operation:
    return Operation.from_wire({name: record[name] for name in ("state", "request_id", "result", "error")})


def _is_told_to(record: Mapping[str, Any], request_id: str) -> bool:
    """Whether the end on record is that of a request."""
    return request_id == record["request_id"] or request_id in record["joined"]


def _operation_lock(operation_id: str) -> str:
    return f"operation {operation_id}"


def _file_name(name: str) -> str:
    # An id may hold anything.
    return f"{hashlib.sha256(name.encode()).hexdigest()}.json"


def _digest(request: Request) -> str:
    """Return what tells calls apart without telling what they say."""
    said = json.dumps([request.rpc, dict(request.arguments)], sort_keys=True, default=repr)
    return hashlib.sha256(said.encode()).hexdigest()
