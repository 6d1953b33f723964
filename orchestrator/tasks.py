"""Celery tasks of the coordinator: stack jobs, the end of a traversal, the sweep, and the watch over machines.

They only translate between Celery and the engine. A job is acknowledged when it is done, so that another coordinator
repeats it if this one dies; the job's id makes repeating it harmless.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog
from celery import current_task
from celery.exceptions import Reject

from cache.node_state.errors import StateStoreFailed
from hooks.values.secret_texts import masked, texts_in
from orchestrator.config.log_context import about_job
from orchestrator.config.log_masking import masking_logs
from orchestrator.engine.job_errors import refusal_of
from orchestrator.errors import HooksNotLoaded, IsothermError, Unavailable
from orchestrator.model.messages import FINISH_TASK, JOBS, SWEEP_TASK, WATCH_TASK, CheckOrder
from orchestrator.model.names import is_name
from orchestrator.processes.celery_process import runtime_of
from orchestrator.queue.celery_app import default_app
from orchestrator.queue.celery_worker import at_the_beginning
from orchestrator.store.traversals.operation_rows import TakenOver

log = structlog.get_logger()

#: How long a job that another process holds is kept before it is returned to the queue.
OTHERS_SECONDS = 1.0


#: Returns this process's runtime.
runtime = runtime_of("coordinator")


def carry_out(task: str, job: Mapping[str, Any]) -> None:
    """Carry out the job of a task. A refusal is stored under the job's id, where the sender reads it."""

    def begin() -> None:
        read = JOBS[task].from_wire(job)
        with _reporting_import_errors():
            # Event sinks are registered before the first event; the pump's own threads may start later.
            runtime().pump.register()
        runtime().coordinator.begin(read)

    with about_job(task, job_id=_name_in(job, "job_id"), stack=_name_in(job, "name")):
        _carry_out(job, begin)
    with _reporting_import_errors():
        runtime().pump.wake()


def finish_traversal(order: list[Any]) -> None:
    """Do the post-operation work of a traversal."""
    with _reporting_import_errors():
        try:
            runtime().coordinator.finish(CheckOrder.from_wire(order))
        except TakenOver as error:
            # The sweep publishes the order again if the other process dies.
            log.info("another process runs the callbacks", reason=str(error))
        runtime().pump.wake()


def sweep() -> None:
    """Sweep until no more nodes are due."""
    with _reporting_import_errors():
        while runtime().coordinator.sweep().more:
            continue


def watch_nodes() -> None:
    """Watch the machines that are due; after an error, the next order tries again."""
    try:
        with _reporting_import_errors():
            runtime().node_watcher.look()
    except (IsothermError, StateStoreFailed) as error:
        log.warning("nodes are looked after later", reason=str(error))


@contextmanager
def _reporting_import_errors() -> Iterator[None]:
    """Log an error if plugins cannot be loaded any more, and leave the work to other processes."""
    try:
        yield
    except HooksNotLoaded as error:
        log.error("hooks cannot be loaded any more; end this coordinator", error=str(error))


def _carry_out(job: Mapping[str, Any], begin: Callable[[], object]) -> None:
    """Begin a job, or store why it is refused."""
    job_id = _name_in(job, "job_id")
    try:
        try:
            if job_id:
                # The sender waits longer for a job that a coordinator has taken.
                runtime().store.taken_jobs.take(job_id)
            begin()
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 (the sender waits for a result)
            _refuse(job, error)
    except Unavailable as error:
        if isinstance(error, TakenOver):
            # The queue would deliver it again at once.
            time.sleep(OTHERS_SECONDS)
        # It returns to the queue. Any other exception would drop it.
        raise Reject(str(error), requeue=True) from error


def _name_in(job: object, field: str) -> str:
    """Return a field of a job that is a name; empty if it is none."""
    name = job.get(field) if isinstance(job, Mapping) else None
    return name if is_name(name) else ""


def _refuse(job: Mapping[str, Any], error: Exception) -> None:
    """Store under the job's id why it was refused, unless it was accepted before the error."""
    job_id, refusal = _name_in(job, "job_id"), refusal_of(error)
    if isinstance(error, IsothermError):
        log.warning("a job was refused", job_id=job_id, error=str(error))
    else:
        # Plugins and libraries may quote what the job gave them.
        given = frozenset(_given_texts(job))
        refusal["message"] = masked(str(refusal["message"]), given)
        with masking_logs(lambda text: masked(text, given)):
            log.error("a job met a bug", job_id=job_id, exc_info=error)
    if job_id:
        runtime().store.stacks.refuse_job(job_id, refusal)


def _identified(job: Mapping[str, Any], message_id: str) -> Mapping[str, Any]:
    """Return a job with an id: of one without, the message's, so that a repeated delivery is no second job."""
    return job if not isinstance(job, Mapping) or job.get("job_id") else {**job, "job_id": message_id}


def _given_texts(job: object) -> Iterator[str]:
    """Yield the values that a job gives to parameters, as far as they can be found without reading its environments."""
    if isinstance(job, Mapping):
        yield from texts_in(job.get("parameters"))
        for text in texts_in(job.get("environments")):
            yield from (line.partition(": ")[2].strip(" '\"") for line in text.splitlines())


def _begin() -> None:
    with _reporting_import_errors():
        runtime().pump.start()


at_the_beginning(_begin)

_LATE = {"acks_late": True, "reject_on_worker_lost": True, "acks_on_failure_or_timeout": False}


def _task_of(name: str) -> Callable[[Mapping[str, Any]], None]:
    def task(job: Mapping[str, Any]) -> None:
        carry_out(name, _identified(job, current_task.request.id))

    return task


for _name in JOBS:
    default_app().task(name=_name, **_LATE)(_task_of(_name))
default_app().task(name=FINISH_TASK)(finish_traversal)
default_app().task(name=SWEEP_TASK)(sweep)
default_app().task(name=WATCH_TASK)(watch_nodes)
