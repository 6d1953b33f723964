"""The state of record as one object: the tables' operations on one database."""

from typing import TYPE_CHECKING

from orchestrator.model.codec import Codec
from orchestrator.store.database import Clock, Database
from orchestrator.store.horizon import Horizon
from orchestrator.store.on_demand import part
from orchestrator.store.repository import Timings

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.store.history.census import Census
    from orchestrator.store.history.event_log import EventLog
    from orchestrator.store.history.events import Events
    from orchestrator.store.history.observing import Observations
    from orchestrator.store.history.past import Past
    from orchestrator.store.history.runs import Runs
    from orchestrator.store.installation.audit_log import AuditLog
    from orchestrator.store.installation.cache_counters import CacheCounters, CacheFlushes, NodeCounters
    from orchestrator.store.installation.credentials import DelegatedCredentials
    from orchestrator.store.installation.identity import Identity
    from orchestrator.store.installation.jobs_in_flight import TakenJobs
    from orchestrator.store.installation.processes import Processes
    from orchestrator.store.installation.project_limits import ProjectLimitRows
    from orchestrator.store.installation.reencryption import Reencryption
    from orchestrator.store.installation.refused_messages import RefusedMessages
    from orchestrator.store.installation.resource_software import ResourceSoftware
    from orchestrator.store.installation.sink_cursors import SinkCursors
    from orchestrator.store.installation.software import Software
    from orchestrator.store.machines.machines import Machines
    from orchestrator.store.machines.reservations import Reservations
    from orchestrator.store.nodes.breakpoints import Breakpoints
    from orchestrator.store.nodes.nodes import Nodes
    from orchestrator.store.nodes.step_logs import StepLogs
    from orchestrator.store.purging.purging import Purger
    from orchestrator.store.stacks.annotations import Annotations
    from orchestrator.store.stacks.attention import AttentionStacks
    from orchestrator.store.stacks.drifts import Drifts
    from orchestrator.store.stacks.health import Health
    from orchestrator.store.stacks.listing import StackLists
    from orchestrator.store.stacks.nested_stacks import Families
    from orchestrator.store.stacks.observation_turns import ObservationTurns
    from orchestrator.store.stacks.output_readers import OutputReaders
    from orchestrator.store.stacks.output_shares import OutputShares
    from orchestrator.store.stacks.pages import StackPages
    from orchestrator.store.stacks.presences import Presences
    from orchestrator.store.stacks.protections import Protections
    from orchestrator.store.stacks.resource_history import Histories
    from orchestrator.store.stacks.row_marks import RowMarks
    from orchestrator.store.stacks.scalings import Scalings
    from orchestrator.store.stacks.snapshots import Snapshots
    from orchestrator.store.stacks.stacks import Stacks
    from orchestrator.store.traversals.ledger import Ledger
    from orchestrator.store.traversals.plugin_failures import PluginFailures
    from orchestrator.store.traversals.starting import TraversalStarts
    from orchestrator.store.traversals.stuck import Stuck
    from orchestrator.store.traversals.sweeping import Sweeper
    from orchestrator.store.traversals.templates import Templates
    from orchestrator.store.traversals.traversals import Traversals


class Store:
    """The tables' operations, grouped by subject, on one database."""

    nodes: "Nodes" = part("nodes.nodes:Nodes")
    step_logs: "StepLogs" = part("nodes.step_logs:StepLogs")
    traversal_starts: "TraversalStarts" = part("traversals.starting:TraversalStarts")
    traversals: "Traversals" = part("traversals.traversals:Traversals")
    ledger: "Ledger" = part("traversals.ledger:Ledger")
    plugin_failures: "PluginFailures" = part("traversals.plugin_failures:PluginFailures")
    sweeper: "Sweeper" = part(
        "traversals.sweeping:Sweeper", lambda store: (*store.parts, store.nodes, store.ledger)
    )
    breakpoints: "Breakpoints" = part(
        "nodes.breakpoints:Breakpoints", lambda store: (*store.parts, store.nodes)
    )
    health: "Health" = part("stacks.health:Health")
    protections: "Protections" = part("stacks.protections:Protections")
    observation_turns: "ObservationTurns" = part("stacks.observation_turns:ObservationTurns")
    drifts: "Drifts" = part("stacks.drifts:Drifts")
    output_readers: "OutputReaders" = part("stacks.output_readers:OutputReaders")
    output_shares: "OutputShares" = part("stacks.output_shares:OutputShares")
    families: "Families" = part("stacks.nested_stacks:Families")
    stacks: "Stacks" = part("stacks.stacks:Stacks")
    row_marks: "RowMarks" = part("stacks.row_marks:RowMarks")
    snapshots: "Snapshots" = part("stacks.snapshots:Snapshots")
    histories: "Histories" = part("stacks.resource_history:Histories")
    templates: "Templates" = part("traversals.templates:Templates")
    events: "Events" = part("history.events:Events", lambda store: (store.database, store.horizon))
    past: "Past" = part("history.past:Past", lambda store: (store.database, store.stacks))
    runs: "Runs" = part("history.runs:Runs")
    observations: "Observations" = part(
        "history.observing:Observations", lambda store: (store.database, store.horizon)
    )
    identity: "Identity" = part("installation.identity:Identity")
    reencryption: "Reencryption" = part(
        "installation.reencryption:Reencryption", lambda store: (*store.parts, store.identity)
    )
    processes: "Processes" = part("installation.processes:Processes")
    stuck: "Stuck" = part("traversals.stuck:Stuck")
    stack_pages: "StackPages" = part("stacks.pages:StackPages", lambda store: (store.database, store.horizon))
    stack_lists: "StackLists" = part("stacks.listing:StackLists")
    event_log: "EventLog" = part(
        "history.event_log:EventLog", lambda store: (store.database, store.observations)
    )
    annotations: "Annotations" = part("stacks.annotations:Annotations")
    attention: "AttentionStacks" = part("stacks.attention:AttentionStacks")
    census: "Census" = part("history.census:Census")
    presences: "Presences" = part("stacks.presences:Presences")
    purger: "Purger" = part("purging.purging:Purger")
    scalings: "Scalings" = part("stacks.scalings:Scalings")
    sink_cursors: "SinkCursors" = part(
        "installation.sink_cursors:SinkCursors", lambda store: (store.database, store.codec, store.horizon)
    )
    taken_jobs: "TakenJobs" = part("installation.jobs_in_flight:TakenJobs")
    cache_counters: "CacheCounters" = part("installation.cache_counters:CacheCounters")
    cache_flushes: "CacheFlushes" = part("installation.cache_counters:CacheFlushes")
    machines: "Machines" = part("machines.machines:Machines")
    reservations: "Reservations" = part("machines.reservations:Reservations")
    node_counters: "NodeCounters" = part("installation.cache_counters:NodeCounters")
    refused_messages: "RefusedMessages" = part("installation.refused_messages:RefusedMessages")
    audit_log: "AuditLog" = part(
        "installation.audit_log:AuditLog", lambda store: (*store.parts, store.has_audit_events)
    )
    project_limits: "ProjectLimitRows" = part("installation.project_limits:ProjectLimitRows")
    credentials: "DelegatedCredentials" = part("installation.credentials:DelegatedCredentials")
    software: "Software" = part("installation.software:Software")
    resource_software: "ResourceSoftware" = part("installation.resource_software:ResourceSoftware")

    def __init__(
        self,
        where: str | Database,
        *,
        codec: Codec | None = None,
        timings: Timings | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare to connect to a URL; nothing is touched yet. ``clock`` replaces the database's clock in simulations.

        ``where`` may also be a database object, which has its own clock.

        Raises:
            InvalidInput: ``where`` is no database URL.
        """
        self.database: Database = where if isinstance(where, Database) else Database(where, clock=clock)
        self.codec: Codec = codec or Codec()
        self.timings = timings or Timings()
        self.parts: tuple[Database, Codec, Timings] = self.database, self.codec, self.timings
        self.horizon: Horizon = Horizon(self.database)
        #: Whether event sinks receive the records of the audit log.
        self.has_audit_events: bool = False

    @classmethod
    def of(cls, settings: "Settings") -> "Store":
        """Make the store that the settings describe.

        Raises:
            InvalidInput: the database URL or an encryption key is malformed.
        """
        timings = Timings(
            lease_seconds=settings.lease_seconds,
            redeliver_seconds=settings.redeliver_seconds,
            lost_attempts=settings.lost_attempt_limit,
            # A broker may redeliver a lost job late.
            job_seconds=2 * settings.job_lease_seconds,
        )
        keys = [key.get_secret_value() for key in settings.encryption_keys]
        database = Database(settings.effective_database_url, connections=settings.database_connections)
        store = cls(database, codec=Codec(keys), timings=timings)
        store.codec.refuses_unbound = (
            (lambda: True) if settings.refuse_unbound_values else store.identity.is_reencrypted
        )
        store.database.seal_sentences(keys)
        store.has_audit_events = settings.audit_events
        return store

    @classmethod
    def empty(cls) -> "Store":
        """Make an empty store in memory, in place of a database that does not exist yet."""
        from orchestrator.store.tables import metadata

        store = cls("sqlite://")
        with store.database.write() as connection:
            metadata.create_all(connection)
        return store

    def close(self) -> None:
        """Close all connections."""
        self.database.dispose()
