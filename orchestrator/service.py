"""The Python API behind every face: change stacks, follow their operations, read and administer the installation.

Whether an installation is embedded or distributed is decided by the settings, and known here only. Embedded, this
process carries the work out itself (:mod:`orchestrator.processes.embedded`); distributed, jobs go to the queue
(:mod:`orchestrator.processes.job_client`).

A method imports itself what it alone needs: most commands call one or two.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from orchestrator.config.shared_database import require_shared_database
from orchestrator.engine.administration import Administration
from orchestrator.processes.embedded import Embedded, prepare_database
from orchestrator.queries.stacks import begun_view, stack_view
from orchestrator.store.store import Store
from orchestrator.views.stacks import (
    HookView,
    Progress,
    SnapshotView,
    StackPreview,
    StackView,
    UpdatePlan,
)

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.engine.drift_admin import DriftAdmin
    from orchestrator.engine.import_admin import ImportAdmin
    from orchestrator.engine.publisher import Publisher
    from orchestrator.engine.stack_plans import StackPlan, StackPlans
    from orchestrator.model.messages import AdoptJob, ImportJob, StackJob
    from orchestrator.processes.job_client import JobClient
    from orchestrator.processes.registration import Registration
    from orchestrator.queries.observer import Observer
    from orchestrator.tracing.tracer import Tracing


class Service(Administration):
    """Stacks and the installation, for faces; names are looked up in the settings' project.

    Stacks, parts of them, sinks and clients that do not exist raise NotFound, with the nearest name. What begins an
    operation raises Unavailable if the queue cannot be reached, or no coordinator took the job.

    ``embedded`` is the coordinator and workers of this process; None in a distributed installation. The rest of the
    arguments are those of :class:`~orchestrator.engine.administration.Administration`.
    """

    def __init__(
        self, settings: "Settings", *, store: Store, embedded: Embedded | None, counts_looks: bool = True
    ) -> None:
        super().__init__(settings, store, counts_looks=counts_looks)
        self._embedded = embedded
        self._tracing: Tracing | None = None

    @classmethod
    def open(cls, settings: "Settings") -> Self:
        """Connect; in embedded mode, create the state directory and the SQLite file first, or migrate that.

        Raises:
            Unavailable: the database cannot be reached, or has another schema than this version needs.
            InvalidInput: a setting is wrong, or there is a broker and no database is set.
        """
        require_shared_database(settings)
        store = Store.of(settings)
        prepare_database(settings, store)
        embedded = Embedded(settings, store=store) if settings.embedded else None
        return cls(settings, store=store, embedded=embedded)

    def of_project(self, project: str) -> "Service":
        """Return the service of another project, which this one closes."""
        settings = self.settings.with_values(project=project)
        service = type(self)(
            settings, store=self._store, embedded=self._embedded, counts_looks=self._counts_looks
        )
        service.trace_with(self._tracing)
        return service

    def trace_with(self, tracing: "Tracing | None") -> None:
        """Let a tracer know which operations begin with jobs that go to the queue."""
        self._tracing = tracing

    def registration(
        self, *, kind: str, name: str, address: str, errors: Callable[[], tuple[str, ...]]
    ) -> "Registration":
        """Return the registration of this process as one that serves an address; it is not begun yet.

        ``errors`` returns a line for each of its last errors.
        """
        from orchestrator.processes.registration import Registration, identity_here

        identity = identity_here(kind=kind, name=name, address=address)
        return Registration(self._store.processes, identity, errors)

    def start(self) -> None:
        """In embedded mode, begin to carry out what is left of interrupted operations; distributed, workers do.

        Raises:
            HooksNotLoaded: a lifecycle plugin or an event sink cannot be loaded.
            PluginMistake: a resource type cannot be loaded.
            InvalidInput: tracing is switched on and cannot be set up.
        """
        if self._embedded is not None:
            self._embedded.start()

    def close(self) -> None:
        """Wait for the steps under way, and close the store; work that is not done stays for later."""
        if self._embedded is not None:
            self._embedded.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def _jobs(self) -> "Embedded | JobClient":
        if self._embedded is not None:
            return self._embedded
        from orchestrator.processes.job_client import JobClient
        from orchestrator.tracing.tracer import OFF

        return JobClient(self.settings, self._store, tracing=self._tracing or OFF)

    # -- trying ------------------------------------------------------------------------------------------------

    def preview(self, job: "StackJob") -> StackPreview:
        """Return the stack that a create would make; nothing is changed.

        Raises:
            InvalidInput: the job has problems.
            Conflict: a lifecycle plugin would refuse.
        """
        from orchestrator.engine.stack_preview import preview_job

        return preview_job(job, self.settings)

    # -- changing ----------------------------------------------------------------------------------------------

    def create(self, job: "StackJob", *, token: str = "") -> StackView:
        """Begin to create a stack; return it in progress.

        ``token``: of the caller in another system, for which resources of the stack act there: a credential is
        delegated to the stack with it, if they do.

        Raises:
            InvalidInput: the job has problems, or nothing can be delegated with the token; nothing was stored.
            Conflict: the name is taken, or a lifecycle plugin refused.
        """
        return self._begun(self._submit(job, token), job.job_id)

    def adopt(self, job: "AdoptJob", *, token: str = "") -> StackView:
        """Begin to make a stack of objects that exist already; return it in progress. ``token`` is as for a create.

        Raises:
            InvalidInput: the job has problems, or nothing can be delegated with the token; nothing was stored.
            Conflict: the name is taken, or a lifecycle plugin refused.
        """
        return self.stack(self._submit(job, token))

    def update(self, job: "StackJob", *, token: str = "") -> StackView:
        """Begin to give a stack a new definition; return it in progress. ``token`` is as for a create.

        With a token, the stack acts by another credential from now on, and the earlier one is revoked.

        Raises:
            InvalidInput: the job has problems, or nothing can be delegated with the token; nothing was changed.
            Conflict: the stack is being deleted or is suspended, or a lifecycle plugin refused.
        """
        from orchestrator.model.messages import UpdateJob

        return self._begun(self._submit(UpdateJob.of(job), token), job.job_id)

    def import_objects(self, job: "ImportJob", *, token: str = "") -> StackView:
        """Begin to take existing objects into a stack that exists; return it in progress.

        ``token`` is as for an update.

        Raises:
            InvalidInput: an object has an owner, the definition would change something else, or the token delegates
                nothing; nothing was changed.
            Conflict: the stack is not complete, or a lifecycle plugin refused.
        """
        return self._begun(self._submit(job, token), job.job_id)

    @cached_property
    def imports(self) -> "ImportAdmin":
        """What imports into the project's stacks would do, and the template text of objects."""
        from orchestrator.engine.import_admin import ImportAdmin

        return ImportAdmin(self.settings, self._store, find=self._find)

    def _submit(self, job: "StackJob", token: str) -> str:
        """Submit a job with a definition; return the id of its stack."""
        if self._embedded is not None and not token:
            return self._jobs.submit(job, stack=job.name)
        from orchestrator.engine.job_examination import examined

        with examined(job, token, self.settings, self._store) as (ready, name):
            return self._jobs.submit(ready, stack=name)

    def plan_update(self, job: "StackJob", *, nested: bool = True) -> UpdatePlan:
        """Return what an update would do, in nested stacks too unless not ``nested``; nothing is changed.

        Raises:
            InvalidInput: the job has problems.
            Conflict: the stack is being deleted, or is suspended, or a lifecycle plugin would refuse.
            NotVerified: an external system that a constraint needs does not answer.
        """
        from orchestrator.engine.update_plan import update_plan

        stack = self._find(job.name)
        # Distributed, external systems are called by the coordinator that carries the update out.
        clients = self._embedded.runtime.clients if self._embedded is not None else None
        state = stack_view(stack).state
        return update_plan(
            self._store, stack, job, self.settings, clients=clients, state=state, nested=nested
        )

    def cancel(self, name: str, *, rollback: bool = True, unprotect: bool = False) -> StackView:
        """Cancel the operation under way on a stack; return the stack rolling back, or failed.

        With ``unprotect``, the rollback may delete and replace what is protected.

        Raises:
            Conflict: nothing is under way that can be cancelled, something protected would be lost, or a lifecycle
                plugin refused.
        """
        from orchestrator.model.messages import CancelJob

        stack = self._find(name)
        project = self.settings.project
        job = CancelJob(name=stack.id, project=project, rollback=rollback, unprotect=unprotect)
        return self._begun(self._jobs.submit(job, stack=stack.name), job.job_id)

    def operate(self, action: str, name: str) -> StackView:
        """Begin to check (``CHECK``), ``SUSPEND`` or ``RESUME`` a stack; return it in progress.

        Raises:
            Conflict: the stack is busy or in no state for it, or a lifecycle plugin refused.
        """
        from orchestrator.model.messages import OPERATE_JOBS

        stack = self._find(name)
        job = OPERATE_JOBS[action](name=stack.id, project=self.settings.project)
        return self.stack(self._jobs.submit(job, stack=stack.name))

    def take_snapshot(self, name: str, snapshot: str = "") -> StackView:
        """Begin to take a snapshot of a stack under the name ``snapshot``; return the stack in progress.

        Raises:
            Conflict: the stack is busy or in no state for it, has the most snapshots allowed or one of this name, or a
                lifecycle plugin refused.
        """
        from orchestrator.model.messages import SnapshotJob

        stack = self._find(name)
        job = SnapshotJob(name=stack.id, snapshot=snapshot, project=self.settings.project)
        return self.stack(self._jobs.submit(job, stack=stack.name))

    def restore(
        self,
        name: str,
        snapshot: str,
        *,
        timeout_minutes: float | None = None,
        rollback: bool = False,
        unprotect: bool = False,
    ) -> StackView:
        """Begin to restore a stack to a snapshot; return it in progress.

        With ``unprotect``, what is protected may be deleted and replaced.

        Raises:
            InvalidInput: the snapshot's definition is not valid any more.
            Conflict: the stack is busy or in no state for it, the snapshot not complete, something protected would be
                lost, or a lifecycle plugin refused.
        """
        from orchestrator.model.messages import RestoreJob

        stack = self._find(name)
        job = RestoreJob(
            name=stack.id,
            snapshot=self._store.snapshots.find(stack.id, snapshot).id,
            timeout_minutes=timeout_minutes,
            rollback=rollback,
            unprotect=unprotect,
            project=self.settings.project,
        )
        return self.stack(self._jobs.submit(job, stack=stack.name))

    def delete_snapshot(self, name: str, snapshot: str) -> SnapshotView | None:
        """Delete a snapshot; return it in progress or failed, or None if it is gone.

        Raises:
            Conflict: the snapshot is being made, or restored.
        """
        from orchestrator.model.messages import DeleteSnapshotJob

        stack = self._find(name)
        row = self._store.snapshots.find(stack.id, snapshot)
        job = DeleteSnapshotJob(name=stack.id, snapshot=row.id, project=self.settings.project)
        self._jobs.submit(job, stack=stack.name)
        left = [each for each in self._store.snapshots.all(stack.id) if each.id == row.id]
        return SnapshotView.of(left[0]) if left else None

    def abandon(self, name: str, *, unprotect: bool = False, force: bool = False) -> StackView | None:
        """Begin to delete a stack without the objects that it made; None if it is deleted already.

        ``unprotect`` and ``force`` are as for :meth:`delete`.

        Raises:
            Conflict: the stack, or something in it, is protected, other stacks read its outputs, or a lifecycle plugin
                refused.
        """
        return self.delete(name, abandon=True, unprotect=unprotect, force=force)

    def delete(
        self, name: str, *, abandon: bool = False, unprotect: bool = False, force: bool = False
    ) -> StackView | None:
        """Begin to delete a stack, with ``abandon`` as :meth:`abandon` does; None if it is deleted already.

        With ``unprotect``, the stack and what is in it may be protected; with ``force``, other stacks may read its
        outputs.

        Raises:
            Conflict: the stack, or something in it, is protected, other stacks read its outputs, or a lifecycle plugin
                refused.
        """
        from orchestrator.model.messages import DeleteJob

        stack = self._find(name)
        if stack.deleted_at is not None:
            return None
        project = self.settings.project
        job = DeleteJob(name=stack.id, project=project, abandon=abandon, unprotect=unprotect, force=force)
        return self._begun(self._jobs.submit(job, stack=stack.name), job.job_id)

    def _begun(self, stack_id: str, job_id: str) -> StackView:
        """Return a stack in progress, under the traversal that the job began even if another took its place since."""
        row = self._find(stack_id)
        job = self._store.stacks.job(job_id)
        if job is not None and job.traversal_id is not None:
            row = replace(row, traversal_id=job.traversal_id)
        return begun_view(row, self._store.traversals.context(row.traversal_id))

    def signal(self, name: str, resource: str, details: Mapping[str, Any]) -> StackView | None:
        """Signal a resource; resources that wait for the signal are checked again at once.

        Returns the stack that the signal changes, such as that of a scaling group; None if it changes none.

        Raises:
            Conflict: the resource takes no such signal, or none in its present state.
            InvalidInput: it unsets a hook of an unknown kind.
            Unavailable: it needs a coordinator, and none took it, or the queue cannot be reached.
        """
        from orchestrator.engine.breakpoints import unset_hook
        from orchestrator.engine.publisher import publish_or_leave
        from orchestrator.engine.signals import Signals
        from orchestrator.model.breakpoints import UNSET_HOOK
        from orchestrator.model.messages import SignalJob
        from orchestrator.plugins.registry import ResourceTypes

        stack = self._find(name)
        if UNSET_HOOK in details:
            is_alone = self._embedded is not None
            self._record("stack.clear_hook", f"{stack.name}/{resource}")
            orders = unset_hook(self._store, stack, resource, details, at_once=is_alone)
            publish_or_leave(self._publisher(), () if is_alone else orders)
            return None
        signals = Signals(self._store, ResourceTypes.on_demand(), self.settings)
        if not signals.change_stacks(stack, resource):
            self._record("stack.signal", f"{stack.name}/{resource}")
            publish_or_leave(self._publisher(), signals.send(stack, resource, details))
            return None
        job = SignalJob(name=stack.id, resource=resource, details=details, project=self.settings.project)
        changed = self._jobs.submit(job, stack=stack.name)
        return None if changed == stack.id else self._begun(changed, job.job_id)

    def clear_hooks(self, name: str, resource: str = "*", kind: str | None = None) -> list[HookView]:
        """Clear the hooks at which resources of a stack stand; return those that were cleared.

        Args:
            name: The stack's name or id.
            resource: A resource's name, with those of the resources that it is nested in before it, separated by
                slashes; wildcards are allowed.
            kind: The kind of the hook; None for any.

        Raises:
            InvalidInput: there is no such kind of hook.
        """
        from orchestrator.engine.breakpoints import check_kind, clear_hooks
        from orchestrator.engine.publisher import publish_or_leave

        stack = self._find(name)
        kind = None if kind is None else check_kind(kind, path="kind")
        is_alone = self._embedded is not None
        self._record("stack.clear_hook", f"{stack.name}/{resource}")
        cleared, orders = clear_hooks(self._store, stack, resource=resource, kind=kind, at_once=is_alone)
        if not is_alone:
            publish_or_leave(self._publisher(), orders)
        return cleared

    @cached_property
    def plans(self) -> "StackPlans":
        """The plans of the project's stacks."""
        from orchestrator.engine.stack_plans import StackPlans

        # As in plan_update.
        embedded = self._embedded
        return StackPlans(
            self.settings, self._store, lambda: embedded.runtime.clients if embedded is not None else None
        )

    @cached_property
    def drift(self) -> "DriftAdmin":
        """The drift of the project's stacks, and their observation."""
        from orchestrator.engine.drift_admin import DriftAdmin

        return DriftAdmin(
            self.settings,
            self._store,
            find=self._find,
            submit=self._jobs.submit,
            record=self._record,
            start=self.start,
        )

    def apply(self, plan: "StackPlan") -> StackView:
        """Begin what a plan says; return the stack in progress.

        Raises:
            Conflict: the stack has moved on since the plan was made, or the plan was applied already.
        """
        return self._begun(self._jobs.submit(plan.job, stack=plan.view.stack), plan.job.job_id)

    def _publisher(self) -> "Publisher":
        if self._embedded is not None:
            return self._embedded
        # Celery is slow to import, and only a distributed face needs it.
        from orchestrator.queue.celery_app import QueuePublisher, make_app

        return QueuePublisher(make_app(self.settings, self._store.identity.read))

    # -- watching ----------------------------------------------------------------------------------------------

    def watch(self, stack_id: str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        """Yield the progress of a stack's operation until it is over; the last one is ``finished``.

        The pauses grow up to ``interval_seconds``; for a large stack further, as it takes longer to count, but the end
        of the operation is seen as soon. In embedded mode this process carries out the work meanwhile, that of
        interrupted commands included.
        """
        from orchestrator.queries.progress import UNSEEN_SECONDS, Pauses

        pauses = Pauses(interval_seconds)
        if self._embedded is not None:
            self._embedded.start()
            # An end is noticed at once. Looks take time from the work: a small stack ends without one.
            wait = self._embedded.wait_for_an_end
            pauses = Pauses(interval_seconds, first_seconds=interval_seconds, sleep=wait)
            if self._find(stack_id).status == "IN_PROGRESS":
                wait(min(UNSEEN_SECONDS, interval_seconds))
        while True:
            progress = self.progress(stack_id)
            yield progress
            if progress.finished:
                return
            pauses.after(progress, lambda: self._find(stack_id).status == "IN_PROGRESS")

    def progress(self, stack_id: str) -> Progress:
        """Return the progress of a stack's operation."""
        from orchestrator.queries.progress import progress_of

        is_alone = self._embedded is not None
        return progress_of(self._store, self._find(stack_id), stays_for_steps=is_alone)

    @cached_property
    def observer(self) -> "Observer":
        """The views of operations that the dashboard shows."""
        from orchestrator.queries.observer import Observer

        return Observer(self.settings, self._store)
