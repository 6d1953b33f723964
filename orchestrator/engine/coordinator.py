"""Coordinator: begins, cancels and ends the traversals of stacks, and sweeps.

Takes its store, its types and its publisher as arguments and knows no queue. Every operation is begun in one
transaction; its orders are published afterwards, by the sweep if this process dies in between.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from hooks.lifecycle import LifecyclePlugin
from orchestrator.config.logger import get_logger
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement
from orchestrator.config.settings import Settings
from orchestrator.engine.auto_purge import Housekeeping
from orchestrator.engine.operation_end import OperationEnds
from orchestrator.engine.project_limits import evaluating, limits_of, refuse_large
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.engine.revocation import Revocation
from orchestrator.engine.stack_actions import (
    operate,
    refuse_deleted,
    refuse_nested,
    refuse_partial,
    refuse_partial_beside,
    refuse_suspended,
)
from orchestrator.engine.traversal_starter import TraversalStarter
from orchestrator.errors import Conflict, NotFound
from orchestrator.lifecycle.brackets import Brackets
from orchestrator.model.breakpoints import UNSET_HOOK
from orchestrator.model.messages import (
    END,
    AdoptJob,
    CancelJob,
    CheckOrder,
    DeleteJob,
    DeleteSnapshotJob,
    DetectDriftJob,
    ImportJob,
    Job,
    OperateJob,
    RestoreJob,
    SignalJob,
    SnapshotJob,
    StackJob,
)
from orchestrator.model.names import id_of_new_stack
from orchestrator.model.nested_stack import AtRest, Fence, NestedJob
from orchestrator.model.plan import plan_create
from orchestrator.planning.preparation import desired_of, plan_job, prepare
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import NewTraversal
from orchestrator.store.traversals.sweeping import Swept
from orchestrator.tracing.tracer import OFF, Tracing

if TYPE_CHECKING:
    from orchestrator.engine.drift import DriftKeeper
    from orchestrator.model.plan_binding import PlanBinding

log = get_logger()

#: How often an operation is tried while concurrent operations take the stack first.
TRIES: Final = 10
#: After how long, in seconds, a coordinator begins to look for due observations.
OBSERVES_AFTER_SECONDS: Final = 1.0


class Coordinator:
    """Carries out stack jobs on one store; any number of coordinators may work on the same one."""

    def __init__(
        self,
        *,
        store: Store,
        types: Mapping[str, type[Resource]],
        settings: Settings,
        publisher: Publisher,
        name: str,
        plugins: Sequence[LifecyclePlugin] = (),
        clients: Clients | None = None,
        is_dead: Callable[[str], bool] = lambda _: False,
        tracing: Tracing = OFF,
        replacement: Replacement = NO_REPLACEMENT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep the arguments; ``clock``, in seconds, says when this process looks for due observations."""
        self._clients = clients or Clients(settings)
        self._store = store
        self._types = types
        self._settings = settings
        self._publisher = publisher
        self._name = name
        self._brackets = Brackets(
            store, plugins, settings, owner=name, is_dead=is_dead, replacement=replacement
        )
        self._begin = TraversalStarter(
            store, types, settings, publisher, self._brackets, clients=self._clients, tracing=tracing
        )
        self._ends = OperationEnds(
            self,
            self._brackets,
            self._begin,
            store=store,
            types=types,
            settings=settings,
            publisher=publisher,
            clients=self._clients,
            tracing=tracing,
            name=name,
        )
        self._housekeeping = Housekeeping(store, settings)
        self._revocation = Revocation(store, self._clients)
        self._clock = clock
        #: When it begins to look for due observations: the process of a short command never does.
        self._observes_from = clock() + OBSERVES_AFTER_SECONDS

    # -- jobs --------------------------------------------------------------------------------------------------

    def begin(self, job: Job) -> str:
        """Begin a job of any kind, within one time limit for all its evaluations; return the id of its stack.

        Raises:
            Conflict: the project has reached one of its limits; nothing was changed.
            IsothermError: the errors of the method for its kind.
        """
        limits = limits_of(self._store, self._settings, job.project)
        refuse_large(job, limits)
        with evaluating(self._store, self._settings, job, limits):
            stack_id: str = getattr(self, job.method)(job)
        return stack_id

    def create(self, job: StackJob) -> str:
        """Begin a stack; return its id. The same job delivered again returns the same id and begins nothing.

        Raises:
            InvalidInput: something is wrong with the job; nothing was stored.
            Conflict: the name is taken, or a lifecycle plugin refused.
        """
        if done := self._store.stacks.accepted(job.job_id):
            return done
        refuse_partial(job, "a create")
        return self._begin_create(job, self._plan_of(job)).stack_id

    def _begin_create(self, job: StackJob, applies: "PlanBinding | None" = None) -> NewTraversal:
        # The definition of a nested stack was validated with that of its root stack.
        clients = None if isinstance(job, NestedJob) else self._clients
        stack_id = _id_of_new_stack(job, applies)
        self._bind(job, stack_id)
        prepared, plan = plan_job(job, self._types, self._settings, clients, stack_id=stack_id)
        return self._begin.create(job, prepared, plan, applies=applies)

    def _plan_of(self, job: StackJob | DeleteJob) -> "PlanBinding | None":
        """Return the saved plan that a job applies; None for none, as for most."""
        if not job.plan:
            return None
        from orchestrator.engine.applied_plan import plan_of

        return plan_of(job, self._store, self._settings)

    def adopt(self, job: AdoptJob) -> str:
        """Begin a stack of existing objects; return its id. The same job delivered again begins nothing.

        Raises:
            InvalidInput: something is wrong with the job; nothing was stored.
            Conflict: the name is taken, or a lifecycle plugin refused.
        """
        if done := self._store.stacks.accepted(job.job_id):
            return done
        refuse_partial(job, "an adoption")
        # No saved plan is one of an adoption: each is refused.
        self._plan_of(job)
        return self._begin_adoption(job, job.resources).stack_id

    def import_objects(self, job: ImportJob) -> str:
        """Begin to take existing objects into a stack (:func:`orchestrator.engine.imports.import_objects`).

        Raises:
            InvalidInput: something is wrong with the job; nothing was stored.
            NotFound: there is no such stack.
            Conflict: the stack is not complete, or a lifecycle plugin refused.
        """
        from orchestrator.engine.imports import ADOPT, import_objects

        refuse_partial(job, "an import")
        # No saved plan is one of an import: each is refused.
        self._plan_of(job)

        def begin(stack: StackRow, ready: ImportJob) -> bool:
            self._bind(ready, stack.id)
            begun = self._begin.update(stack, ready, action=ADOPT, imports=ready.resources)
            return begun is not None

        return import_objects(self._store, job, begin, tries=TRIES)

    def _begin_adoption(self, job: StackJob, entries: Mapping[str, object]) -> NewTraversal:
        from orchestrator.engine.ownership import refuse_owned
        from orchestrator.planning.adoption import adopted_rows

        clients = None if isinstance(job, NestedJob) else self._clients
        stack_id = _id_of_new_stack(job)
        self._bind(job, stack_id)
        prepared = prepare(job, self._types, self._settings, stack_id=stack_id, clients=clients)
        desired_resources = desired_of(prepared)
        adopted = adopted_rows(prepared, desired_resources, entries, self._types)
        owners = refuse_owned(self._store, desired_resources, adopted, job.project)
        plan = plan_create(desired_resources, action="ADOPT")
        return self._begin.create(job, prepared, plan, adopted, owners=owners)

    def _bind(self, job: StackJob, stack_id: str) -> None:
        """Give the stack the credential that was delegated to it for this job, before it acts by it."""
        if job.credential and not isinstance(job, NestedJob):
            self._store.credentials.bind(job.credential, project=job.project, stack_id=stack_id)

    def take_over(self, job: NestedJob, entries: Mapping[str, object]) -> str:
        """Make a nested stack of existing objects, unless the stack exists; return the traversal's id.

        Raises:
            InvalidInput: something is wrong with the job or with an entry; nothing was stored.
            Conflict: a lifecycle plugin refused.
            Fenced: the attempt of the parent resource is over.
        """
        stack = self._store.stacks.by_id(job.stack_id)
        return stack.traversal_id if stack else self._begin_adoption(job, entries).id

    def become(self, job: NestedJob, *, snapshot: SnapshotRow | None = None) -> str:
        """Create a nested stack, or update it, in whatever state it is; return the traversal's id.

        Raises:
            InvalidInput: something is wrong with the job, or the tree of stacks would have too many resources.
            Conflict: the stack is being deleted, a lifecycle plugin refused, or others kept taking the stack.
            Fenced: the attempt of the parent resource is over.
        """
        for left in reversed(range(TRIES)):
            stack = self._store.stacks.by_id(job.stack_id)
            if stack is not None:
                refuse_deleted(stack)
                action = "RESTORE" if snapshot else "UPDATE"
                begun = self._begin.update(stack, job, action=action, snapshot=snapshot)
                if begun is not None:
                    return begun.id
                if left:
                    self._fence(stack)
                continue
            try:
                return self._begin_create(job).id
            except Conflict:
                if self._store.stacks.by_id(job.stack_id) is None:
                    raise
        raise Conflict(f"stack {job.name!r} is being changed by others; try again")

    def update(self, job: StackJob) -> str:
        """Update a stack to a new definition, in any state but deletion; return its id.

        Steps of its present traversal that are running are finished first; none is started. With targets, only these
        resources and those that they require are visited; the stack must be at rest.

        Raises:
            InvalidInput: something is wrong with the job; nothing was changed.
            NotFound: there is no such stack.
            Conflict: the stack is being deleted or is suspended, a lifecycle plugin refused, or others kept taking
                the stack; or it has moved on since the plan was made that the job applies; or it is busy, and the job
                names resources.
        """
        applies = self._plan_of(job)
        for left in reversed(range(TRIES)):
            # What took the stack first may have been the same job, delivered twice.
            if done := self._store.stacks.accepted(job.job_id):
                return done
            stack = self._store.stacks.find(job.name, project=job.project)
            refuse_deleted(stack)
            refuse_nested(stack)
            refuse_suspended(stack)
            if applies is None:
                # A plan was made of a stack at rest, and says what has happened since.
                refuse_partial_beside(self._store, stack, job)
            self._bind(job, stack.id)
            if self._begin.update(stack, replace(job, name=stack.name), applies=applies):
                return stack.id
            if left and applies is None:
                self._fence(stack)
        raise Conflict(f"stack {job.name!r} is being changed by others; try again")

    def cancel(self, job: CancelJob) -> str:
        """Cancel a stack's operation under way (:class:`orchestrator.engine.cancellation.Cancellation`).

        Returns the stack's id.

        Raises:
            NotFound: there is no such stack.
            Conflict: nothing that can be cancelled is under way, or a lifecycle plugin refused.
        """
        from orchestrator.engine.cancellation import Cancellation

        return Cancellation(self._store, self._publisher, self._begin, fence=self._fence).cancel(job)

    def snapshot(
        self, job: SnapshotJob, *, inner_id: str | None = None, fence: Fence | AtRest | None = None
    ) -> str:
        """Begin to take a snapshot of a stack (:func:`orchestrator.engine.snapshots.take_snapshot`); return its id.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack's state does not allow it, it has too many snapshots, or a lifecycle plugin refused.
        """
        from orchestrator.engine.snapshots import take_snapshot

        return take_snapshot(
            self._store, job, self._settings, self._begin.operate, inner_id=inner_id, fence=fence
        )

    def restore(self, job: RestoreJob) -> str:
        """Begin to bring a stack back to a snapshot (:func:`orchestrator.engine.snapshots.restore`); return its id.

        Raises:
            InvalidInput: the definition is not valid any more, such as with a type that is gone.
            NotFound: there is no such stack or snapshot.
            Conflict: the stack is busy or suspended, the snapshot not complete, or a lifecycle plugin refused.
        """
        from orchestrator.engine.snapshots import restore

        def begin(stack: StackRow, wanted: StackJob, snapshot: SnapshotRow) -> bool:
            return self._begin.update(stack, wanted, action="RESTORE", snapshot=snapshot) is not None

        return restore(self._store, job, begin)

    def delete_snapshot(self, job: DeleteSnapshotJob) -> str:
        """Delete a snapshot (:func:`orchestrator.engine.snapshots.delete_snapshot`); return the stack's id.

        Raises:
            NotFound: there is no such stack or snapshot.
            Conflict: the snapshot is being made, or restored.
        """
        from orchestrator.engine.snapshots import delete_snapshot

        return delete_snapshot(self._store, job, self._types, self._settings, clients=self._clients)

    def signal(self, job: SignalJob) -> str:
        """Signal a resource; return the id of the stack that changes because of it, else that of its own.

        Raises:
            NotFound: there is no such stack or resource.
            Conflict: the resource takes no such signal, or none in its present state.
            InvalidInput: the signal names an unknown kind of breakpoint.
        """
        from orchestrator.engine.breakpoints import unset_hook
        from orchestrator.engine.scaling import Scaler
        from orchestrator.engine.signals import Signals

        stack = self._store.stacks.find(job.name, project=job.project)
        row = self._store.stacks.addressed(stack.id, job.resource)
        if row.stack_id != stack.id:
            # It was moved since its address was handed out.
            stack = self._store.stacks.find(row.stack_id, project=job.project)
            job = replace(job, resource=row.name)
        signals = Signals(self._store, self._types, self._settings)
        changed: str | None = None
        unsets = UNSET_HOOK in job.details
        if not unsets and signals.change_stacks(stack, job.resource):
            scaler = Scaler(self, self._store, self._types, self._settings)
            changed = scaler.signal(stack, job.resource, job.details, job_id=job.job_id)
        elif self._store.stacks.job(job.job_id) is None:
            send = partial(unset_hook, self._store) if unsets else signals.send
            publish_or_leave(self._publisher, send(stack, job.resource, job.details))
        self._store.stacks.accept_job(job.job_id, stack.id)
        return changed or stack.id

    def operate(self, job: OperateJob, *, fence: Fence | AtRest | None = None) -> str:
        """Begin to check, suspend or resume a stack (:func:`orchestrator.engine.stack_actions.operate`); return its id.

        ``fence`` is the claim of the parent resource, for a nested stack.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack's state does not allow it, or a lifecycle plugin refused.
            Fenced: the attempt of the parent resource is over.
        """
        return operate(self._store, job, self._begin.operate, fence)

    @cached_property
    def _drift(self) -> "DriftKeeper":
        # Most processes observe nothing.
        from orchestrator.engine.drift import DriftKeeper

        return DriftKeeper(self._store, self._settings, self._publisher, self._begin, clock=self._clock)

    def detect_drift(self, job: DetectDriftJob) -> str:
        """Begin to observe a stack (:meth:`orchestrator.engine.drift.DriftKeeper.detect`); return its id.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack is busy, suspended, deleted or nested.
        """
        return self._drift.detect(job)

    def _fence(self, stack: StackRow) -> None:
        """Stop the traversal that made a plan outdated, if it is still the stack's present one.

        It made a replacement after the rows were read, and could make another before every new plan; a stopped
        traversal makes none. One is only stopped for another try: otherwise nothing would come in its place.
        """
        order = self._store.traversals.fence(stack.traversal_id)
        publish_or_leave(self._publisher, (order,) if order else ())

    def delete(self, job: DeleteJob, *, inner: bool = False) -> str:
        """Begin the deletion of a stack, in whatever state it is; return its id.

        ``inner`` is set for a nested stack, which is deleted by its parent resource only.

        Running steps of its present traversal are finished first; none is started. Deleting a stack that is being
        deleted continues that deletion; one that failed is begun again. Abandoning a stack deletes its rows and leaves
        its objects; of a delete and an abandon, the later one counts for what still exists.

        Raises:
            NotFound: there is no such stack.
            Conflict: a lifecycle plugin refused, or other operations kept taking the stack; or it has moved on since
                the plan was made that the job applies.
        """
        # The stack may be deleted by now, and its name taken by another.
        if done := self._store.stacks.accepted(job.job_id):
            return done
        applies = self._plan_of(job)
        for left in reversed(range(TRIES)):
            stack = self._store.stacks.find(job.name, project=job.project)
            if stack.deleted_at is not None:
                raise NotFound(f"stack {stack.name!r} is deleted already")
            if not inner:
                refuse_nested(stack)
            if applies is None and (stack.action, stack.status) == ("DELETE", "IN_PROGRESS"):
                options = self._store.traversals.options(stack.traversal_id)
                if bool(options.get("abandon")) == job.abandon:
                    self._store.stacks.accept_job(job.job_id, stack.id)
                    return stack.id
            if self._begin.delete(stack, job, applies=applies):
                return stack.id
            if left and applies is None:
                self._fence(stack)
        raise Conflict(f"stack {job.name!r} is being changed by others; try again")

    # -- the end -----------------------------------------------------------------------------------------------

    def finish(self, order: CheckOrder) -> None:
        """Complete a traversal if it is done, and run its post-operation callbacks; see :class:`OperationEnds`."""
        self._ends.finish(order)

    # -- the sweep ---------------------------------------------------------------------------------------------

    def sweep(self, *, unwinds: bool = True) -> Swept:
        """Publish what is due (:class:`orchestrator.store.traversals.sweeping.Sweeper`), then purge for a moment.

        With ``unwinds``, lifecycle plugins are notified of lost operations; otherwise the caller does it.
        """
        swept = self._store.sweeper.sweep(backlog=self._publisher.backlog())
        for order, why in publish_or_leave(self._publisher, swept.orders):
            if order.phase == END:
                self.finish(order)
            else:
                self._fail_unchecked(order, f"its check cannot be published: {why}")
        for order, times in swept.doomed:
            self._fail_unchecked(order, f"its worker was lost {times} times")
        if unwinds:
            self.unwind(swept.lost)
        self._housekeeping.go_on()
        self._revocation.go_on()
        if self._clock() >= self._observes_from:
            self._drift.go_on()
        return swept

    def _fail_unchecked(self, order: CheckOrder, reason: str) -> None:
        from orchestrator.engine.unchecked import fail_unchecked

        fail_unchecked(self._store, self._publisher, order, reason, process=self._name)

    def unwind(self, lost: Sequence[str]) -> None:
        """Notify lifecycle plugins of lost operations; blocks as long as the plugins take."""
        self._brackets.unwind(lost)


def _id_of_new_stack(job: StackJob, applies: "PlanBinding | None" = None) -> str:
    """Return the id of the stack that a job makes, the same for every delivery; "" if the job has no id.

    A saved plan makes one stack, however many jobs apply it.
    """
    made_by = applies.id if applies is not None else job.job_id
    return id_of_new_stack(job.project, made_by) if made_by else ""
