"""The thin Celery task of a worker: the orders of one message in, their checks done.

A message is acknowledged late only so that a worker has no more than it works on: what is lost with a worker is
published again by the sweep, and what is delivered twice is refused by the claim.
"""

from typing import Any

from orchestrator.model.check_batch import from_wire
from orchestrator.model.messages import CHECK_TASK
from orchestrator.processes.celery_process import runtime_of
from orchestrator.queue.celery_app import default_app

#: This process's share of the engine.
runtime = runtime_of("worker")


def check_resources(orders: list[Any]) -> None:
    """Carry out the checks of one message."""
    runtime().checker.check(from_wire(orders))


default_app().task(name=CHECK_TASK, acks_late=True)(check_resources)
