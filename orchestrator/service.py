"""The one Python API that every face uses: create, update, cancel, delete, watch, show.

Embedded or distributed is decided by the settings and seen here only: embedded, this process does the work itself;
distributed, jobs go to the queue and the store tells what became of them.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from orchestrator.adoption import adopted_rows
from orchestrator.comparison import compare, job_of_template, refuse_deleted
from orchestrator.coordinator import raise_refusal
from orchestrator.dry_run import DryRun
from orchestrator.embedded import Embedded
from orchestrator.errors import NotFound, Unavailable
from orchestrator.event_filter import ALL_EVENTS, EventFilter
from orchestrator.graph import Graph
from orchestrator.health import mark_healthy, mark_unhealthy
from orchestrator.hooking import (
    UNSET_HOOK,
    check_kind,
    clear_hooks,
    hook_view,
    hooks_by_row,
    unset_hook,
    waits_for,
)
from orchestrator.limits import Limits
from orchestrator.messages import (
    ADOPT_TASK,
    CANCEL_TASK,
    CHECK_STACK_TASK,
    CREATE_TASK,
    DELETE_SNAPSHOT_TASK,
    DELETE_TASK,
    RESTORE_TASK,
    RESUME_TASK,
    SIGNAL_TASK,
    SNAPSHOT_TASK,
    SUSPEND_TASK,
    UPDATE_TASK,
    AdoptJob,
    CancelJob,
    DeleteJob,
    OperateJob,
    RestoreJob,
    SignalJob,
    SnapshotJob,
    StackJob,
)
from orchestrator.operable import CHECK, RESUME, SUSPEND
from orchestrator.operations import refuse_suspended
from orchestrator.outputs import outputs_of
from orchestrator.past_views import event_view, traversal_view
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.preparation import prepare, prepare_update, wishes
from orchestrator.publishing import Publisher, publish_or_leave
from orchestrator.purge import Purge, Removed
from orchestrator.resource_tree import in_tree_order
from orchestrator.settings import Settings
from orchestrator.signals import Signals
from orchestrator.snapshots import snapshot_view
from orchestrator.stack_document import document_of
from orchestrator.store.stacks import ResourceRow, StackRow
from orchestrator.store.stopping import paused_until
from orchestrator.store.store import Store
from orchestrator.stored_templates import load_template
from orchestrator.template.template import Template
from orchestrator.views import (
    EventView,
    GraphNode,
    GraphView,
    HookView,
    OutputView,
    Progress,
    ResourceView,
    SnapshotView,
    StackView,
    TraversalView,
    UpdatePlan,
)

#: How long a submitted job may go unanswered before the sender is told that nobody seems to take jobs.
ACCEPT_SECONDS = 15.0
#: By what is done with a stack as it is: the task that asks for it.
_OPERATE_TASKS = {CHECK: CHECK_STACK_TASK, SUSPEND: SUSPEND_TASK, RESUME: RESUME_TASK}


class Service:
    """Stacks, for faces: every name is looked up in the settings' project."""

    def __init__(self, settings: Settings, *, store: Store, embedded: Embedded | None) -> None:
        self.settings = settings
        self._store = store
        self._embedded = embedded

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Connect; in embedded mode, make the state directory and the database first.

        Raises:
            Unavailable: the database cannot be reached.
            InvalidInput: a setting is wrong.
        """
        store = Store.of(settings)
        if not settings.embedded:
            return cls(settings, store=store, embedded=None)
        # Alembic is slow to import, and only embedded mode needs it here.
        from orchestrator.store import migrations

        url = settings.effective_database_url
        if not store.database.postgres:
            try:
                settings.state_directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise Unavailable(
                    f"cannot make the state directory {settings.state_directory}: {error}"
                ) from error
        if migrations.current(url) != migrations.head():
            migrations.upgrade(url)
        return cls(settings, store=store, embedded=Embedded(settings, store=store))

    def close(self) -> None:
        """Let steps under way end, and close the store; what is not done stays as it is."""
        if self._embedded is not None:
            self._embedded.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- changing ----------------------------------------------------------------------------------------------

    def create(self, job: StackJob) -> StackView:
        """Begin a stack and return it as it is then: accepted, on its way.

        Raises:
            InvalidInput: something is wrong with the job; nothing was stored.
            Conflict: the name is taken, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        if self._embedded is not None:
            self._embedded.start()
            stack_id = self._embedded.runtime.coordinator.create(job)
        else:
            # Refused here if it can be: with positions, at once, and without troubling anybody.
            prepare(job, ResourceTypes.load(), self.settings)
            stack_id = self._submit(CREATE_TASK, job.to_wire(), job.name)
        return self._begun(stack_id, job.job_id)

    def adopt(self, job: AdoptJob) -> StackView:
        """Begin a stack of what is there already, and return it as it is then: on its way.

        Raises:
            InvalidInput: something is wrong with the job; nothing was stored.
            Conflict: the name is taken, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        if self._embedded is not None:
            self._embedded.start()
            stack_id = self._embedded.runtime.coordinator.adopt(job)
        else:
            # As in create.
            types = ResourceTypes.load()
            prepared = prepare(job, types, self.settings)
            adopted_rows(prepared, wishes(prepared), job.resources, types)
            stack_id = self._submit(ADOPT_TASK, job.to_wire(), job.name)
        return self.stack(stack_id)

    def update(self, job: StackJob) -> StackView:
        """Begin to give a stack a new definition, and return it as it is then: on its way.

        Raises:
            NotFound: there is no such stack.
            InvalidInput: something is wrong with the job; nothing was changed.
            Conflict: the stack is being deleted or is suspended, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        if self._embedded is not None:
            self._embedded.start()
            stack_id = self._embedded.runtime.coordinator.update(job)
        else:
            # As in create.
            stack = self._find(job.name)
            before = self._store.traversals.context(stack.traversal_id)["parameters"]
            told = replace(job, name=stack.name)
            prepare_update(told, ResourceTypes.load(), self.settings, stack_id=stack.id, before=before)
            stack_id = self._submit(UPDATE_TASK, job.to_wire(), stack.name)
        return self._begun(stack_id, job.job_id)

    def cancel(self, name: str, *, rollback: bool = True) -> StackView:
        """End what is under way on a stack, and return it as it is then: on its way back, or failed.

        Raises:
            NotFound: there is no such stack.
            Conflict: nothing is under way that can be cancelled, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        job = CancelJob(name=stack.id, project=self.settings.project, rollback=rollback)
        if self._embedded is not None:
            self._embedded.start()
            stack_id = self._embedded.runtime.coordinator.cancel(job)
        else:
            stack_id = self._submit(CANCEL_TASK, job.to_wire(), stack.name)
        return self._begun(stack_id, job.job_id)

    def operate(self, action: str, name: str) -> StackView:
        """Begin to check (``CHECK``), ``SUSPEND`` or ``RESUME`` a stack, and return it as it is then.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack is busy or in no state for it, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        job = OperateJob(action=action, name=stack.id, project=self.settings.project)
        if self._embedded is not None:
            self._embedded.start()
            stack_id = self._embedded.runtime.coordinator.operate(job)
        else:
            stack_id = self._submit(_OPERATE_TASKS[action], job.to_wire(), stack.name)
        return self.stack(stack_id)

    def take_snapshot(self, name: str, snapshot: str = "") -> StackView:
        """Begin to take a snapshot of a stack, which is called ``snapshot``; return the stack as it is then.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack is busy or in no state for it, has enough snapshots or one of this name, or a lifecycle
                plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        job = SnapshotJob(name=stack.id, snapshot=snapshot, project=self.settings.project)
        if self._embedded is not None:
            self._embedded.start()
            return self.stack(self._embedded.runtime.coordinator.snapshot(job))
        return self.stack(self._submit(SNAPSHOT_TASK, job.to_wire(), stack.name))

    def restore(
        self, name: str, snapshot: str, *, timeout_minutes: float | None = None, rollback: bool = False
    ) -> StackView:
        """Begin to bring a stack back to a snapshot, and return it as it is then: on its way.

        Raises:
            InvalidInput: the definition is not sound any more.
            NotFound: there is no such stack or snapshot.
            Conflict: the stack is busy or in no state for it, the snapshot not complete, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        job = RestoreJob(
            name=stack.id,
            snapshot=self._store.snapshots.find(stack.id, snapshot).id,
            timeout_minutes=timeout_minutes,
            rollback=rollback,
            project=self.settings.project,
        )
        if self._embedded is not None:
            self._embedded.start()
            return self.stack(self._embedded.runtime.coordinator.restore(job))
        return self.stack(self._submit(RESTORE_TASK, job.to_wire(), stack.name))

    def delete_snapshot(self, name: str, snapshot: str) -> SnapshotView | None:
        """Delete a snapshot; return it as it is then: on its way, or failed. None: it is gone.

        Raises:
            NotFound: there is no such stack or snapshot.
            Conflict: the snapshot is being made, or restored.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        row = self._store.snapshots.find(stack.id, snapshot)
        job = SnapshotJob(name=stack.id, snapshot=row.id, project=self.settings.project)
        if self._embedded is not None:
            self._embedded.runtime.coordinator.delete_snapshot(job)
        else:
            self._submit(DELETE_SNAPSHOT_TASK, job.to_wire(), stack.name)
        left = [each for each in self._store.snapshots.all(stack.id) if each.id == row.id]
        return snapshot_view(left[0]) if left else None

    def snapshots(self, name: str) -> list[SnapshotView]:
        """Return a stack's snapshots, oldest first."""
        return [snapshot_view(row) for row in self._store.snapshots.all(self._find(name).id)]

    def snapshot(self, name: str, snapshot: str) -> SnapshotView:
        """Return one snapshot of a stack, with the resources of which it holds something.

        Raises:
            NotFound: there is no such stack or snapshot.
        """
        row = self._store.snapshots.find(self._find(name).id, snapshot)
        return snapshot_view(row, self._store.snapshots.entries(row))

    def abandon(self, name: str) -> StackView | None:
        """Begin to give a stack up: it goes, and everything that it made stays; None if there was none left.

        Raises:
            NotFound: there is no such stack.
            Conflict: a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        return self._delete(name, abandon=True)

    def delete(self, name: str) -> StackView | None:
        """Begin the deletion of a stack; None if there was none left to delete.

        Raises:
            NotFound: there is no such stack.
            Conflict: a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        return self._delete(name, abandon=False)

    def _delete(self, name: str, *, abandon: bool) -> StackView | None:
        stack = self._find(name)
        if stack.deleted_at is not None:
            return None
        job = DeleteJob(name=stack.id, project=self.settings.project, abandon=abandon)
        if self._embedded is not None:
            self._embedded.start()
            stack_id = self._embedded.runtime.coordinator.delete(job)
        else:
            stack_id = self._submit(DELETE_TASK, job.to_wire(), stack.name)
        return self._begun(stack_id, job.job_id)

    def _begun(self, stack_id: str, job_id: str) -> StackView:
        """Return a stack on its way, without what only its template tells: to read it again would take its time.

        The traversal is the one that the job began, also where another took its place since.
        """
        row = self._find(stack_id)
        job = self._store.stacks.job(job_id)
        if job is not None and job.traversal_id is not None:
            row = replace(row, traversal_id=job.traversal_id)
        context = self._store.traversals.context(row.traversal_id)
        hidden = set(context.get("hidden", ()))
        # The others are the pseudo parameters.
        declared = {key: value for key, value in context["parameters"].items() if "::" not in key}
        shown = {key: "******" if key in hidden else value for key, value in declared.items()}
        return _stack_view(row, parameters=shown)

    def signal(self, name: str, resource: str, details: Mapping[str, Any]) -> StackView | None:
        """Give a resource a signal; whoever waits for it looks again at once.

        Return the stack that begins to change because of it, such as that of a group that is scaled; None if none does.

        Raises:
            NotFound: there is no such stack or resource.
            Conflict: the resource takes no such signal, or none in its present state.
            InvalidInput: it is to unset a hook of an unknown kind.
            Unavailable: it is for a coordinator, and none took it, or the queue cannot be reached.
        """
        stack = self._find(name)
        if UNSET_HOOK in details:
            is_alone = self._embedded is not None
            orders = unset_hook(self._store, stack, resource, details, at_once=is_alone)
            publish_or_leave(self._publisher(), () if is_alone else orders)
            return None
        signals = Signals(self._store, ResourceTypes.load(), self.settings)
        if not signals.change_stacks(stack, resource):
            publish_or_leave(self._publisher(), signals.tell(stack, resource, details))
            return None
        job = SignalJob(name=stack.id, resource=resource, details=details, project=self.settings.project)
        if self._embedded is not None:
            self._embedded.start()
            changed = self._embedded.runtime.coordinator.signal(job)
        else:
            changed = self._submit(SIGNAL_TASK, job.to_wire(), stack.name)
        return None if changed == stack.id else self._begun(changed, job.job_id)

    def mark_unhealthy(
        self, name: str, resource: str, *, reason: str = "", reset: bool = False
    ) -> ResourceView:
        """Have a resource replaced by the next update, or with ``reset`` say that it is sound; return it as it is then.

        Raises:
            NotFound: there is no such stack or resource.
            Conflict: the stack is busy or suspended, or the resource is in no state for it.
        """
        mark = mark_healthy if reset else mark_unhealthy
        mark(self._store, self._find(name), resource, reason=reason)
        return self.resource(name, resource)

    def hooks(self, name: str) -> list[HookView]:
        """Return where a stack's resources stand at hooks, longest first.

        Raises:
            NotFound: there is no such stack.
        """
        return [hook_view(standing) for standing in self._store.hooks.standing(self._find(name).id)]

    def clear_hooks(self, name: str, resource: str = "*", kind: str | None = None) -> list[HookView]:
        """Let on what stands at hooks, and return what that was; whoever carries out the stack's work goes on.

        Args:
            name: The stack's name or id.
            resource: A resource's name, after those of the resources that it is in and with slashes between them; it
                may have wildcards.
            kind: The kind of the hook; None for any.

        Raises:
            NotFound: there is no such stack, or no resource of the name.
            InvalidInput: there is no such kind of hook.
        """
        stack = self._find(name)
        kind = None if kind is None else check_kind(kind, path="kind")
        is_alone = self._embedded is not None
        cleared, orders = clear_hooks(self._store, stack, resource=resource, kind=kind, at_once=is_alone)
        if not is_alone:
            publish_or_leave(self._publisher(), orders)
        return cleared

    def _publisher(self) -> Publisher:
        if self._embedded is not None:
            return self._embedded
        # Celery is slow to import, and only a distributed face needs it.
        from orchestrator.queue import QueuePublisher, make_app

        return QueuePublisher(make_app(self.settings))

    def _submit(self, task: str, job: dict[str, Any], stack: str) -> str:
        from kombu.exceptions import OperationalError

        from orchestrator.queue import make_app, send_job

        try:
            send_job(make_app(self.settings), task, job, stack=stack)
        except (OperationalError, OSError) as error:
            raise Unavailable(f"the broker does not answer: {error}") from error
        return self._answer(job["job_id"])

    def _answer(self, job_id: str) -> str:
        """Wait until a coordinator has taken the job, and return the stack's id."""
        deadline = time.monotonic() + ACCEPT_SECONDS
        while time.monotonic() < deadline:
            row = self._store.stacks.job(job_id)
            if row is None:
                time.sleep(0.05)
                continue
            if row.refusal is not None:
                raise_refusal(row.refusal)
            if row.stack_id is not None:
                return row.stack_id
            raise NotFound("the stack is gone already")
        raise Unavailable(
            f"no coordinator took the job within {ACCEPT_SECONDS:g} seconds; is 'isotherm coordinator' running? "
            "If the broker keeps the job, it is done when one starts"
        )

    # -- watching ----------------------------------------------------------------------------------------------

    def watch(self, stack_id: str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        """Yield how far a stack's operation is until it is over; the last one says ``finished``.

        In embedded mode this process does the work meanwhile, also what an interrupted command left undone.
        """
        if self._embedded is not None:
            self._embedded.start()
        while True:
            progress = self.progress(stack_id)
            yield progress
            if progress.finished:
                return
            time.sleep(interval_seconds)

    def progress(self, stack_id: str) -> Progress:
        """Return how far a stack's operation is now."""
        stack = self._find(stack_id)
        nodes = self._store.families.progress(stack)
        tree = [each for each in self._store.families.in_tree(stack.root_id) if each.depth >= stack.depth]
        counts = dict(nodes.counts)
        over = stack.status != "IN_PROGRESS"
        # A failed stack's steps under way end too: an embedded process stays for them.
        if self._embedded is not None and over:
            inside = any(each.status == "IN_PROGRESS" for each in tree if each.depth > stack.depth)
            told = self._store.traversals.is_told(stack.traversal_id)
            over = told and not inside and not counts.get("running")
        elif stack.status == "FAILED":
            over = not self._store.traversals.owes_rollback(stack.traversal_id)
        return Progress(
            stack=_stack_view(stack),
            counts=counts,
            running=nodes.active,
            total=sum(counts.values()),
            done=counts.get("done", 0),
            finished=over,
            hooks=tuple(hook_view(each) for each in self._store.hooks.standing(stack.id)),
        )

    # -- showing -----------------------------------------------------------------------------------------------

    def stacks(self, *, nested: bool = False) -> list[StackView]:
        """Return all stacks that are not deleted, oldest first; those in other stacks only if ``nested``."""
        rows = self._store.stacks.all(project=self.settings.project, nested=nested)
        return [_stack_view(row) for row in rows]

    def stack(self, name: str) -> StackView:
        """Return one stack with parameters and outputs.

        Raises:
            NotFound: there is none of this name or id.
        """
        row = self._find(name)
        context = self._store.traversals.context(row.traversal_id)
        template = self._template(row, context)
        hidden = set(context.get("hidden", ()))
        shown = {
            key: "******" if key in hidden else value
            for key, value in context["parameters"].items()
            if key in template.parameters
        }
        view = replace(
            _stack_view(row, template.description, shown, self._outputs(row, template, context)),
            in_service=self._store.stacks.in_service(row),
        )
        standing = self.hooks(row.id) if row.status == "IN_PROGRESS" else ()
        return replace(view, reason=waits_for(standing)) if standing else view

    def definition(self, name: str) -> StackJob:
        """Return the job that would give a stack the definition that it has, secrets included.

        Raises:
            NotFound: there is none of this name or id.
        """
        stack = self._find(name)
        return replace(job_of_template(self._store, stack, stack.template_id), rollback=stack.rollback)

    def export(self, name: str) -> dict[str, Any]:
        """Return a stack whole as one document, secrets included; :mod:`orchestrator.stack_document` tells its shape.

        Raises:
            NotFound: there is none of this name or id.
        """
        stack = self._find(name)
        definition = job_of_template(self._store, stack, stack.template_id)
        # A stack without resources is one all the same.
        rows: dict[str, list[ResourceRow]] = {
            each.id: [] for each in self._store.families.in_tree(stack.root_id)
        }
        for row in self._store.stacks.resources_in_tree(stack.root_id):
            rows[row.stack_id].append(row)
        return document_of(stack, definition, rows, Limits.of(self.settings))

    def plan_update(self, job: StackJob) -> UpdatePlan:
        """Return what an update would do, and do nothing.

        Raises:
            NotFound: there is no such stack.
            InvalidInput: something is wrong with the job.
            Conflict: the stack is being deleted, or is suspended.
        """
        stack = self._find(job.name)
        refuse_deleted(stack)
        refuse_suspended(stack)
        types = ResourceTypes.load()
        compared = compare(self._store, stack, replace(job, name=stack.name), types, self.settings)
        return DryRun(compared, types, Limits.of(self.settings), self._store.templates.file).plan(
            _stack_view(stack).state
        )

    def resources(self, name: str, *, depth: int = 0) -> list[ResourceView]:
        """Return a stack's resources in the order of the template's graph.

        Each is followed by those of the stack that it is, down to ``depth`` stacks in stacks.
        """
        stack = self._find(name)
        if not depth:
            rows = self._store.stacks.resources(stack.id)
        else:
            rows = self._store.stacks.resources_in_tree(stack.root_id, depth=stack.depth + depth)
        names = {row.id: row.name for row in rows}
        by_stack: dict[str, list[ResourceRow]] = {}
        for row in rows:
            by_stack.setdefault(row.stack_id, []).append(row)
        found = in_tree_order(stack.id, by_stack, depth=depth)
        hooks = hooks_by_row(self._store, stack.id)
        return [_resource_view(row, names, hooks.get(row.id), within) for within, row in found]

    def resource(self, name: str, resource: str) -> ResourceView:
        """Return one resource.

        Raises:
            NotFound: there is no such stack or resource.
        """
        stack = self._find(name)
        names = {row.id: row.name for row in self._store.stacks.resources(stack.id)}
        row = self._store.stacks.resource(stack.id, resource)
        return _resource_view(row, names, hooks_by_row(self._store, stack.id).get(row.id))

    def events(
        self,
        name: str,
        *,
        after: int = 0,
        before: int | None = None,
        newest_first: bool = False,
        limit: int = 1000,
        wanted: EventFilter = ALL_EVENTS,
    ) -> list[EventView]:
        """Return a stack's events with an id above ``after`` and below ``before``, oldest first, at most ``limit``.

        Of a deleted stack too, until it is purged: by its id, or by its name as long as no other stack has that.

        Raises:
            NotFound: there is no such stack.
        """
        stack = self._past(name)
        rows = self._store.events.read(
            stack.id, after=after, before=before, newest_first=newest_first, limit=limit, wanted=wanted
        )
        return [event_view(row, stack) for row in rows]

    def event(self, name: str, event_id: int) -> EventView:
        """Return one event of a stack, which may be deleted, as in :meth:`events`.

        Raises:
            NotFound: there is no such stack or event.
        """
        stack = self._past(name)
        return event_view(self._store.events.find(stack.id, event_id), stack)

    def history(self, name: str, *, after: str = "", limit: int = 1000) -> list[TraversalView]:
        """Return a stack's operations, newest first, at most ``limit``; with ``after``, those older than that one.

        Of a deleted stack too, as in :meth:`events`.

        Raises:
            NotFound: there is no such stack, or it has no such traversal.
        """
        stack = self._past(name)
        before = self._store.past.traversal(stack.id, after) if after else None
        rows = self._store.past.traversals(stack.id, before=before, limit=limit)
        return [traversal_view(row, stack) for row in rows]

    def traversal(self, name: str, traversal_id: str) -> TraversalView:
        """Return one operation on a stack, which may be deleted, with its nodes' counts.

        Raises:
            NotFound: there is no such stack or traversal.
        """
        stack = self._past(name)
        row = self._store.past.traversal(stack.id, traversal_id)
        return traversal_view(row, stack, self._store.families.counts(row.id))

    def outputs(self, name: str) -> tuple[OutputView, ...]:
        """Return a stack's outputs; one that cannot be told yet has an error in place of a value."""
        row = self._find(name)
        context = self._store.traversals.context(row.traversal_id)
        return self._outputs(row, self._template(row, context), context)

    def output(self, name: str, key: str) -> OutputView:
        """Return one output.

        Raises:
            NotFound: there is no such stack or output; the nearest name is given.
        """
        from difflib import get_close_matches

        outputs = {output.key: output for output in self.outputs(name)}
        if key in outputs:
            return outputs[key]
        near = get_close_matches(key, outputs, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; outputs: {', '.join(outputs) or 'none'}"
        raise NotFound(f"stack {name!r} has no output {key!r}{hint}")

    def graph(self, name: str) -> GraphView:
        """Return a stack's dependency graph with the state of every resource."""
        stack = self._find(name)
        template = self._template(stack, self._store.traversals.context(stack.traversal_id))
        states = {row.name: f"{row.action}_{row.status}" for row in self._store.stacks.resources(stack.id)}
        graph = Graph({key: each.requirements for key, each in template.resources.items()})
        nodes = tuple(
            GraphNode(name=key, type=each.type, state=states.get(key, "INIT_COMPLETE"))
            for key, each in template.resources.items()
        )
        return GraphView(nodes=nodes, edges=tuple(graph.edges()))

    # -- purging -----------------------------------------------------------------------------------------------

    def purge(
        self, *, older_than_seconds: float, project: str | None = None, dry_run: bool = False
    ) -> Iterator[Removed]:
        """Remove for good what nobody needs any more, of all projects or of one; yield after each step what went.

        In a dry run nothing is removed, and what would be is counted.
        """
        wanted = Purge(
            older_than_seconds=older_than_seconds,
            max_events_per_stack=self.settings.max_events_per_stack,
            project=project,
            dry_run=dry_run,
        )
        return self._store.purger.purge(wanted)

    def _find(self, name: str) -> StackRow:
        return self._store.stacks.find(name, project=self.settings.project)

    def _past(self, name: str) -> StackRow:
        return self._store.past.stack(name, project=self.settings.project)

    def _template(self, stack: StackRow, context: Mapping[str, Any]) -> Template:
        return load_template(self._store, stack.template_id, context, self.settings)

    def _outputs(
        self, stack: StackRow, template: Template, context: Mapping[str, Any]
    ) -> tuple[OutputView, ...]:
        return outputs_of(self._store, stack, template, context, self.settings)


def _stack_view(
    row: StackRow,
    description: str = "",
    parameters: Mapping[str, Any] | None = None,
    outputs: tuple[OutputView, ...] = (),
) -> StackView:
    return StackView(
        id=row.id,
        name=row.name,
        project=row.project,
        action=row.action,
        status=row.status,
        reason=row.reason,
        description=description,
        created_at=row.created_at,
        updated_at=row.updated_at,
        traversal_id=row.traversal_id,
        timeout_minutes=row.timeout_minutes,
        parent_id=row.parent_id,
        root_id=row.root_id,
        depth=row.depth,
        parameters=parameters or {},
        outputs=outputs,
    )


def _resource_view(
    row: ResourceRow, names: Mapping[str, str], hook: str | None, within: tuple[str, ...] = ()
) -> ResourceView:
    return ResourceView(
        within=within,
        name=row.name,
        type=row.type,
        uuid=row.id,
        physical_id=row.physical_id,
        action=row.action,
        status=row.status,
        reason=row.reason if hook is None else paused_until(hook),
        unhealthy=row.unhealthy,
        hook=hook,
        requires=tuple(sorted(names[each] for each in row.requires if each in names)),
        attributes={".".join(map(str, path)): value for path, value in row.attributes},
        metadata=row.metadata,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
