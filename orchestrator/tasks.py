"""Celery tasks of the coordinator: arriving jobs, waiting jobs, the end of a traversal, the sweep, watched machines.

They only translate between Celery and the engine. The message of a job is acknowledged when the job is recorded in the
database; another message has a coordinator begin the next job, whichever that is by then.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from celery.exceptions import Reject

from cache.node_state.errors import StateStoreFailed
from orchestrator.config.logger import get_logger
from orchestrator.engine.job_queue import JobQueue
from orchestrator.errors import HooksNotLoaded, IsothermError, NotAllowed, Unavailable
from orchestrator.keys.envelope import Refused
from orchestrator.model.audit import AuditEntry
from orchestrator.model.identity import Caller
from orchestrator.model.messages import (
    BEGIN_TASK,
    FINISH_TASK,
    JOBS,
    STACKS_QUEUE,
    SWEEP_TASK,
    WATCH_TASK,
    CheckOrder,
    Job,
)
from orchestrator.processes.celery_process import runtime_of
from orchestrator.queue.celery_app import UnreadJobs, announce_job, default_app
from orchestrator.queue.celery_worker import at_the_beginning
from orchestrator.queue.consumer import SIGNED_BY
from orchestrator.queue.job_slots import job_slots
from orchestrator.queue.refusals import refusals
from orchestrator.store.traversals.operation_rows import TakenOver

log = get_logger()

#: Jobs in the broker are read before the next one is begun, so that the turn of each project is known; but not for
#: longer than this, or a flood of messages would stop all work.
READING_SECONDS: Final = 20.0
#: How long a process begins one job after the other, before the messages that arrived meanwhile have their turn.
BEGINNING_SECONDS: Final = 1.0
#: Why a job was refused that was signed well, by a user whose role is too low.
NOT_ALLOWED: Final = "not allowed"

#: Returns this process's runtime.
runtime = runtime_of("coordinator")


def accept(task: str, job: Mapping[str, Any], message_id: str = "", *, signed_by: str) -> None:
    """Record a job that arrived; the last of those that are unread announces that jobs wait.

    ``signed_by`` is the id of the key that signed it, which decides who its sender is, and what that may do.
    """
    try:
        _jobs().accept(task, job, message_id=message_id, signed_by=signed_by)
    except Unavailable as error:
        # It returns to the queue. Any other exception would drop it.
        raise Reject(str(error), requeue=True) from error
    if not _turns.unread():
        announce_job(default_app())


def begin_next() -> None:
    """Begin the jobs that wait, one after the other, if a slot is free; soon another announcement goes on with them."""
    with job_slots.one() as is_free:
        if not is_free:
            # Announced again at the end of a turn, after the last that is unread, and by the sweep.
            return
        try:
            has_begun = _begin_for_a_while()
        except Unavailable as error:
            log.warning("waiting jobs are begun later", reason=str(error))
            return
    # Not before the slot is free.
    if has_begun and runtime().store.taken_jobs.is_due():
        announce_job(default_app())


def _begin_for_a_while() -> bool:
    """Begin jobs until none is due, the turns are not known, or time is up; return whether there was one.

    With the first, another process is told of those that are still due; a message for each would cost more than most
    take.
    """
    ends = time.monotonic() + BEGINNING_SECONDS
    jobs, has_begun = _jobs(), False
    while _turns.are_known() and jobs.begin_next(announces=not has_begun):
        has_begun = True
        with _reporting_import_errors():
            runtime().pump.wake()
        if time.monotonic() > ends:
            break
    return has_begun


class _Turns:
    """Whether the turns of the projects are known: whether no job waits in the broker, unread."""

    def __init__(self) -> None:
        self._reading_since: float | None = None
        self._jobs: UnreadJobs | None = None

    def unread(self) -> int:
        """Return how many jobs wait in the broker."""
        # Made after the fork.
        if self._jobs is None:
            self._jobs = UnreadJobs(default_app())
        return self._jobs.count()

    def are_known(self) -> bool:
        """Return whether the next job may be begun."""
        now = time.monotonic()
        if self._reading_since is None:
            self._reading_since = now
        if self.unread() and now < self._reading_since + READING_SECONDS:
            return False
        self._reading_since = None
        return True


_turns = _Turns()


def _jobs() -> JobQueue:
    return JobQueue(
        runtime().store,
        runtime().settings,
        admit=_admitted,
        begin=_begin_job,
        announce=lambda: announce_job(default_app()),
    )


def _begin_job(job: Job) -> None:
    with _reporting_import_errors():
        # Event sinks are registered before the first event; the pump's own threads may start later.
        runtime().pump.register()
    runtime().coordinator.begin(job)


def _admitted(job: Job, key_id: str) -> Caller:
    """Return who sent a job that was signed with a key.

    Raises:
        NotAllowed: the sender's role does not allow it.
    """
    try:
        who = _sender(key_id, job)
        _require_role(who, job)
    except NotAllowed as error:
        headers = {"task": job.task, "id": job.job_id}
        refusals.add(STACKS_QUEUE, Refused(NOT_ALLOWED, str(error)), headers=headers)
        raise
    return who


def _sender(key_id: str, job: Job) -> Caller:
    """Return who sent a job: the user of the key; a face of the installation names the one for whom it acts."""
    key = default_app().keys().named(key_id)
    if key is None:
        raise NotAllowed(f"the key {key_id!r} that signed the job was removed")
    identity = key.identity if key.user else replace(key.identity, user=job.user)
    return Caller(identity=identity, origin=f"queue, key {key.id}", comment=job.comment)


def _require_role(who: Caller, job: Job) -> None:
    """Require that the sender's role allows a job; the verdict is recorded."""
    log_of_all = runtime().store.audit_log
    target = {"project": job.project, "target": f"{job.name} (job {job.job_id})"}
    for operation in job.operations:
        try:
            runtime().policy.require(who.identity, operation, job.project)
        except NotAllowed as error:
            log_of_all.append_refusal(AuditEntry.of(who, operation, **target, refused=str(error)))
            raise
    # One that is delivered again was recorded, and has no effect.
    if not runtime().store.taken_jobs.is_taken(job.job_id):
        for operation in job.operations:
            log_of_all.append(AuditEntry.of(who, operation, **target))


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
    if runtime().store.taken_jobs.is_due():
        announce_job(default_app())


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


def _begin() -> None:
    with _reporting_import_errors():
        runtime().pump.start()


at_the_beginning(_begin)

_LATE = {"acks_late": True, "reject_on_worker_lost": True, "acks_on_failure_or_timeout": False}


def _register(name: str) -> None:
    def task(job: Mapping[str, Any]) -> None:
        request = registered.request
        accept(name, job, request.id or "", signed_by=request.get(SIGNED_BY) or "")

    registered = default_app().task(name=name, **_LATE)(task)


for _name in JOBS:
    _register(_name)
default_app().task(name=BEGIN_TASK, **_LATE)(begin_next)
default_app().task(name=FINISH_TASK)(finish_traversal)
default_app().task(name=SWEEP_TASK)(sweep)
default_app().task(name=WATCH_TASK)(watch_nodes)
