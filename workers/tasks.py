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


class ResourcesFailed(Exception):
    """Resources of a message failed, so that the task is shown as failed. Nothing is repeated by it."""


def check_resources(orders: list[Any]) -> None:
    """Carry out the checks of one message.

    Raises:
        ResourcesFailed: all were carried out, and some resources failed; the message names them.
    """
    failed = runtime().checker.check(from_wire(orders))
    if failed:
        raise ResourcesFailed(", ".join(failed))


# An expected error: it is logged without a traceback.
default_app().task(name=CHECK_TASK, acks_late=True, throws=(ResourcesFailed,))(check_resources)
