"""Operations on real connections to PostgreSQL, driven one statement at a time.

Each operation runs in a thread of its own, which stops at a *gate* before every statement, its COMMIT included. With
row gates it also stops inside a statement, each time that it has locked a row to update it. One gate is opened at a
time. A connection that waits for another's lock is found in ``pg_locks``; it goes on by itself once the lock is free.
"""

import itertools
import queue
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus

#: The least favourable plan: rows are updated as they lie, and that is the reverse of how they are numbered.
UNFAVOURABLE = {"enable_seqscan": "on", "enable_indexscan": "off", "enable_bitmapscan": "off"}
#: The role whose updates stop at row gates.
EXPLORED = "explored"
#: The tables whose rows have gates.
GATED_TABLES = ("stack", "traversal", "node", "resource")
#: Row gates that are kept shut ahead: each running operation reaches one at most before the next are shut.
AHEAD = 6
#: How long a running operation is left alone before it is looked for among those that wait for locks.
GLANCE_SECONDS = 0.002
GATE = "gate "

#: What a row gate is: a notice, which the client sees at once, and a lock, which the driver holds.
ROW_GATES = f"""
    CREATE SEQUENCE gate;
    CREATE FUNCTION stop_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE number bigint := nextval('gate');
    BEGIN
        RAISE NOTICE '{GATE}% %', number, TG_TABLE_NAME;
        PERFORM pg_advisory_xact_lock_shared(number);
        RETURN NEW;
    END $$;
""" + "".join(
    f"CREATE TRIGGER gate BEFORE UPDATE ON {table} FOR EACH ROW "
    f"WHEN (session_user = '{EXPLORED}') EXECUTE FUNCTION stop_at_gate();"
    for table in GATED_TABLES
)

#: Statements that see and change nothing that an order could decide: the clock's.
_IDLE = re.compile(r"\s*SELECT CAST\(\S+ AS double precision\)(?: AS now)?\s*$")

Act = Callable[[], Any]


class At(Enum):
    """Where an operation is."""

    GATE = "at a gate"
    RUNNING = "running"
    BLOCKED = "waiting for a lock"
    OVER = "over"


class _Stopped(BaseException):
    """The run was given up; the operation ends here."""


@dataclass(eq=False)
class Operation:
    """One operation, its thread, and what became of it."""

    name: str
    act: Act
    at: At = At.RUNNING
    #: The statement, or the row, before which it stands.
    label: str = ""
    #: The row gate at which it stands; None for one before a statement.
    row_gate: int | None = None
    #: The last row gate that was opened for it.
    opened: int = 0
    pid: int = 0
    result: Any = None
    error: BaseException | None = None
    deadlocked: bool = False
    #: Set when the run is given up.
    stopped: bool = False
    permit: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


_current = threading.local()


class Driver:
    """Drives operations on the databases of one server; one run at a time."""

    def __init__(self, connect: Callable[[], psycopg.Connection]) -> None:
        self._own = connect()
        self._news: queue.SimpleQueue[tuple[Operation, At, str, int | None]] = queue.SimpleQueue()
        #: The last row gate that is shut.
        self._shut = 0
        self._shut_until(AHEAD)

    def close(self) -> None:
        """Close the driver's own connection, which opens all gates."""
        self._own.close()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let the statements of operations stop at gates."""
        send = psycopg.Connection.wait
        heard: set[int] = set()

        def wait(connection: psycopg.Connection, generator: Any, *args: Any, **kwargs: Any) -> Any:
            operation: Operation | None = getattr(_current, "operation", None)
            if operation is None:
                return send(connection, generator, *args, **kwargs)
            if id(connection) not in heard:
                heard.add(id(connection))
                connection.add_notice_handler(self._row_gate)
            operation.pid = connection.pgconn.backend_pid
            label = _label(connection, generator)
            if label is not None:
                self._stop(operation, label)
            try:
                return send(connection, generator, *args, **kwargs)
            except psycopg.errors.DeadlockDetected:
                operation.deadlocked = True
                raise

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psycopg.Connection, "wait", wait)
            yield

    def run(self, acts: Sequence[tuple[str, Act]], choose: "Choose") -> "Run":
        """Run operations in the order that ``choose`` decides; return what was decided, and what became of them."""
        operations = [Operation(name, act) for name, act in acts]
        threads = [threading.Thread(target=self._act, args=[each], daemon=True) for each in operations]
        run = Run(operations)
        for thread in threads:
            thread.start()
        try:
            while True:
                self._settle(operations)
                able = [number for number, each in enumerate(operations) if each.at is At.GATE]
                if not able:
                    if all(each.at is At.OVER for each in operations):
                        return run
                    self._hear(None)
                    continue
                number = choose(run, able)
                run.steps.append(Step(number, tuple(able), operations[number].label))
                self._open(operations[number])
        except BaseException:
            self._give_up(operations)
            raise
        finally:
            for thread in threads:
                thread.join()

    def _act(self, operation: Operation) -> None:
        _current.operation = operation
        try:
            operation.result = operation.act()
        except _Stopped:
            pass
        except Exception as error:  # noqa: BLE001  # the verdict on it is the caller's
            operation.error = error
        finally:
            _current.operation = None
            self._news.put((operation, At.OVER, "", None))

    def _stop(self, operation: Operation, label: str) -> None:
        """Stop the calling thread at a gate until it is opened."""
        if operation.stopped:
            return
        self._news.put((operation, At.GATE, label, None))
        operation.permit.acquire()
        if operation.stopped:
            raise _Stopped

    def _row_gate(self, notice: psycopg.errors.Diagnostic) -> None:
        operation: Operation | None = getattr(_current, "operation", None)
        message = notice.message_primary or ""
        if operation is not None and message.startswith(GATE):
            number, table = message.removeprefix(GATE).split()
            self._news.put((operation, At.GATE, f"a row of {table}", int(number)))

    def _open(self, operation: Operation) -> None:
        gate, operation.at, operation.row_gate = operation.row_gate, At.RUNNING, None
        if gate is None:
            operation.permit.release()
            return
        operation.opened = gate
        self._shut_until(gate + AHEAD)
        self._own.execute("SELECT pg_advisory_unlock(%s)", [gate])

    def _shut_until(self, last: int) -> None:
        if last > self._shut:
            shut = "SELECT pg_advisory_lock(number) FROM generate_series(%s::bigint, %s::bigint) AS number"
            self._own.execute(shut, [self._shut + 1, last])
            self._shut = last

    def _settle(self, operations: Sequence[Operation]) -> None:
        """Return once every operation stands at a gate, waits for a lock, or is over."""
        # A lock may have become free by what was done last.
        moving = [each for each in operations if each.at in (At.RUNNING, At.BLOCKED)]
        for each in moving:
            each.at = At.RUNNING
        while any(each.at is At.RUNNING for each in operations):
            if self._hear(GLANCE_SECONDS):
                continue
            running = {each.pid: each for each in operations if each.at is At.RUNNING}
            sql = "SELECT pid, locktype, objid::bigint FROM pg_locks WHERE NOT granted AND pid = ANY(%s)"
            waiting = self._own.execute(sql, [list(running)]).fetchall()
            # What it did meanwhile is news, which counts more.
            if not self._news.empty():
                continue
            for pid, kind, number in waiting:
                if kind != "advisory":
                    running[pid].at = At.BLOCKED
                elif number > running[pid].opened:
                    # In a pipeline, a client sees notices late.
                    running[pid].at, running[pid].row_gate, running[pid].label = At.GATE, number, "a row"

    def _hear(self, seconds: float | None) -> bool:
        try:
            operation, at, label, row_gate = self._news.get(timeout=seconds)
        except queue.Empty:
            return False
        if row_gate is None or row_gate > operation.opened:
            operation.at, operation.label, operation.row_gate = at, label, row_gate
        return True

    def _give_up(self, operations: Sequence[Operation]) -> None:
        for each in operations:
            each.stopped = True
            each.permit.release()
        self._own.execute("SELECT pg_advisory_unlock_all()")


@dataclass(frozen=True)
class Step:
    """One decision: the operation whose gate was opened, those that could have been, and what it did next."""

    number: int
    able: tuple[int, ...]
    label: str


@dataclass
class Run:
    """A run of operations: its decisions, and the operations with what became of them."""

    operations: Sequence[Operation]
    steps: list[Step] = field(default_factory=list)

    @property
    def choices(self) -> tuple[int, ...]:
        """The numbers of the operations whose gates were opened, in order."""
        return tuple(step.number for step in self.steps)

    def __str__(self) -> str:
        """Return the order in words, a line for each stretch of one operation."""
        stretches = itertools.groupby(self.steps, key=lambda step: step.number)
        return "\n".join(
            f"  {self.operations[number].name}: " + "; ".join(step.label for step in steps)
            for number, steps in stretches
        )


Choose = Callable[[Run, Sequence[int]], int]


def _label(connection: psycopg.Connection, generator: Any) -> str | None:
    """Return what a generator of psycopg is about to send, shortened; None for what needs no gate."""
    name: str = generator.__name__
    if name.startswith("_set_"):
        return None
    if name in {"_commit_gen", "_rollback_gen"}:
        idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
        return None if idle else name.strip("_").removesuffix("_gen").upper()
    sent = generator.gi_frame.f_locals.get("query", name)
    text = sent.decode() if isinstance(sent, bytes) else str(sent)
    return None if _IDLE.match(text) else " ".join(text.split())[:70]
