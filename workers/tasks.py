"""The thin Celery task of a worker: a check order in, one check.

A message that is lost with its worker is published again by the sweep, so it is acknowledged when it is taken.
"""

from typing import Any

from orchestrator.model.messages import CHECK_TASK, CheckOrder
from orchestrator.processes.celery_process import runtime_of
from orchestrator.queue.celery_app import default_app

#: This process's share of the engine.
runtime = runtime_of("worker")


def check_resource(order: list[Any]) -> None:
    """Carry out one check."""
    runtime().checker.check(CheckOrder.from_wire(order))


default_app().task(name=CHECK_TASK)(check_resource)
