"""The one Python API that every face uses: create, update, cancel, delete, watch, show.

Embedded or distributed is decided by the settings and seen here only: embedded, this process does the work itself
(:mod:`orchestrator.processes.embedded`); distributed, jobs go to the queue (:mod:`orchestrator.processes.job_client`).
"""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Self

import psutil

from orchestrator.caches.admin import CacheAdmin
from orchestrator.config.settings import Settings
from orchestrator.engine.breakpoints import UNSET_HOOK, check_kind, clear_hooks, unset_hook
from orchestrator.engine.health import mark_healthy, mark_unhealthy
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.engine.signals import Signals
from orchestrator.engine.update_plan import update_plan
from orchestrator.model.messages import (
    OPERATE_JOBS,
    AdoptJob,
    CancelJob,
    DeleteJob,
    DeleteSnapshotJob,
    RestoreJob,
    SignalJob,
    SnapshotJob,
    StackJob,
    UpdateJob,
)
from orchestrator.model.purge import Purge, Removed
from orchestrator.nodes.admin import NodeAdmin
from orchestrator.nodes.inquiry import NodeInquiry
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.nodes.statistics import NodeStatistics
from orchestrator.planning.adoption import adopted_rows
from orchestrator.planning.preparation import desired_of, prepare, prepare_update
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.constraint_caches import ConstraintCaches
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.processes.embedded import Embedded
from orchestrator.processes.embedded_database import prepare_database
from orchestrator.processes.job_client import JobClient
from orchestrator.queries.breakpoints import hook_view
from orchestrator.queries.observer import Observer
from orchestrator.queries.snapshots import snapshot_view
from orchestrator.queries.stacks import StackQueries, stack_view, warnings_in
from orchestrator.sinks.admin import forget_sink, sink_views
from orchestrator.store.stacks.tallies import done_of
from orchestrator.store.store import Store
from orchestrator.views.caches import CacheView, FlushView
from orchestrator.views.sinks import SinkView
from orchestrator.views.stacks import (
    HookView,
    Progress,
    ResourceView,
    SnapshotView,
    StackView,
    UpdatePlan,
)

#: How soon a stack is looked at again that was looked at first.
FIRST_PAUSE_SECONDS: Final = 0.02


class Service(StackQueries):
    """Stacks, for faces: every name is looked up in the settings' project.

    Args:
        settings: How the installation is.
        store: Where the state of record is.
        embedded: What does the work in this process; None: others do.
        counts_looks: Whether what it asks of nodes counts among what all processes ask.
    """

    def __init__(
        self, settings: Settings, *, store: Store, embedded: Embedded | None, counts_looks: bool = True
    ) -> None:
        super().__init__(settings, store)
        self._embedded = embedded
        self._counts_looks = counts_looks
        #: Where jobs are handed in.
        self._jobs: Embedded | JobClient = embedded or JobClient(settings, store)

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
        prepare_database(settings, store)
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
        if self._embedded is None:
            # Refused here if it can be: with positions, at once, and without troubling anybody.
            prepare(job, ResourceTypes.load(), self.settings)
        stack_id = self._jobs.submit(job, stack=job.name)
        return self._begun(stack_id, job.job_id)

    def adopt(self, job: AdoptJob) -> StackView:
        """Begin a stack of what is there already, and return it as it is then: on its way.

        Raises:
            InvalidInput: something is wrong with the job; nothing was stored.
            Conflict: the name is taken, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        if self._embedded is None:
            # As in create.
            types = ResourceTypes.load()
            prepared = prepare(job, types, self.settings)
            adopted_rows(prepared, desired_of(prepared), job.resources, types)
        stack_id = self._jobs.submit(job, stack=job.name)
        return self.stack(stack_id)

    def update(self, job: StackJob) -> StackView:
        """Begin to give a stack a new definition, and return it as it is then: on its way.

        Raises:
            NotFound: there is no such stack.
            InvalidInput: something is wrong with the job; nothing was changed.
            Conflict: the stack is being deleted or is suspended, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        name = job.name
        if self._embedded is None:
            # As in create.
            stack = self._find(job.name)
            name = stack.name
            before = self._store.traversals.context(stack.traversal_id)["parameters"]
            told = replace(job, name=stack.name)
            prepare_update(told, ResourceTypes.load(), self.settings, stack_id=stack.id, before=before)
        stack_id = self._jobs.submit(UpdateJob.of(job), stack=name)
        return self._begun(stack_id, job.job_id)

    def plan_update(self, job: StackJob) -> UpdatePlan:
        """Return what an update would do, and do nothing.

        Raises:
            NotFound: there is no such stack.
            InvalidInput: something is wrong with the job.
            Conflict: the stack is being deleted, or is suspended, or a lifecycle plugin would refuse.
            NotVerified: another system was to be asked, and does not answer.
        """
        stack = self._find(job.name)
        # Distributed, other systems are asked by the coordinator that carries the update out.
        clients = self._embedded.runtime.clients if self._embedded is not None else None
        state = stack_view(stack).state
        return update_plan(self._store, stack, job, self.settings, clients=clients, state=state)

    def cancel(self, name: str, *, rollback: bool = True) -> StackView:
        """End what is under way on a stack, and return it as it is then: on its way back, or failed.

        Raises:
            NotFound: there is no such stack.
            Conflict: nothing is under way that can be cancelled, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        job = CancelJob(name=stack.id, project=self.settings.project, rollback=rollback)
        stack_id = self._jobs.submit(job, stack=stack.name)
        return self._begun(stack_id, job.job_id)

    def operate(self, action: str, name: str) -> StackView:
        """Begin to check (``CHECK``), ``SUSPEND`` or ``RESUME`` a stack, and return it as it is then.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack is busy or in no state for it, or a lifecycle plugin refused.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        job = OPERATE_JOBS[action](name=stack.id, project=self.settings.project)
        stack_id = self._jobs.submit(job, stack=stack.name)
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
        return self.stack(self._jobs.submit(job, stack=stack.name))

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
        return self.stack(self._jobs.submit(job, stack=stack.name))

    def delete_snapshot(self, name: str, snapshot: str) -> SnapshotView | None:
        """Delete a snapshot; return it as it is then: on its way, or failed. None: it is gone.

        Raises:
            NotFound: there is no such stack or snapshot.
            Conflict: the snapshot is being made, or restored.
            Unavailable: the queue cannot be reached, or no coordinator took the job.
        """
        stack = self._find(name)
        row = self._store.snapshots.find(stack.id, snapshot)
        job = DeleteSnapshotJob(name=stack.id, snapshot=row.id, project=self.settings.project)
        self._jobs.submit(job, stack=stack.name)
        left = [each for each in self._store.snapshots.all(stack.id) if each.id == row.id]
        return snapshot_view(left[0]) if left else None

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
        stack_id = self._jobs.submit(job, stack=stack.name)
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
        return replace(stack_view(row, parameters=shown), warnings=warnings_in(context))

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
        changed = self._jobs.submit(job, stack=stack.name)
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
        from orchestrator.queue.celery_app import QueuePublisher, make_app

        return QueuePublisher(make_app(self.settings))

    # -- watching ----------------------------------------------------------------------------------------------

    def watch(self, stack_id: str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        """Yield how far a stack's operation is until it is over; the last one says ``finished``.

        What is over soon is told soon: the pauses grow up to ``interval_seconds``. In embedded mode this process does
        the work meanwhile, also what an interrupted command left undone.
        """
        if self._embedded is not None:
            self._embedded.start()
        pause_seconds = min(FIRST_PAUSE_SECONDS, interval_seconds)
        while True:
            progress = self.progress(stack_id)
            yield progress
            if progress.finished:
                return
            time.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, interval_seconds)

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
        # A rollback that was owed when the stack was read may have begun since.
        over = over and self._find(stack.id).traversal_id == stack.traversal_id
        return Progress(
            stack=stack_view(stack),
            counts=counts,
            running=nodes.active,
            reasons=nodes.reasons,
            total=sum(counts.values()),
            done=done_of(counts),
            finished=over,
            hooks=tuple(hook_view(each) for each in self._store.hooks.standing(stack.id)),
        )

    @cached_property
    def observer(self) -> Observer:
        """Pictures of operations, as the dashboard shows them."""
        return Observer(self.settings, self._store)

    # -- purging -----------------------------------------------------------------------------------------------

    def purge(
        self, *, older_than_seconds: float, project: str | None = None, dry_run: bool = False
    ) -> Iterator[Removed]:
        """Remove for good what nobody needs any more, of all projects or of one; yield after each step what went.

        In a dry run nothing is removed, and what would be is counted. Events that an event sink is still to be told
        stay, up to so many as the settings say.
        """
        wanted = Purge(
            older_than_seconds=older_than_seconds,
            max_events_per_stack=self.settings.max_events_per_stack,
            project=project,
            dry_run=dry_run,
        )
        if not dry_run:
            self._store.sink_cursors.bound(self.settings.max_sink_backlog_events)
        return self._store.purger.purge(wanted)

    # -- event sinks -------------------------------------------------------------------------------------------

    def event_sinks(self) -> list[SinkView]:
        """Return how far each event sink has been told: those of the settings first, then those of environments."""
        return sink_views(self._store.sink_cursors, self.settings)

    def forget_event_sink(self, name: str, /) -> None:
        """Have no events kept any more for a sink.

        Raises:
            NotFound: there is no such sink.
            Conflict: it is enabled here.
        """
        forget_sink(self._store.sink_cursors, self.settings, name)

    # -- nodes -------------------------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> NodeAdmin:
        """The nodes of the installation.

        Raises:
            InvalidInput: the settings of nodes are wrong.
        """
        timeout_seconds = self.settings.node_state_cache.rpc_timeout_seconds
        counters = self._store.node_counters
        tally = (
            NodeStatistics.of(self.settings, counters)
            if self._counts_looks
            else NodeStatistics.silent(counters)
        )
        return NodeAdmin(
            NodeInquiry(NodeClient.of(self.settings), timeout_seconds=timeout_seconds),
            self._store.machines,
            lambda names: self._store.reservations.promised(names, stack_id="").totals,
            tally,
            booted_at=psutil.boot_time() if self.settings.embedded else None,
        )

    # -- constraint caches -------------------------------------------------------------------------------------

    def cache_stats(self, client: str | None = None, *, reset: bool = False) -> list[CacheView]:
        """Return what the constraint caches are, or that of one client, and what all processes counted.

        With ``reset`` counting begins again at zero afterwards.

        Raises:
            NotFound: there is no such client.
        """
        return self._cache_admin.stats(client, reset=reset)

    def cache_clients(self) -> Collection[str]:
        """Return the client plugins that have a constraint cache, where settings do not forbid it.

        Raises:
            PluginMistake: one cannot be imported, or is none.
        """
        return self._cache_admin.clients

    def flush_caches(self, client: str | None = None) -> list[FlushView]:
        """Have what the constraint caches hold forgotten, or that of one client; return what became of it.

        Raises:
            NotFound: there is no such client.
        """
        return self._cache_admin.flush(client)

    @cached_property
    def _cache_admin(self) -> CacheAdmin:
        return CacheAdmin(
            # Made once: who looks again and again connects once.
            ConstraintCaches(self.settings).of,
            # What has another's settings and looks nothing up has nothing to remember.
            [name for name, kind in ClientPlugins.load().items() if kind.entities or not kind.settings_of],
            self.settings.constraint_cache.clients,
            self._store.cache_counters,
            self._store.cache_flushes,
        )
