"""Measurements inside one process: embedded mode, Celery on an in-memory broker, statements and messages.

Run as ``python -m tests.bench.inside WHAT ...`` in a process of its own, so that no run sees another's memory, and
prints one JSON object.
"""

import itertools
import json
import resource
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import msgpack
from celery import Celery

from orchestrator.config.settings import load_settings
from orchestrator.model.check_batch import batches_of, to_wire
from orchestrator.model.messages import CHECKS_QUEUE, END, CheckOrder, StackJob
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import make_app
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.noop import NOOP_TASK, PLAIN_CELERY, UNDER_OUR_SETTINGS
from tests.bench.shapes import template
from tests.counting import count_statements

#: A stack that is run first, so that no measurement pays for imports and caches.
WARM_UP = 50


def embedded(shape: str, size: int) -> dict[str, Any]:
    """Run a stack in embedded mode."""
    with Service.open(load_settings(log_level="WARNING")) as service:
        _run(service, "warm-up", template("wide", WARM_UP))
        source = template(shape, size)
        started, used = time.perf_counter(), time.process_time()
        _run(service, "measured", source)
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
    return {"seconds": seconds, "cpu_seconds": cpu, "rss_mib": _peak_mib()}


def _run(service: Service, name: str, source: str) -> None:
    stack = service.create(StackJob(name=name, template=source))
    for progress in service.watch(stack.id, interval_seconds=0.02):
        state = progress.stack.state
    if state != "CREATE_COMPLETE":
        raise SystemExit(f"the stack ended {state}")


def celery_in_memory(case: str, size: int) -> dict[str, Any]:
    """Run Celery with a worker of threads on an in-memory broker: with its defaults, or under our settings."""
    if case == PLAIN_CELERY:
        app = Celery("plain", broker="memory://", set_as_current=False)
        app.conf.worker_hijack_root_logger = False
        options: dict[str, Any] = {"queue": app.conf.task_default_queue}
    else:
        app = make_app(load_settings(broker_url="memory://"))
        options = {"queue": CHECKS_QUEUE, "argsrepr": "()", "kwargsrepr": "{}"}
    # The in-memory transport polls, once a second by itself and whenever the prefetch is used up: that would be an
    # easy opponent.
    app.conf.update(worker_prefetch_multiplier=0, broker_transport_options={"polling_interval": 0.001})
    # A thread of the pool asks for the default app; one of our own processes sets it as it starts.
    app.set_default()
    done = threading.Semaphore(0)

    def noop() -> None:
        done.release()

    app.task(name=NOOP_TASK)(noop)
    worker = app.WorkController(
        pool="threads",
        concurrency=4,
        queues=[options["queue"]],
        hostname="bench@localhost",
        loglevel="ERROR",
    )
    threading.Thread(target=worker.start, daemon=True).start()

    def run(count: int) -> None:
        with app.producer_or_acquire() as producer:
            for _ in range(count):
                app.send_task(NOOP_TASK, producer=producer, **options)
        for _ in range(count):
            done.acquire()

    run(WARM_UP)
    started, used = time.perf_counter(), time.process_time()
    run(size)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - used,
        "rss_mib": _peak_mib(),
    }


class Counting:
    """A publisher that keeps messages and weighs them."""

    def __init__(self, size: int) -> None:
        """``size``: how many orders a message may hold."""
        self.messages: list[Sequence[CheckOrder]] = []
        self.bytes = 0
        self.published = 0
        self._size = size

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        """Keep the orders."""
        for batch in batches_of(orders, self._size):
            self.messages.append(batch)
            if batch[0].phase != END:
                self.published += len(batch)
                self.bytes += len(msgpack.packb([[], {"orders": to_wire(batch)}, {}]))

    def backlog(self) -> int:
        """Count the messages that no worker has taken."""
        return len(self.messages)


def inspect(url: str, shape: str, size: int) -> dict[str, Any]:
    """Run a stack message by message and count what a check sends and asks."""
    migrations.upgrade(url)
    settings = load_settings(database_url=url, log_level="WARNING")
    counting = Counting(settings.batch_size)
    runtime = Runtime(settings, counting, kind="bench")
    job = StackJob(name="inspected", template=template(shape, size), project=settings.project)
    runtime.coordinator.create(job)
    statements = itertools.count()
    count_statements(lambda: next(statements))
    while counting.messages:
        batch = counting.messages.pop()
        if batch[0].phase != END:
            runtime.checker.check(batch)
    runtime.close()
    return {"message_bytes": counting.bytes / counting.published, "statements": next(statements) / size}


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: Sequence[str]) -> None:
    """Measure what the arguments say and print it."""
    what, *rest = arguments
    if what == "embedded":
        result = embedded(rest[0], int(rest[1]))
    elif what in (PLAIN_CELERY, UNDER_OUR_SETTINGS):
        result = celery_in_memory(what, int(rest[0]))
    else:
        result = inspect(rest[0], rest[1], int(rest[2]))
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
