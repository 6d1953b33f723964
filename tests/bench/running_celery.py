"""A Celery worker of two processes whose tasks only count up, and how long it takes over them."""

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from celery import Celery

from orchestrator.model.messages import CHECKS_QUEUE
from tests.bench import noop
from tests.bench.installation import (
    Processes,
    environment,
    plain_worker,
    processes,
    wait_until,
    worker_under_our_settings,
)
from tests.bench.noop import CANVAS, UNDER_OUR_SETTINGS, app_under_our_settings, plain_app


class Took(NamedTuple):
    """How long tasks took from the first that was sent, and the processor time of the worker."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCelery:
    """An app, and its worker."""

    app: Celery
    options: dict[str, Any]
    processes: Processes
    counts: Path

    @classmethod
    @contextmanager
    def start(cls, case: str, broker_url: str, log: Path) -> Iterator[Self]:
        """Start the worker of one of the apps of :mod:`tests.bench.noop`, and end it."""
        options: dict[str, Any] = {}
        if case == UNDER_OUR_SETTINGS:
            app, command = app_under_our_settings(), worker_under_our_settings()
            options = {"queue": CHECKS_QUEUE, "argsrepr": "()", "kwargsrepr": "{}"}
        else:
            backend = broker_url if case == CANVAS else None
            app, command = plain_app(broker_url, backend), plain_worker(broker_url, backend)
        with (
            tempfile.TemporaryDirectory() as counts,
            environment({noop.COUNT_DIRECTORY: counts}),
            processes(command, log=log) as running,
        ):
            yield cls(app=app, options=options, processes=running, counts=Path(counts))
            # The results of a canvas talk to their backend once more, which will be gone.
            gc.collect()

    def run(self, send: Callable[[], object], size: int) -> Took:
        """Send what makes so many tasks run, and wait for the last."""
        before, used = noop.counted(self.counts), self.processes.cpu_seconds()
        started = time.perf_counter()
        send()
        wait_until(lambda: noop.counted(self.counts) - before >= size)
        return Took(time.perf_counter() - started, self.processes.cpu_seconds() - used)

    def run_alone(self, size: int) -> Took:
        """Run so many tasks that have nothing to do with each other."""

        def send() -> None:
            with self.app.producer_or_acquire() as producer:
                for _ in range(size):
                    self.app.send_task(noop.NOOP_TASK, producer=producer, **self.options)

        return self.run(send, size)
