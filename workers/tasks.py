"""The thin Celery task of a worker: a check order in, one check.

A message that is lost with its worker is published again by the sweep, so it is acknowledged when it is taken.
"""

from functools import cache
from typing import Any

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import CHECK_TASK, CheckOrder
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import QueuePublisher, default_app
from orchestrator.queue.celery_worker import at_the_beginning, at_the_end, queues_of, worker_name


@cache
def runtime() -> Runtime:
    """Return this process's share of the engine; made in the process that uses it, never before a fork."""
    app = default_app()
    return Runtime(
        load_settings(),
        QueuePublisher(app),
        kind="worker",
        celery_name=worker_name(),
        queues=queues_of(app),
    )


def check_resource(order: list[Any]) -> None:
    """Take one resource one step further."""
    runtime().checker.check(CheckOrder.from_wire(order))


def _begin() -> None:
    runtime().attendance.begin()


def _end() -> None:
    if runtime.cache_info().currsize:
        runtime().say_last_words()


at_the_beginning(_begin)
at_the_end(_end)
default_app().task(name=CHECK_TASK)(check_resource)
