"""Thin Celery tasks: stack jobs, the end of a traversal, the sweep. They translate, and nothing more.

A job is acknowledged when it is done: a coordinator that dies in the middle leaves it to another, and the job's id
makes doing it twice the same as doing it once.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import structlog
from celery.exceptions import Reject

from orchestrator.errors import IsothermError, Unavailable
from orchestrator.messages import (
    ADOPT_TASK,
    CANCEL_TASK,
    CHECK_STACK_TASK,
    CREATE_TASK,
    DELETE_SNAPSHOT_TASK,
    DELETE_TASK,
    FINISH_TASK,
    RESTORE_TASK,
    RESUME_TASK,
    SIGNAL_TASK,
    SNAPSHOT_TASK,
    SUSPEND_TASK,
    SWEEP_TASK,
    UPDATE_TASK,
    AdoptJob,
    CancelJob,
    CheckOrder,
    DeleteJob,
    OperateJob,
    RestoreJob,
    SignalJob,
    SnapshotJob,
    StackJob,
)
from orchestrator.names import is_name
from orchestrator.operable import CHECK, RESUME, SUSPEND
from orchestrator.queue import QueuePublisher, at_the_end, default_app
from orchestrator.refusals import refusal_of
from orchestrator.runtime import Runtime
from orchestrator.settings import load_settings

log = structlog.get_logger()


@cache
def runtime() -> Runtime:
    """Return this process's share of the engine; made in the process that uses it, never before a fork."""
    return Runtime(load_settings(), QueuePublisher(default_app()), kind="coordinator")


def create_stack(job: Mapping[str, Any]) -> None:
    """Begin a stack. A refusal is written down under the job's id, where the sender looks for it."""
    _carry_out(job, lambda: runtime().coordinator.create(StackJob.from_wire(job)))


def adopt_stack(job: Mapping[str, Any]) -> None:
    """Begin a stack of what is there already."""
    _carry_out(job, lambda: runtime().coordinator.adopt(AdoptJob.from_wire(job)))


def update_stack(job: Mapping[str, Any]) -> None:
    """Give a stack a new definition."""
    _carry_out(job, lambda: runtime().coordinator.update(StackJob.from_wire(job)))


def delete_stack(job: Mapping[str, Any]) -> None:
    """Begin the deletion of a stack."""
    _carry_out(job, lambda: runtime().coordinator.delete(DeleteJob.from_wire(job)))


def cancel_stack(job: Mapping[str, Any]) -> None:
    """End what is under way on a stack."""
    _carry_out(job, lambda: runtime().coordinator.cancel(CancelJob.from_wire(job)))


def signal_resource(job: Mapping[str, Any]) -> None:
    """Give a resource a signal."""
    _carry_out(job, lambda: runtime().coordinator.signal(SignalJob.from_wire(job)))


def check_stack(job: Mapping[str, Any]) -> None:
    """Begin to check a stack."""
    _carry_out(job, lambda: runtime().coordinator.operate(OperateJob.from_wire(CHECK, job)))


def suspend_stack(job: Mapping[str, Any]) -> None:
    """Begin to suspend a stack."""
    _carry_out(job, lambda: runtime().coordinator.operate(OperateJob.from_wire(SUSPEND, job)))


def resume_stack(job: Mapping[str, Any]) -> None:
    """Begin to resume a stack."""
    _carry_out(job, lambda: runtime().coordinator.operate(OperateJob.from_wire(RESUME, job)))


def snapshot_stack(job: Mapping[str, Any]) -> None:
    """Begin to take a snapshot of a stack."""
    _carry_out(job, lambda: runtime().coordinator.snapshot(SnapshotJob.from_wire(job)))


def delete_snapshot(job: Mapping[str, Any]) -> None:
    """Delete a snapshot."""
    _carry_out(job, lambda: runtime().coordinator.delete_snapshot(SnapshotJob.from_wire(job, is_there=True)))


def restore_stack(job: Mapping[str, Any]) -> None:
    """Begin to bring a stack back to a snapshot."""
    _carry_out(job, lambda: runtime().coordinator.restore(RestoreJob.from_wire(job)))


def finish_traversal(order: list[Any]) -> None:
    """Say a traversal's last words."""
    runtime().coordinator.finish(CheckOrder.from_wire(order))


def sweep() -> None:
    """Publish what is due, until nothing is left."""
    while runtime().coordinator.sweep().more:
        continue


def _carry_out(job: Mapping[str, Any], begin: Callable[[], object]) -> None:
    """Begin what the job says, or tell its sender why not."""
    job_id = job.get("job_id") if isinstance(job, Mapping) else None
    try:
        try:
            if is_name(job_id):
                # Its sender waits longer than for a coordinator that may not be there.
                runtime().store.taken_jobs.take(job_id)
            begin()
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, somebody waits for an answer)
            _refuse(job, error)
    except Unavailable as error:
        # Not the job's fault: it goes back to the queue. Any other exception would drop it.
        raise Reject(str(error), requeue=True) from error


def _refuse(job: Mapping[str, Any], error: Exception) -> None:
    """Write down under the job's id why it was refused, unless it was accepted before the error came."""
    job_id = job.get("job_id") if isinstance(job, Mapping) else None
    if isinstance(error, IsothermError):
        log.warning("a job was refused", job_id=job_id, error=str(error))
    else:
        log.error("a job met a bug", job_id=job_id, exc_info=error)
    if is_name(job_id):
        runtime().store.stacks.refuse_job(job_id, refusal_of(error))


def _end() -> None:
    if runtime.cache_info().currsize:
        runtime().say_last_words()


at_the_end(_end)

_LATE = {"acks_late": True, "reject_on_worker_lost": True, "acks_on_failure_or_timeout": False}

default_app().task(name=CREATE_TASK, **_LATE)(create_stack)
default_app().task(name=ADOPT_TASK, **_LATE)(adopt_stack)
default_app().task(name=UPDATE_TASK, **_LATE)(update_stack)
default_app().task(name=CANCEL_TASK, **_LATE)(cancel_stack)
default_app().task(name=SIGNAL_TASK, **_LATE)(signal_resource)
default_app().task(name=DELETE_TASK, **_LATE)(delete_stack)
default_app().task(name=CHECK_STACK_TASK, **_LATE)(check_stack)
default_app().task(name=SUSPEND_TASK, **_LATE)(suspend_stack)
default_app().task(name=RESUME_TASK, **_LATE)(resume_stack)
default_app().task(name=SNAPSHOT_TASK, **_LATE)(snapshot_stack)
default_app().task(name=DELETE_SNAPSHOT_TASK, **_LATE)(delete_snapshot)
default_app().task(name=RESTORE_TASK, **_LATE)(restore_stack)
default_app().task(name=FINISH_TASK)(finish_traversal)
default_app().task(name=SWEEP_TASK)(sweep)
