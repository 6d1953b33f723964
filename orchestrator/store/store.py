"""The state of record as one object: the tables' operations on one database."""

from orchestrator.config.settings import Settings
from orchestrator.model.codec import Codec
from orchestrator.store.database import Clock, Database
from orchestrator.store.history.census import Census
from orchestrator.store.history.event_log import EventLog
from orchestrator.store.history.events import Events
from orchestrator.store.history.observing import Observations
from orchestrator.store.history.past import Past
from orchestrator.store.horizon import Horizon
from orchestrator.store.installation.audit_log import AuditLog
from orchestrator.store.installation.cache_counters import CacheCounters, CacheFlushes, NodeCounters
from orchestrator.store.installation.identity import Identity
from orchestrator.store.installation.jobs_in_flight import TakenJobs
from orchestrator.store.installation.processes import Processes
from orchestrator.store.installation.project_limits import ProjectLimitRows
from orchestrator.store.installation.reencryption import Reencryption
from orchestrator.store.installation.refused_messages import RefusedMessages
from orchestrator.store.installation.sink_cursors import SinkCursors
from orchestrator.store.machines.machines import Machines
from orchestrator.store.machines.reservations import Reservations
from orchestrator.store.nodes.breakpoints import Breakpoints
from orchestrator.store.nodes.nodes import Nodes
from orchestrator.store.purging.purging import Purger
from orchestrator.store.repository import Timings
from orchestrator.store.stacks.annotations import Annotations
from orchestrator.store.stacks.health import Health
from orchestrator.store.stacks.nested_stacks import Families
from orchestrator.store.stacks.pages import StackPages
from orchestrator.store.stacks.presences import Presences
from orchestrator.store.stacks.resource_history import Histories
from orchestrator.store.stacks.scalings import Scalings
from orchestrator.store.stacks.snapshots import Snapshots
from orchestrator.store.stacks.stacks import Stacks
from orchestrator.store.tables import metadata
from orchestrator.store.traversals.ledger import Ledger
from orchestrator.store.traversals.plugin_failures import PluginFailures
from orchestrator.store.traversals.starting import TraversalStarts
from orchestrator.store.traversals.stuck import Stuck
from orchestrator.store.traversals.sweeping import Sweeper
from orchestrator.store.traversals.templates import Templates
from orchestrator.store.traversals.traversals import Traversals


class Store:
    """The tables' operations, grouped by subject, on one database."""

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
        self.database = where if isinstance(where, Database) else Database(where, clock=clock)
        self.codec = codec or Codec()
        self.timings = timings or Timings()
        parts = self.database, self.codec, self.timings
        self.nodes = Nodes(*parts)
        self.traversal_starts = TraversalStarts(*parts)
        self.traversals = Traversals(*parts)
        self.ledger = Ledger(*parts)
        self.plugin_failures = PluginFailures(*parts)
        self.sweeper = Sweeper(*parts, self.nodes, self.ledger)
        self.breakpoints = Breakpoints(*parts, self.nodes)
        self.health = Health(*parts)
        self.families = Families(*parts)
        self.stacks = Stacks(*parts)
        self.snapshots = Snapshots(*parts)
        self.histories = Histories(*parts)
        self.templates = Templates(*parts)
        horizon = Horizon(self.database)
        self.events = Events(self.database, horizon)
        self.past = Past(self.database, self.stacks)
        self.observations = Observations(self.database, horizon)
        self.identity = Identity(*parts)
        self.reencryption = Reencryption(*parts, self.identity)
        self.processes = Processes(*parts)
        self.stuck = Stuck(*parts)
        self.stack_pages = StackPages(self.database, horizon)
        self.event_log = EventLog(self.database, self.observations)
        self.annotations = Annotations(*parts)
        self.census = Census(*parts)
        self.presences = Presences(*parts)
        self.purger = Purger(*parts)
        self.scalings = Scalings(*parts)
        self.sink_cursors = SinkCursors(self.database, self.codec, horizon)
        self.taken_jobs = TakenJobs(*parts)
        self.cache_counters = CacheCounters(*parts)
        self.cache_flushes = CacheFlushes(*parts)
        self.machines = Machines(*parts)
        self.reservations = Reservations(*parts)
        self.node_counters = NodeCounters(*parts)
        self.refused_messages = RefusedMessages(*parts)
        self.audit_log = AuditLog(*parts)
        self.project_limits = ProjectLimitRows(*parts)

    @classmethod
    def of(cls, settings: Settings) -> "Store":
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
        store.audit_log.has_events = settings.audit_events
        return store

    @classmethod
    def empty(cls) -> "Store":
        """Make an empty store in memory, in place of a database that does not exist yet."""
        store = cls("sqlite://")
        metadata.create_all(store.database.engine)
        return store

    def close(self) -> None:
        """Close all connections."""
        self.database.dispose()
