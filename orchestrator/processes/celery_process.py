"""Runtime of a Celery process: made at its first use, never before a fork."""

from collections.abc import Callable
from functools import cache

from orchestrator.config.garbage import settle
from orchestrator.config.settings import load_settings
from orchestrator.processes.preloading import preload
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import QueuePublisher, default_app
from orchestrator.queue.celery_worker import (
    at_the_beginning,
    at_the_end,
    before_the_processes,
    queues_of,
    worker_name,
)
from orchestrator.queue.replacement import CeleryReplacement


def runtime_of(kind: str) -> Callable[[], Runtime]:
    """Return a function that returns this process's one runtime.

    The process is registered from its start to its end, and replaced when third-party code hangs in it.
    """
    replacement = CeleryReplacement()
    replacement.attend()

    @cache
    def runtime() -> Runtime:
        app = default_app()
        return Runtime(
            load_settings(),
            QueuePublisher(app),
            kind=kind,
            celery_name=worker_name(),
            queues=queues_of(app),
            replacement=replacement,
        )

    def begin() -> None:
        # At the start of the process, before any task, so that two threads cannot make two runtimes.
        runtime().attendance.begin()
        # Else what checks leave in cycles, which is little, is kept until it is a quarter of all objects.
        settle()

    def end() -> None:
        if runtime.cache_info().currsize:
            runtime().flush()

    before_the_processes(preload)
    at_the_beginning(begin)
    at_the_end(end)
    return runtime
