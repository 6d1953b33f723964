"""What checks cost in one real worker process, by counts: statements, round trips, messages, bytes, calls, memory.

Run as ``python -m tests.bench.one_worker MODE SIZE SHAPE ...``, with the broker and the database in the environment;
prints one JSON object, the costs of a resource by shape. The process makes one stack after the other and carries it out
as a Celery worker with the pool ``solo``: whatever is done for a check is done by one thread, from the message to the
acknowledgement. The modes are those of :data:`METERS`.
"""

import gc
import json
import math
import os
import sys
import tempfile
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final, Protocol

import psycopg
import redis
import sqlalchemy as sa
from celery.signals import after_task_publish
from celery.worker import state
from kombu.asynchronous import get_event_loop

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import CHECK_TASK, FINISH_TASK, StackJob
from orchestrator.processes.runtime import Runtime
from orchestrator.queue import consumer
from orchestrator.queue.celery_app import QueuePublisher, default_app
from orchestrator.queue.processes import run_worker
from orchestrator.store import migrations
from tests.bench.layers import CALLS_OF, LayerCalls, LayerTime
from tests.bench.shapes import template
from tests.counting import count_statements
from workers.check import batch

#: What is run first, so that no measurement pays for imports and caches, such as Celery's lists of what it did last.
WARM_UP: Final[tuple[str, int]] = ("wide", 64)
#: What is counted for the making of a stack, too.
MESSAGES: Final = ("messages", "broker_round_trips", "broker_bytes")


class Meter(Protocol):
    """Measures what happens between a beginning and an end."""

    def begin(self) -> None:
        """Begin."""

    def end(self) -> None:
        """End."""

    @property
    def counted(self) -> Mapping[str, float]:
        """What was counted, all together."""


class Memory:
    """Measures the memory that Python's objects take: the most at any time, and what is kept at the end."""

    def __init__(self) -> None:
        self.counted: Mapping[str, float] = {}

    def begin(self) -> None:
        """Begin, without garbage."""
        gc.collect()
        tracemalloc.start()

    def end(self) -> None:
        """Collect the garbage, and look at what is left."""
        _, peak = tracemalloc.get_traced_memory()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.counted = {"peak_bytes": peak, "kept_bytes": kept}


#: What is measured, by the name of the mode.
METERS: Final[Mapping[str, Callable[[], Meter]]] = {
    "counts": LayerCalls,
    "memory": Memory,
    "cpu": lambda: LayerTime(waiting=False),
    "wall": lambda: LayerTime(waiting=True),
}


class RoundTrips:
    """How often this thread waited for PostgreSQL or Redis, and how many bytes it sent."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._thread = threading.get_ident()
        self._traces: list[Any] = []
        self._send = redis.connection.AbstractConnection.send_packed_command
        redis.connection.AbstractConnection.send_packed_command = self._sending()  # type: ignore[method-assign]
        sa.event.listen(sa.Engine, "connect", self._open)
        sa.event.listen(sa.pool.Pool, "checkout", self._lend)

    def _sending(self) -> Any:
        def send(connection: Any, command: Any, check_health: bool = True) -> None:
            if threading.get_ident() == self._thread:
                self.counts["broker_round_trips"] += 1
                self.counts["broker_bytes"] += sum(
                    map(len, [command] if isinstance(command, bytes) else command)
                )
            self._send(connection, command, check_health)  # type: ignore[no-untyped-call]  # redis is typed in part

        return send

    def _open(self, connection: Any, record: Any) -> None:
        if hasattr(connection, "pgconn"):
            # Open as long as the connection.
            record.info["trace"] = tempfile.TemporaryFile("r")  # noqa: SIM115
            self._traces.append(record.info["trace"])

    def _lend(self, connection: Any, record: Any, _proxy: object) -> None:
        """Have libpq write down what passes on a connection to PostgreSQL while this thread has it."""
        if "trace" in record.info:
            connection.pgconn.untrace()
            if threading.get_ident() == self._thread:
                connection.pgconn.trace(record.info["trace"].fileno())
                connection.pgconn.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)

    def read(self) -> Counter[str]:
        """Return what was counted so far."""
        seen = Counter(self.counts)
        for file in self._traces:
            file.seek(0)
            # Each line: F for what is sent or B for what comes back, the length, the kind.
            ways = [line.split("\t") for line in file if line[:2] in ("F\t", "B\t")]
            seen["database_bytes"] += sum(int(each[1]) for each in ways if each[0] == "F")
            seen["database_round_trips"] += sum(
                one[0] == "F" and two[0] == "B" for one, two in pairwise(ways)
            )
        return seen


class Series:
    """Stacks of some shapes, one after the other, and what each cost from its first check to its end."""

    def __init__(self, mode: str, size: int, shapes: list[str]) -> None:
        self.results: dict[str, dict[str, float]] = {}
        self._mode, self._todo = mode, [WARM_UP, *((shape, size) for shape in shapes)]
        self._running = WARM_UP
        #: None while the first stack is carried out, which is not measured.
        self._meter: Meter | None = None
        self._trips, self._before = RoundTrips(), Counter[str]()
        count_statements(lambda: self._trips.counts.update(statements=1))
        self._runtime = Runtime(load_settings(), QueuePublisher(default_app()), kind="bench")
        after_task_publish.connect(self._published, weak=False)
        self._make()

    def _make(self) -> None:
        """Make the next stack. Planning and rows are no part of a check; the messages are."""
        self._running = shape, size = self._todo.pop(0)
        before = self._trips.read()
        job = StackJob(name=f"{shape}-{len(self._todo)}", template=template(shape, size))
        self._runtime.coordinator.create(job)
        self._before = Counter({**self._trips.read(), **{name: before[name] for name in MESSAGES}})

    def _published(self, sender: str, **_: object) -> None:
        self._trips.counts["messages"] += sender == CHECK_TASK
        if sender != FINISH_TASK:
            return
        if self._meter:
            self._meter.end()
            self._note(self._meter.counted)
        if not self._todo:
            state.should_stop = 0
            return
        self._make()
        # What is due every so often would count by how long the measurement takes.
        loop = get_event_loop()
        assert loop
        loop.timer.clear()
        self._meter = METERS[self._mode]()
        self._meter.begin()

    def _note(self, counted: Mapping[str, float]) -> None:
        shape, size = self._running
        if self._mode == "counts":
            by_layer = {f"{CALLS_OF} {name}": calls for name, calls in counted.items()}
            counted = {**(self._trips.read() - self._before), "calls": sum(counted.values()), **by_layer}
        self.results[shape] = {name: count / size for name, count in counted.items()}


def main(mode: str, size: str, *shapes: str) -> None:
    """Measure, and print the costs; how busy the machine is does not decide what is recorded or sent together."""
    batch.DELAY_SECONDS = math.inf  # type: ignore[misc]
    batch.PATIENCE_SECONDS = threading.TIMEOUT_MAX  # type: ignore[misc]
    # How many events come while one waits would depend on it, too: they are sent at once.
    consumer.EVENTS_WAIT_SECONDS = 0.0  # type: ignore[misc]
    # And another connection, opened while a thread has the first, would prepare all statements anew.
    os.environ["ISOTHERM_DATABASE_CONNECTIONS"] = "1"
    settings = load_settings()
    migrations.upgrade(settings.effective_database_url)
    series = Series(mode, int(size), list(shapes))
    run_worker(settings, concurrency=1, pool="solo", name="measured")
    print(json.dumps(series.results))


if __name__ == "__main__":
    main(*sys.argv[1:])
