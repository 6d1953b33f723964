"""Thin Celery tasks: stack jobs, the end of a traversal, the sweep, the watch over nodes.

They translate, and nothing more.

A job is acknowledged when it is done: a coordinator that dies in the middle leaves it to another, and the job's id
makes doing it twice the same as doing it once.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog
from celery.exceptions import Reject

from cache.node_state.errors import StateStoreFailed
from orchestrator.config.log_context import about_job
from orchestrator.engine.job_errors import refusal_of
from orchestrator.errors import HooksNotLoaded, IsothermError, Unavailable
from orchestrator.model.messages import FINISH_TASK, JOBS, SWEEP_TASK, WATCH_TASK, CheckOrder
from orchestrator.model.names import is_name
from orchestrator.processes.celery_process import runtime_of
from orchestrator.queue.celery_app import default_app
from orchestrator.queue.celery_worker import at_the_beginning
from orchestrator.store.traversals.operation_rows import TakenOver

log = structlog.get_logger()

#: How long a job is kept that another process is at, before the queue gets it back.
OTHERS_SECONDS = 1.0


#: This process's share of the engine.
runtime = runtime_of("coordinator")


def carry_out(task: str, job: Mapping[str, Any]) -> None:
    """Begin what the job of a task says. A refusal is written down under its id, where the sender looks for it."""

    def begin() -> None:
        read = JOBS[task].from_wire(job)
        with _told_if_not_loaded():
            # Whoever is to be told is known before anything happens; the pump's own threads may come later.
            runtime().pump.register()
        runtime().coordinator.begin(read)

    with about_job(task, job_id=_name_in(job, "job_id"), stack=_name_in(job, "name")):
        _carry_out(job, begin)
    with _told_if_not_loaded():
        runtime().pump.wake()


def finish_traversal(order: list[Any]) -> None:
    """Say a traversal's last words."""
    with _told_if_not_loaded():
        try:
            runtime().coordinator.finish(CheckOrder.from_wire(order))
        except TakenOver as error:
            # The sweep brings the order again, should the other never come to its end.
            log.info("another process says last words", reason=str(error))
        runtime().pump.wake()


def sweep() -> None:
    """Publish what is due, until nothing is left."""
    with _told_if_not_loaded():
        while runtime().coordinator.sweep().more:
            continue


def watch_nodes() -> None:
    """Look after nodes that are due; what cannot be done now is done when it is ordered again."""
    try:
        with _told_if_not_loaded():
            runtime().node_watcher.look()
    except (IsothermError, StateStoreFailed) as error:
        log.warning("nodes are looked after later", reason=str(error))


@contextmanager
def _told_if_not_loaded() -> Iterator[None]:
    """Leave work to others, with a line in the log, if what this process needs changed since the main one began."""
    try:
        yield
    except HooksNotLoaded as error:
        log.error("hooks cannot be loaded any more; end this coordinator", error=str(error))


def _carry_out(job: Mapping[str, Any], begin: Callable[[], object]) -> None:
    """Begin what the job says, or tell its sender why not."""
    job_id = _name_in(job, "job_id")
    try:
        try:
            if job_id:
                # Its sender waits longer than for a coordinator that may not be there.
                runtime().store.taken_jobs.take(job_id)
            begin()
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, somebody waits for an answer)
            _refuse(job, error)
    except Unavailable as error:
        if isinstance(error, TakenOver):
            # What the queue gets back it gives to the next at once, and no row could say when it is due.
            time.sleep(OTHERS_SECONDS)
        # Not the job's fault: it goes back to the queue. Any other exception would drop it.
        raise Reject(str(error), requeue=True) from error


def _name_in(job: object, field: str) -> str:
    """Return a name that a job holds; empty if there is none."""
    name = job.get(field) if isinstance(job, Mapping) else None
    return name if is_name(name) else ""


def _refuse(job: Mapping[str, Any], error: Exception) -> None:
    """Write down under the job's id why it was refused, unless it was accepted before the error came."""
    job_id = _name_in(job, "job_id")
    if isinstance(error, IsothermError):
        log.warning("a job was refused", job_id=job_id, error=str(error))
    else:
        log.error("a job met a bug", job_id=job_id, exc_info=error)
    if job_id:
        runtime().store.stacks.refuse_job(job_id, refusal_of(error))


def _begin() -> None:
    with _told_if_not_loaded():
        runtime().pump.start()


at_the_beginning(_begin)

_LATE = {"acks_late": True, "reject_on_worker_lost": True, "acks_on_failure_or_timeout": False}


def _task_of(name: str) -> Callable[[Mapping[str, Any]], None]:
    def task(job: Mapping[str, Any]) -> None:
        carry_out(name, job)

    return task


for _name in JOBS:
    default_app().task(name=_name, **_LATE)(_task_of(_name))
default_app().task(name=FINISH_TASK)(finish_traversal)
default_app().task(name=SWEEP_TASK)(sweep)
default_app().task(name=WATCH_TASK)(watch_nodes)
