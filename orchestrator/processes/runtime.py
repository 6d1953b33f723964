"""Runtime of a process: its store, types, plugins, coordinator and checker, made of the settings."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from hooks.events import EventSink
from hooks.lifecycle import LifecyclePlugin
from hooks.loading.entries import load_named
from orchestrator.config.access_policy import load_policy
from orchestrator.config.hooks import all_at_once, event_sinks, lifecycle_plugins
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement
from orchestrator.config.settings import Settings
from orchestrator.engine.coordinator import Coordinator
from orchestrator.engine.publisher import Publisher
from orchestrator.lifecycle.engine_plugin import Engine, joined
from orchestrator.model.messages import CheckOrder
from orchestrator.model.policy import Policy
from orchestrator.placement.joining import engine_of
from orchestrator.plugins.client_plugin import LookupCache
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.processes.registration import Registration, identity_here
from orchestrator.sinks.pumps import Pumps
from orchestrator.store.store import Store
from orchestrator.tracing.switch import tracing_of
from orchestrator.tracing.tracer import Tracing

# Of what few processes use.
if TYPE_CHECKING:
    from orchestrator.caches.process import ProcessCaches
    from orchestrator.nodes.statistics import NodeStatistics
    from orchestrator.nodes.watcher import NodeWatcher
    from orchestrator.sinks.environments import EnvironmentSinks

#: The kind of a process that does the work of a command.
EMBEDDED: Final = "embedded"
#: How long :meth:`Runtime.flush` delivers remaining events; other processes deliver the rest.
LAST_MOMENT_SECONDS = 1.0


class CheckCarrier(Protocol):
    """Carries out check orders; the workers' package provides it through an entry point."""

    def check(self, orders: Sequence[CheckOrder]) -> tuple[str, ...]:
        """Carry out the orders of one message; return the names of the resources that failed for good."""

    def close(self) -> None:
        """Stop its threads."""


def process_name(kind: str, celery_name: str = "") -> str:
    """Return a unique name of this process: its kind, host, pid and start time.

    The kind is the name of its Celery worker without the host, if it has one.
    """
    # The real host name, not Celery's: other processes of the host look the pid up by it.
    what = celery_name.partition("@")[0] or kind
    return f"{what}@{os.uname().nodename}:{os.getpid()}:{_started_here():.2f}"


def _started_here() -> float:
    """Return when this process started, in seconds since the epoch, as psutil does, which is slow to import."""
    try:
        boot = Path("/proc/stat").read_bytes().partition(b"\nbtime ")[2].split(None, 1)
        # The second field, the program's name in parentheses, may contain spaces and parentheses.
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        if boot:
            return int(fields[19]) / os.sysconf("SC_CLK_TCK") + int(boot[0])
    except OSError:
        # Not Linux.
        pass
    import psutil

    return psutil.Process().create_time()


def is_dead_here(name: str) -> bool:
    """Return whether ``name`` is a process of this host that has ended."""
    import psutil

    try:
        host, pid, started = name.partition("@")[2].rsplit(":", 2)
        if host != os.uname().nodename:
            return False
        process = psutil.Process(int(pid))
        # An ended process stays in the process table until its parent waits for it.
        is_another = abs(process.create_time() - float(started)) > 0.05
        return is_another or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    except (ValueError, psutil.Error):
        return False


class Runtime:
    """The parts of the engine in one process; each is made at its first use."""

    def __init__(
        self,
        settings: Settings,
        publisher: Publisher,
        *,
        kind: str,
        store: Store | None = None,
        celery_name: str = "",
        queues: tuple[str, ...] = (),
        replacement: Replacement = NO_REPLACEMENT,
    ) -> None:
        """Make a runtime; ``celery_name`` and ``queues`` are those of the process's Celery worker, if it has one.

        ``replacement`` replaces the process, or a thread of it, when third-party code hangs in it.
        """
        self.settings = settings
        self.publisher = publisher
        self.name = process_name(kind, celery_name)
        self._kind = kind
        self._store = store
        self._celery_name = celery_name
        self._queues = queues
        self._replacement = replacement

    @cached_property
    def store(self) -> Store:
        """The store."""
        return self._store or Store.of(self.settings)

    @cached_property
    def policy(self) -> Policy:
        """Which role each operation needs."""
        return load_policy(self.settings)

    @cached_property
    def types(self) -> Mapping[str, type[Resource]]:
        """The installed resource types, each loaded when it is used in a command, which uses few."""
        from orchestrator.plugins.registry import ResourceTypes

        return ResourceTypes.on_demand() if self._kind == EMBEDDED else ResourceTypes.load()

    @cached_property
    def clients(self) -> Clients:
        """The clients of other systems."""

        def cache_of(client: str) -> LookupCache | None:
            # The caches are made at the first use.
            return self.caches.of(client)

        def delegated(project: str, credential: str) -> tuple[str, Mapping[str, object]]:
            return self.store.credentials.options(credential, project=project)

        return Clients(self.settings, caches=cache_of, delegated=delegated)

    @cached_property
    def caches(self) -> "ProcessCaches":
        """The constraint caches of the clients."""
        from orchestrator.caches.process import ProcessCaches
        from orchestrator.plugins.constraint_caches import ConstraintCaches

        caches = ConstraintCaches(self.settings)
        return ProcessCaches(caches, self.store.cache_counters.add, self.store.cache_flushes.read)

    @cached_property
    def plugins(self) -> tuple[LifecyclePlugin, ...]:
        """The enabled lifecycle plugins, in the order of their calls."""
        return joined(lifecycle_plugins(self.settings), self._engine)

    @property
    def _engine(self) -> Engine:
        return engine_of(self.settings, store=lambda: self.store, types=lambda: self.types)

    @cached_property
    def sinks(self) -> tuple[EventSink, ...]:
        """The enabled event sinks of the settings."""
        return event_sinks(self.settings)

    def load_hooks(self) -> None:
        """Load lifecycle plugins and event sinks; called before anything is changed.

        Raises:
            HooksNotLoaded: some cannot be loaded; the faults of each are listed.
        """
        all_at_once(lambda: self.plugins, lambda: self.sinks)

    @cached_property
    def coordinator(self) -> Coordinator:
        """The coordinator, with the enabled lifecycle plugins."""
        return Coordinator(
            store=self.store,
            types=self.types,
            settings=self.settings,
            publisher=self.publisher,
            name=self.name,
            plugins=self.plugins,
            clients=self.clients,
            is_dead=is_dead_here,
            tracing=self.tracing,
            replacement=self._replacement,
        )

    @cached_property
    def tracing(self) -> Tracing:
        """The tracer of operations and their steps."""
        return tracing_of(self.settings, self.name)

    @cached_property
    def attendance(self) -> Registration:
        """The registration of this process, not begun yet."""
        here = identity_here(kind=self._kind, name=self.name)
        identity = replace(here, celery_name=self._celery_name, queues=self._queues)
        return Registration(self.store.processes, identity)

    @cached_property
    def node_watcher(self) -> "NodeWatcher":
        """The watcher of machines."""
        from orchestrator.nodes.rpc.client import NodeClient
        from orchestrator.nodes.watcher import NodeWatcher

        cache_settings = self.settings.node_state_cache
        return NodeWatcher(
            self.store,
            NodeClient.of(self.settings),
            self.coordinator.operate,
            self.node_tally,
            every_seconds=cache_settings.watch_seconds,
            refresh_after_seconds=cache_settings.refresh_after_seconds,
        )

    @cached_property
    def node_tally(self) -> "NodeStatistics":
        """The statistics of this process's machine-state cache."""
        from orchestrator.nodes.statistics import NodeStatistics

        return NodeStatistics.of(self.settings, self.store.node_counters)

    @property
    def _environment_sinks(self) -> "EnvironmentSinks | None":
        if not self.settings.environment_event_sinks:
            return None
        # Few installations let environments name sinks.
        from orchestrator.sinks.environments import EnvironmentSinks

        return EnvironmentSinks(self.settings)

    @cached_property
    def pump(self) -> Pumps:
        """The pumps of event sinks, not started yet."""
        return Pumps(
            self.store.sink_cursors,
            self.sinks,
            self._environment_sinks,
            owner=self.name,
            is_dead=is_dead_here,
            replacement=self._replacement,
        )

    @cached_property
    def checker(self) -> CheckCarrier:
        """The checker, loaded by its entry point: this package must not import the workers."""
        checker: CheckCarrier = load_named("isotherm.workers", "checker")(
            store=self.store,
            types=self.types,
            settings=self.settings,
            publisher=self.publisher,
            worker=self.name,
            coordinator=self.coordinator,
            clients=self.clients,
            tracing=self.tracing,
            replacement=self._replacement,
        )
        return checker

    def flush(self) -> None:
        """Deliver pending events, spans and counts, and end the registration; for a process that is not closed."""
        if "tracing" in self.__dict__:
            self.tracing.close()
        if "pump" in self.__dict__:
            self.pump.close(LAST_MOMENT_SECONDS)
        if "caches" in self.__dict__:
            self.caches.close()
        # A process without a client of machines has counted nothing.
        if "store" in self.__dict__ and "orchestrator.nodes.rpc.client" in sys.modules:
            self.node_tally.persist()
        if "attendance" in self.__dict__:
            self.attendance.end()

    def close(self) -> None:
        """Close what was opened."""
        if "pump" in self.__dict__:
            self.pump.close()
        if "checker" in self.__dict__:
            self.checker.close()
        if "clients" in self.__dict__:
            self.clients.close()
        self.flush()
        if "store" in self.__dict__:
            self.store.close()
