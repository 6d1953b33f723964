"""Job queue of a coordinator: records jobs as they arrive, and begins them by turn of project.

A job is in the database from before its message is acknowledged until its result is there, so that a process may die at
any instruction. What begins twice has one effect, by the job's id.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hooks.values.secret_texts import masked, texts_in
from orchestrator.config.caller import acting_for
from orchestrator.config.log_context import about_job
from orchestrator.config.log_masking import masking_logs
from orchestrator.config.logger import get_logger
from orchestrator.config.periodic import Periodic
from orchestrator.config.settings import Settings
from orchestrator.engine.job_errors import refusal_of
from orchestrator.engine.project_limits import limits_of, refuse_large
from orchestrator.errors import Conflict, InvalidInput, IsothermError, NotAllowed, Unavailable
from orchestrator.model.identity import Caller, Identity
from orchestrator.model.messages import JOBS, Job
from orchestrator.model.names import is_name
from orchestrator.store.installation.jobs_in_flight import TakenJob
from orchestrator.store.store import Store

log = get_logger()


class JobQueue:
    """The jobs of all coordinators on one store; any number of processes may work on it."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        admit: Callable[[Job, str], Caller],
        begin: Callable[[Job], object],
        announce: Callable[[], object] = lambda: None,
    ) -> None:
        """Make a queue.

        ``admit`` returns who sent a job, by the id of the key that signed it, or raises NotAllowed; ``begin`` begins a
        job on that caller's behalf, or raises why it is refused. ``announce`` has a process that may be free begin
        another job, when one is due.
        """
        self._store, self._settings, self._admit, self._begin = store, settings, admit, begin
        self._announce = announce

    def accept(self, task: str, job: Mapping[str, Any], *, message_id: str = "", signed_by: str) -> None:
        """Record a job that arrived, or why it is refused; its message may then be acknowledged.

        A job without an id gets that of its message. One that arrived before is not recorded again.

        Raises:
            Unavailable: the database does not answer; the job is to be delivered again.
        """
        if isinstance(job, Mapping) and job.get("job_id") is None and message_id:
            job = {**job, "job_id": message_id}
        with about_job(task, job_id=_name_in(job, "job_id"), stack=_name_in(job, "name")):
            try:
                read = JOBS[task].from_wire(job)
                who = self._admit(read, signed_by)
                content = {"job": dict(job), "user": who.identity.user, "origin": who.origin}
                limits = limits_of(self._store, self._settings, read.project)
                refuse_large(read, limits)
                is_new = self._store.taken_jobs.add(
                    read.job_id, content, project=read.project, task=task, limits=limits
                )
            except (InvalidInput, NotAllowed, Conflict) as error:
                self._refuse(job, error)
                return
            if not is_new:
                log.info("a job arrived again", project=read.project)

    def begin_next(self, *, announces: bool = True) -> bool:
        """Begin the next job, or record why it is refused; return whether there was one.

        If it ``announces``, another job that is due is announced first, for another process. The job is put back while
        the database does not answer, or another process holds the operation.

        Raises:
            Unavailable: the database does not answer.
        """
        jobs, lease_seconds = self._store.taken_jobs, self._settings.job_lease_seconds
        taken = jobs.take(lease_seconds=lease_seconds)
        if taken is None:
            return False
        extending = Periodic(
            "job lease",
            lambda: jobs.extend(taken, lease_seconds=lease_seconds),
            every_seconds=lease_seconds / 3,
            first_seconds=lease_seconds / 3,
        )
        extending.start()
        try:
            if announces and jobs.is_due():
                self._announce()
            self._begin_or_refuse(taken)
        except Unavailable as error:
            log.warning("a job is begun later", job_id=taken.id, reason=str(error))
            jobs.put_back(taken)
        else:
            jobs.remove(taken)
        finally:
            extending.stop()
        return True

    def _begin_or_refuse(self, taken: TakenJob) -> None:
        job: Mapping[str, Any] = {"job_id": taken.id}
        try:
            content = self._store.taken_jobs.content(taken)
            job = content["job"]
            with about_job(taken.task, job_id=taken.id, stack=_name_in(job, "name")):
                read = JOBS[taken.task].from_wire({**job, "job_id": taken.id})
                self._refuse_deadly(taken)
                # The sender's role was enough when the job arrived.
                identity = Identity(user=content["user"], roles={})
                who = Caller(identity=identity, origin=content["origin"], comment=read.comment)
                with acting_for(who):
                    self._begin(read)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 (the sender waits for a result)
            with about_job(taken.task, job_id=taken.id, stack=_name_in(job, "name")):
                self._refuse({**job, "job_id": taken.id}, error)

    def _refuse_deadly(self, taken: TakenJob) -> None:
        """Refuse a job that ended its process again and again.

        Raises:
            IsothermError: it did.
        """
        lost = taken.attempts - 1
        if lost >= self._settings.lost_attempt_limit:
            raise IsothermError(f"its coordinator was lost {lost} times while it began this job")

    def _refuse(self, job: object, error: Exception) -> None:
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
            self._store.stacks.refuse_job(job_id, refusal)


def _name_in(job: object, field: str) -> str:
    """Return a field of a job that is a name; empty if it is none."""
    name = job.get(field) if isinstance(job, Mapping) else None
    return name if is_name(name) else ""


def _given_texts(job: object) -> Iterator[str]:
    """Yield the values that a job gives to parameters, as far as they can be found without reading its environments."""
    if isinstance(job, Mapping):
        yield from texts_in(job.get("parameters"))
        for text in texts_in(job.get("environments")):
            yield from (line.partition(": ")[2].strip(" '\"") for line in text.splitlines())
