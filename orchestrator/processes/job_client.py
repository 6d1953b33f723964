"""Job client: sends jobs to coordinators over the queue, and reads their answers from the store."""

import time
from dataclasses import replace

from orchestrator.config.broker_urls import BROKER_REMEDY
from orchestrator.config.caller import caller
from orchestrator.config.settings import Settings
from orchestrator.engine.job_errors import raise_refusal
from orchestrator.errors import NotFound, Unavailable
from orchestrator.model.messages import Job
from orchestrator.store.store import Store
from orchestrator.tracing.tracer import OFF, Tracing

#: How long a submitted job may wait for a coordinator to take it.
ACCEPT_SECONDS = 15.0
#: How long the coordinator that took a job may need to begin it: validation may query other systems.
ANSWER_SECONDS = 300.0
#: How long it waits between two looks at first, twice as long each time, and at most: most jobs are begun soon.
_FIRST_PAUSE_SECONDS, _PAUSE_SECONDS = 0.005, 0.05
#: After how long without a coordinator a job's sender asks whether those there are belong to another installation.
_DOUBT_SECONDS = 2.0
#: How long they have to answer.
_WHICH_SECONDS = 1.0


class JobClient:
    """Submits jobs, and waits until a coordinator has begun or refused them."""

    def __init__(self, settings: Settings, store: Store, *, tracing: Tracing = OFF) -> None:
        self._settings, self._store, self._tracing = settings, store, tracing

    def submit(self, job: Job, *, stack: str) -> str:
        """Submit a job, and return the id of its stack; ``stack`` is the stack's name, for Celery's tools.

        Raises:
            IsothermError: the coordinator refused it.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        # Celery is slow to import, and only a distributed face needs it.
        from kombu.exceptions import OperationalError

        from orchestrator.queue.celery_app import make_app, send_job

        own = self._store.identity.read()
        who = caller()
        job = replace(job, user=who.identity.user, comment=job.comment or who.comment)
        try:
            send_job(make_app(self._settings, lambda: own), job, stack=stack)
        except (OperationalError, OSError) as error:
            raise Unavailable(f"the broker does not answer: {error}", hint=BROKER_REMEDY) from error
        return self._answer(job.job_id, own)

    def _answer(self, job_id: str, own: str) -> str:
        """Wait until a coordinator has begun a job, and return the stack's id."""
        began, is_taken, is_doubted = time.monotonic(), False, False
        pause_seconds = _FIRST_PAUSE_SECONDS
        while time.monotonic() < began + (ANSWER_SECONDS if is_taken else ACCEPT_SECONDS):
            row = self._store.stacks.job(job_id)
            if row is None:
                is_taken = is_taken or self._store.taken_jobs.is_taken(job_id)
                if not is_taken and not is_doubted and time.monotonic() > began + _DOUBT_SECONDS:
                    is_doubted = True
                    self._refuse_foreign_coordinators(own)
                time.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, _PAUSE_SECONDS)
                continue
            if row.refusal is not None:
                raise_refusal(row.refusal)
            if row.stack_id is not None:
                if row.traversal_id is not None:
                    self._tracing.began(row.traversal_id)
                return row.stack_id
            raise NotFound("the stack is gone already")
        if is_taken:
            raise Unavailable(
                f"a coordinator took the job and has not answered within {ANSWER_SECONDS:g} seconds; it goes on: "
                "'isotherm stack list' shows what comes of it"
            )
        if why := self._store.refused_messages.why(job_id):
            raise Unavailable(
                f"the coordinators refused the job: {why}",
                hint="compare the keys of this machine with theirs: isotherm key list",
            )
        raise Unavailable(
            f"no coordinator took the job within {ACCEPT_SECONDS:g} seconds; is 'isotherm coordinator' running? "
            "If the broker keeps the job, it is done when one starts"
        )

    def _refuse_foreign_coordinators(self, own: str) -> None:
        """Give up if all processes on the broker belong to another installation: they do not take the job.

        Raises:
            Unavailable: they do.
        """
        from kombu.exceptions import OperationalError

        from orchestrator.queue.celery_app import make_app
        from orchestrator.queue.installation import installations_on

        try:
            with make_app(self._settings) as app:
                found = installations_on(app, timeout_seconds=_WHICH_SECONDS)
        except (OperationalError, OSError):
            return
        if found and own not in found.values():
            name, theirs = min(found.items())
            raise Unavailable(
                f"no coordinator takes the job: the database of this command is that of the installation {own}, and "
                f"{name} on the broker works for the installation {theirs}; set ISOTHERM_DATABASE_URL to the database "
                "of the processes"
            )
