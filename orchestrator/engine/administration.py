"""The part of the Python API that needs no job: purging, sinks, machines, marks of stacks, projects, logs and caches.

A method imports itself what it alone needs: most commands call one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.errors import IsothermError
from orchestrator.queries.stacks import StackQueries

if TYPE_CHECKING:
    from orchestrator.caches.admin import CacheAdmin
    from orchestrator.config.settings import Settings
    from orchestrator.engine.output_sharing import OutputSharing
    from orchestrator.engine.project_admin import ProjectAdmin
    from orchestrator.engine.resource_keys import ResourceKeys
    from orchestrator.engine.software import SoftwareAdmin
    from orchestrator.model.audit import AuditCheck, AuditEntry, AuditRecord
    from orchestrator.model.purge import Removed
    from orchestrator.nodes.admin import NodeAdmin
    from orchestrator.store.installation.reencryption import Reencryption
    from orchestrator.store.installation.refused_messages import RefusedMessages
    from orchestrator.store.store import Store
    from orchestrator.views.attention import AttentionView
    from orchestrator.views.caches import CacheView, FlushView
    from orchestrator.views.nodes import NodeView
    from orchestrator.views.sinks import SinkView
    from orchestrator.views.stacks import ResourceView, StackView


class Administration(StackQueries):
    """Queries of stacks, and what is read and administered of the installation.

    With ``counts_looks``, its look-ups of machine states count in the statistics of the installation.
    """

    def __init__(self, settings: "Settings", store: "Store", *, counts_looks: bool = True) -> None:
        super().__init__(settings, store)
        self._counts_looks = counts_looks

    # -- attention ---------------------------------------------------------------------------------------------

    def attention(self, *, broker_answers: bool = True, sees_fleet: bool = True) -> "AttentionView":
        """Return what needs a person in the settings' project, the most urgent kind first.

        Nodes are not queried if the broker does not answer. Without ``sees_fleet``, findings about the installation
        are left out.

        Raises:
            Unavailable: the database does not answer.
        """
        from orchestrator.queries.attention import of_project, stored_attention, with_installation
        from orchestrator.queries.findings import broker_finding, unknown_finding

        view = stored_attention(self._store, self.settings)
        if not sees_fleet:
            return of_project(view)
        others = [] if broker_answers else [broker_finding()]
        nodes: Sequence[NodeView] = ()
        caches: Sequence[CacheView] = ()
        try:
            nodes = self.nodes.all() if broker_answers else ()
        except IsothermError as error:
            others.append(unknown_finding("machine", "nodes", "stacks/nodes", str(error)))
        try:
            caches = self.cache_faults()
        except IsothermError as error:
            others.append(unknown_finding("cache", "caches", "stacks/cache", str(error)))
        return with_installation(view, others, nodes=nodes, caches=caches)

    # -- purging -----------------------------------------------------------------------------------------------

    def purge(
        self, *, older_than_seconds: float, project: str | None = None, dry_run: bool = False
    ) -> Iterator["Removed"]:
        """Remove rows that are not needed any more, of all projects or of one; yield what each step removed.

        A dry run only counts what would be removed. Events that an event sink has not received yet are kept, up to
        ``max_sink_backlog_events``.
        """
        from orchestrator.model.purge import Purge

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

    def event_sinks(self) -> list["SinkView"]:
        """Return the position of each event sink: those of the settings first, then those of environments."""
        from orchestrator.sinks.admin import sink_views

        return sink_views(self._store.sink_cursors, self.settings)

    def forget_event_sink(self, name: str, /) -> None:
        """Forget a sink, so that no events are kept for it any more.

        Raises:
            Conflict: it is enabled here.
        """
        from orchestrator.sinks.admin import forget_sink

        forget_sink(self._store.sink_cursors, self.settings, name)

    # -- nodes -------------------------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> "NodeAdmin":
        """The machines of the installation.

        Raises:
            InvalidInput: the settings of machines are wrong.
        """
        import psutil

        from orchestrator.nodes.admin import NodeAdmin
        from orchestrator.nodes.inquiry import NodeInquiry
        from orchestrator.nodes.rpc.client import NodeClient
        from orchestrator.nodes.statistics import NodeStatistics

        timeout_seconds = self.settings.node_state_cache.rpc_timeout_seconds
        counters = self._store.node_counters
        tally = (
            NodeStatistics.of(self.settings, counters)
            if self._counts_looks
            else NodeStatistics(lambda: None, counters)
        )
        return NodeAdmin(
            NodeInquiry(NodeClient.of(self.settings), timeout_seconds=timeout_seconds),
            self._store.machines,
            lambda names: self._store.reservations.promised(names, stack_id="").totals,
            tally,
            booted_at=psutil.boot_time() if self.settings.embedded else None,
        )

    @cached_property
    def projects(self) -> "ProjectAdmin":
        """The limits of projects, and what they use of them."""
        from orchestrator.engine.project_admin import ProjectAdmin

        return ProjectAdmin(self.settings, self._store)

    # -- the project -------------------------------------------------------------------------------------------

    def protect(self, name: str, resources: Sequence[str] = (), *, protected: bool = True) -> "StackView":
        """Protect a stack against deletion, or only some ``resources`` of it against deletion and replacement.

        A resource of a nested stack is named by its path, with slashes. ``protected=False`` takes the protection off.
        The caller's comment is recorded as the reason.

        Raises:
            Conflict: an operation is under way, or a resource is being deleted.
        """
        from orchestrator.config.caller import caller
        from orchestrator.engine.protection_marks import protect
        from orchestrator.model.policy import UNPROTECT

        stack = self._find(name)
        for target in resources or ("",):
            action = "stack.protect" if protected else UNPROTECT
            self._record(action, f"{stack.name}/{target}" if target else stack.name)
        protect(self._store, stack, resources, protected=protected, reason=caller().comment)
        return self.head(stack.id)

    def live_resource(self, name: str, resource: str) -> "ResourceView":
        """Return one resource with all attributes of its type, read from the object by its plugin in this process.

        Raises:
            Conflict: it has no object, is a nested stack, or its type is not installed here.
        """
        from orchestrator.engine.live_attributes import live_attributes
        from orchestrator.plugins.registry import ResourceTypes

        stack = self._find(name)
        row = self._store.stacks.resource(stack.id, resource)
        read, unread = live_attributes(row, stack, self._store, ResourceTypes.on_demand(), self.settings)
        return replace(self.resource(name, resource), attributes=read, attribute_errors=unread)

    def mark_unhealthy(
        self, name: str, resource: str, *, reason: str = "", reset: bool = False
    ) -> "ResourceView":
        """Mark a resource unhealthy, so that the next update replaces it, or with ``reset`` healthy; return it.

        Raises:
            Conflict: the stack is busy or suspended, or the resource is in no state for it.
        """
        from orchestrator.engine.health import mark_unhealthy

        stack = self._find(name)
        self._record("stack.mark_unhealthy", f"{stack.name}/{resource}")
        mark_unhealthy(self._store, stack, resource, reason=reason, reset=reset)
        return self.resource(name, resource)

    @cached_property
    def sharing(self) -> "OutputSharing":
        """The outputs that stacks read of each other, and the projects that may."""
        from orchestrator.engine.output_sharing import OutputSharing

        return OutputSharing(self.settings, self._store, find=self._find, record=self._record)

    @cached_property
    def software(self) -> "SoftwareAdmin":
        """The software configs and deployments of the project."""
        from orchestrator.engine.software import SoftwareAdmin

        return SoftwareAdmin(self.settings, self._store, self._record)

    @cached_property
    def keys(self) -> "ResourceKeys":
        """The keys of the project's resources."""
        from orchestrator.engine.resource_keys import ResourceKeys

        return ResourceKeys(self.settings, self._store, self._find)

    def _record(self, action: str, target: str) -> None:
        """Record in the audit log what needs no job."""
        from orchestrator.config.caller import caller
        from orchestrator.model.audit import AuditEntry

        entry = AuditEntry.of(caller(), action, project=self.settings.project, target=target)
        self._store.audit_log.append(entry)

    # -- refused messages --------------------------------------------------------------------------------------

    @property
    def refused(self) -> "RefusedMessages":
        """The messages that processes have refused, and their counts."""
        return self._store.refused_messages

    # -- what is at rest ---------------------------------------------------------------------------------------

    @property
    def reencryption(self) -> "Reencryption":
        """Rewrites of what is at rest in the database with the newest encryption key."""
        return self._store.reencryption

    # -- audit log ---------------------------------------------------------------------------------------------

    def audit_records(self, limit: int = 20) -> "list[AuditRecord]":
        """Return the newest records of the audit log, the newest first."""
        return self._store.audit_log.newest(limit)

    def record_refusal(self, entry: "AuditEntry") -> None:
        """Record that a caller was refused something: once a minute for each user and action, with their number."""
        self._store.audit_log.append_refusal(entry)

    def verify_audit_log(self, expected: str = "") -> "AuditCheck":
        """Return whether all records of the audit log fit, and one of them has the ``expected`` hash, if given."""
        return self._store.audit_log.verify(expected)

    # -- constraint caches -------------------------------------------------------------------------------------

    def cache_stats(self, client: str | None = None, *, reset: bool = False) -> list["CacheView"]:
        """Return the state and counters of the constraint caches, or of one client's.

        With ``reset`` the counters begin again at zero afterwards.
        """
        return self._cache_admin.stats(client, reset=reset)

    def cache_faults(self) -> list["CacheView"]:
        """Return the constraint caches that cannot be used; this needs no database."""
        return self._cache_admin.faults()

    def cache_clients(self) -> Collection[str]:
        """Return the names of the client plugins that may have a constraint cache.

        Raises:
            PluginMistake: a client plugin cannot be imported, or is no client plugin.
        """
        return self._cache_admin.clients

    def flush_caches(self, client: str | None = None) -> list["FlushView"]:
        """Empty the constraint caches, or that of one client; return the result for each."""
        return self._cache_admin.flush(client)

    @cached_property
    def _cache_admin(self) -> "CacheAdmin":
        from orchestrator.caches.admin import CacheAdmin
        from orchestrator.plugins.clients import ClientPlugins
        from orchestrator.plugins.constraint_caches import ConstraintCaches

        return CacheAdmin(
            ConstraintCaches(self.settings).of,
            # A client without entities that uses another's settings looks nothing up itself.
            [name for name, kind in ClientPlugins.load().items() if kind.entities or not kind.settings_of],
            self.settings.constraint_cache.clients,
            self._store.cache_counters,
            self._store.cache_flushes,
        )
