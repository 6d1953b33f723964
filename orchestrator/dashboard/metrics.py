"""Prometheus metrics of an installation in ``/metrics``, beside Flower's.

A scrape queries nothing: figures are refreshed in the background, and events are counted as the hub reads them. No
label grows with the number of stacks or resources.
"""

from collections import Counter as Counted
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeVar

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cache.constraints.counters import Counts
from hooks.values.states import ACTIONS, ASIDE, OF_ACTIONS
from orchestrator.dashboard.figures import Figures
from orchestrator.dashboard.hub import Hub
from orchestrator.dashboard.tally import REPLACE, Tally
from orchestrator.errors import IsothermError
from orchestrator.keys.envelope import REASONS
from orchestrator.model.drift import Standing
from orchestrator.nodes.statistics import stats_of
from orchestrator.service import Service
from orchestrator.store.history.census import Count
from orchestrator.store.installation.cache_counters import NodeTotals
from orchestrator.store.installation.processes import PRESENT, SILENT, STOPPED
from orchestrator.store.store import Store
from orchestrator.views.nodes import FAILING, UNREACHABLE, UP, NodeView
from orchestrator.views.operations import ProcessView
from orchestrator.views.vertex_states import STATES

Family = TypeVar("Family", GaugeMetricFamily, CounterMetricFamily)

#: How often stacks and processes are counted, and nodes are queried, in seconds.
COUNT_SECONDS: Final = 10.0
NODES_SECONDS: Final = 30.0
#: For how long a process that fell silent counts as missing.
MISSING_SECONDS: Final = 3600.0
#: Actions on stacks.
STACK_ACTIONS: Final = tuple(action for action in ACTIONS if action not in {*ASIDE, REPLACE})
#: Kinds of processes that every installation needs: their counts are reported even if 0.
KINDS: Final = ("coordinator", "worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Figures read from the store at one moment."""

    count: Count
    caches: Mapping[str, Counts] = field(default_factory=dict)
    nodes: NodeTotals = field(default_factory=NodeTotals)
    #: Numbers of processes by kind and state, and of those of a kind that are missing.
    processes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    #: Seconds for which events have waited for sinks, by what names a sink, and its name or type.
    sinks: Mapping[tuple[str, str], float] = field(default_factory=dict)
    #: Numbers of refused messages by reason.
    refused: Mapping[str, int] = field(default_factory=dict)


class Metrics(Collector):
    """Collector of all metrics of the dashboard."""

    def __init__(self, hub: Hub, tally: Tally, store: Store, service: Service) -> None:
        self._hub = hub
        self._tally = tally
        self._store = store
        self._service = service
        self._known = Figures("figures", self._ask_store, every=COUNT_SECONDS)
        self._nodes = Figures("nodes", self._ask_nodes, every=NODES_SECONDS)

    def start(self) -> None:
        """Start refreshing, and register with ``/metrics``; in a running loop."""
        self._known.start()
        self._nodes.start()
        REGISTRY.register(self)

    def stop(self) -> None:
        """Unregister, and stop refreshing."""
        if self in REGISTRY._collector_to_names:  # noqa: SLF001  # it raises if it was never started
            REGISTRY.unregister(self)
        self._known.stop()
        self._nodes.stop()

    def describe(self) -> Iterable[Metric]:
        """Return nothing: otherwise the registry would collect everything to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the present metrics; figures that are too old are left out."""
        yield from self._tally.collect()
        yield from self._own()
        known = self._known.answer
        if known is not None:
            yield from _stacks(known.count)
            yield from _caches(known.caches)
            yield _node_states(known.nodes)
            yield _processes(known.processes)
            yield _missing(known)
            yield _sinks(known.sinks)
            yield _refused(known.refused)
        nodes = self._nodes.answer
        if nodes:
            yield from _machines(nodes, self._nodes.age_seconds)

    def _own(self) -> Iterator[Metric]:
        answers = not self._hub.trouble and not self._known.trouble and self._known.answer is not None
        described = "Whether the database answers the dashboard."
        yield GaugeMetricFamily("isotherm_store_up", described, value=float(answers))
        described = "Number of pages that listen to events."
        yield GaugeMetricFamily("isotherm_dashboard_streams", described, value=self._hub.listeners)
        described = "Number of times that a page had to reload."
        yield CounterMetricFamily("isotherm_dashboard_resyncs", described, value=self._hub.resyncs)

    def _ask_store(self) -> Known:
        try:
            clients = self._service.cache_clients()
        except IsothermError:
            # A plugin is broken, which is reported elsewhere; clients with counters are included all the same.
            clients = ()
        return known_of(self._store, clients)

    def _ask_nodes(self) -> Sequence[NodeView]:
        known = self._known.answer
        count = known.count if known is not None else self._store.census.take()
        # Without machines no connection to the broker is made.
        return self._service.nodes.all() if count.machines else ()


def known_of(store: Store, clients: Collection[str] = ()) -> Known:
    """Return the figures of the store; ``clients`` are included even if their caches have no counters.

    Raises:
        Unavailable: the database does not answer.
    """
    counted = {client: totals.counts for client, totals in store.cache_counters.read().items()}
    processes = store.processes.all(project="")
    refused = Counted[str]()
    for each in store.refused_messages.counts():
        refused[each.reason] += each.amount
    return Known(
        count=store.census.take(),
        caches={**dict.fromkeys(clients, Counts()), **counted},
        nodes=store.node_counters.read(),
        processes=Counted((each.kind, each.state) for each in processes),
        missing=missing_of(processes),
        sinks=store.sink_cursors.delays(),
        refused=refused,
    )


def missing_of(processes: Iterable[ProcessView]) -> dict[str, int]:
    """Return by kind how many processes fell silent within ``MISSING_SECONDS`` and were not replaced.

    One is replaced by a present process of its kind, on any host, that started after it was seen for the last time.
    Each replaces one.
    """
    started: dict[str, list[float]] = {}
    silent: dict[str, list[float]] = {}
    for each in processes:
        if each.state == PRESENT:
            started.setdefault(each.kind, []).append(each.started_at)
        elif each.state == SILENT and each.seen_seconds <= MISSING_SECONDS:
            silent.setdefault(each.kind, []).append(each.seen_at)
    missing: dict[str, int] = {}
    for kind, seen in silent.items():
        later = sorted(started.get(kind, ()), reverse=True)
        # The last seen has the fewest that could replace it, and takes the latest of them.
        for seen_at in sorted(seen, reverse=True):
            if later and later[0] > seen_at:
                later.pop(0)
            else:
                missing[kind] = missing.get(kind, 0) + 1
    return missing


def _filled(family: Family, values: Mapping[tuple[str, ...], float]) -> Family:
    """Return a family with a value for each combination of its labels."""
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family


def _stacks(count: Count) -> Iterator[Metric]:
    described = "Stacks that are not deleted, nested ones included."
    yield _filled(
        GaugeMetricFamily("isotherm_stacks", described, labels=("action", "status")),
        {
            labels: count.stacks.get(labels, 0)
            for labels in sorted({*product(STACK_ACTIONS, OF_ACTIONS), *count.stacks})
        },
    )
    described = "Resources of operations in progress, by state."
    yield _filled(
        GaugeMetricFamily("isotherm_operation_nodes", described, labels=("state",)),
        {(state,): count.nodes.get(state, 0) for state in STATES},
    )
    described = "Longest time that a resource has waited for a worker."
    yield GaugeMetricFamily("isotherm_queue_age_seconds", described, value=count.queue_age_seconds)
    described = "Resources in progress whose worker's lease has expired."
    yield GaugeMetricFamily("isotherm_overdue_checks", described, value=count.overdue)
    described = "Resources that differ from what is recorded, by what is done about it."
    yield _filled(
        GaugeMetricFamily("isotherm_drifted_resources", described, labels=("standing",)),
        {(standing.value,): count.drifted.get(standing.value, 0) for standing in Standing},
    )
    described = "Longest time that a due observation of a stack has waited to be begun."
    yield GaugeMetricFamily(
        "isotherm_observation_delay_seconds", described, value=count.observation_delay_seconds
    )


def _caches(caches: Mapping[str, Counts]) -> Iterator[Metric]:
    described = (
        "Look-ups in the constraint caches: a hit was answered from the cache, a miss queried the system."
    )
    lookups = CounterMetricFamily("isotherm_cache_lookups", described, labels=("client", "result"))
    described = "Answers of other systems: yes is cached, no is not."
    answers = CounterMetricFamily("isotherm_cache_answers", described, labels=("client", "answer"))
    described = "Failed calls of a cache server, and entries that Isotherm did not write."
    faults = CounterMetricFamily("isotherm_cache_faults", described, labels=("client", "kind"))
    described = "Answers removed from full constraint caches."
    evictions = CounterMetricFamily("isotherm_cache_evictions", described, labels=("client",))
    for client, counts in sorted(caches.items()):
        lookups.add_metric((client, "hit"), counts.hits)
        lookups.add_metric((client, "miss"), counts.misses)
        answers.add_metric((client, "yes"), counts.generated)
        answers.add_metric((client, "no"), counts.refused)
        faults.add_metric((client, "error"), counts.errors)
        faults.add_metric((client, "garbage"), counts.garbage)
        evictions.add_metric((client,), counts.evicted)
    yield from (lookups, answers, faults, evictions)


def _node_states(totals: NodeTotals) -> Metric:
    described = "Look-ups of node states: a hit was answered from the cache, a miss queried the node."
    stats = stats_of(totals)
    return _filled(
        CounterMetricFamily("isotherm_node_state_lookups", described, labels=("result",)),
        {("hit",): stats.hits, ("miss",): sum(stats.misses.values())},
    )


def _processes(processes: Mapping[tuple[str, str], int]) -> Metric:
    described = (
        "Processes of the engine: present, silent (the lease has expired), or stopped (ended regularly)."
    )
    kinds = {*KINDS, *(kind for kind, _ in processes)}
    return _filled(
        GaugeMetricFamily("isotherm_processes", described, labels=("kind", "state")),
        {labels: processes.get(labels, 0) for labels in product(sorted(kinds), (PRESENT, SILENT, STOPPED))},
    )


def _missing(known: Known) -> Metric:
    described = "Processes of the engine that fell silent within an hour, and were not replaced."
    kinds = {*KINDS, *(kind for kind, _ in known.processes)}
    return _filled(
        GaugeMetricFamily("isotherm_missing_processes", described, labels=("kind",)),
        {(kind,): known.missing.get(kind, 0) for kind in sorted(kinds)},
    )


def _sinks(sinks: Mapping[tuple[str, str], float]) -> Metric:
    described = "How long the oldest event that a sink has not received has waited for it."
    return _filled(
        GaugeMetricFamily("isotherm_event_sink_delay_seconds", described, labels=("named_by", "sink")),
        {(named_by, sink): seconds for (named_by, sink), seconds in sinks.items()},
    )


def _refused(refused: Mapping[str, int]) -> Metric:
    described = "Messages that processes have refused, by reason."
    return _filled(
        CounterMetricFamily("isotherm_refused_messages", described, labels=("reason",)),
        {(reason,): refused.get(reason, 0) for reason in sorted({*REASONS, *refused})},
    )


def _machines(nodes: Sequence[NodeView], asked_seconds: float) -> Iterator[Metric]:
    yield _filled(
        GaugeMetricFamily("isotherm_machines", "Nodes, by state.", labels=("state",)),
        {(state,): sum(node.state == state for node in nodes) for state in (UP, UNREACHABLE, FAILING)},
    )
    ages = [node.age_seconds + asked_seconds for node in nodes if node.age_seconds is not None]
    described = "Age of the oldest and of the newest node state."
    yield _filled(
        GaugeMetricFamily("isotherm_node_state_age_seconds", described, labels=("which",)),
        {("oldest",): max(ages), ("newest",): min(ages)} if ages else {},
    )
