"""The share of the engine that a process of a Celery worker has: made when it is first used, never before a fork."""

from collections.abc import Callable
from functools import cache

from orchestrator.config.settings import load_settings
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import QueuePublisher, default_app
from orchestrator.queue.celery_worker import at_the_beginning, at_the_end, queues_of, worker_name


def runtime_of(kind: str) -> Callable[[], Runtime]:
    """Return what returns this process's runtime, one for all calls.

    The process says that it is there from its beginning to its end.
    """

    @cache
    def runtime() -> Runtime:
        app = default_app()
        return Runtime(
            load_settings(), QueuePublisher(app), kind=kind, celery_name=worker_name(), queues=queues_of(app)
        )

    def begin() -> None:
        # Here, and not in a thread: no task of this process is begun before, so there is one runtime.
        runtime().attendance.begin()

    def end() -> None:
        if runtime.cache_info().currsize:
            runtime().say_last_words()

    at_the_beginning(begin)
    at_the_end(end)
    return runtime
