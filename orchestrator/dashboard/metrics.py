"""What Prometheus is told in ``/metrics``, beside what Flower tells there.

Nothing is asked when Prometheus asks: it is told what was read in the background, and what has been counted of the
history as the hub read it. No label has a value of which there are as many as stacks or resources.
"""

from collections import Counter as Counted
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cache.constraints.counters import Counts
from hooks.values.states import ACTIONS, STATUSES
from orchestrator.dashboard.figures import Figures
from orchestrator.dashboard.hub import Hub
from orchestrator.dashboard.tally import ASIDE, REPLACE, Tally
from orchestrator.errors import IsothermError
from orchestrator.nodes.statistics import stats_of
from orchestrator.service import Service
from orchestrator.store.history.census import Count
from orchestrator.store.installation.machine_cache_counters import NodeTotals
from orchestrator.store.installation.processes import PRESENT, SILENT, STOPPED
from orchestrator.store.store import Store
from orchestrator.views.nodes import FAILING, UNREACHABLE, UP, NodeView
from orchestrator.views.operations import STATES

#: How often it is read what there is, and how nodes are, in seconds.
COUNT_SECONDS: Final = 10.0
NODES_SECONDS: Final = 30.0
#: What is done with stacks.
STACK_ACTIONS: Final = tuple(action for action in ACTIONS if action not in {*ASIDE, REPLACE})
#: Processes of which an installation lacks something if there are none.
KINDS: Final = ("coordinator", "worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was read of the store at one moment."""

    count: Count
    caches: Mapping[str, Counts] = field(default_factory=dict)
    nodes: NodeTotals = field(default_factory=NodeTotals)
    #: Processes of the engine by kind and state.
    processes: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Metrics(Collector):
    """All that the dashboard knows of an installation in numbers."""

    def __init__(self, hub: Hub, tally: Tally, store: Store, service: Service) -> None:
        self._hub = hub
        self._tally = tally
        self._store = store
        self._service = service
        self._known = Figures("figures", self._ask_store, every=COUNT_SECONDS)
        self._nodes = Figures("nodes", self._ask_nodes, every=NODES_SECONDS)

    def start(self) -> None:
        """Begin to read, and to be told of in ``/metrics``; in a running loop."""
        self._known.start()
        self._nodes.start()
        REGISTRY.register(self)

    def stop(self) -> None:
        """Read no more."""
        if self in REGISTRY._collector_to_names:  # noqa: SLF001  # it raises if it was never started
            REGISTRY.unregister(self)
        self._known.stop()
        self._nodes.stop()

    def describe(self) -> Iterable[Metric]:
        """Name nothing: the registry would collect everything to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield what is known now; what was not read for long is left out."""
        yield from self._tally.collect()
        yield from self._own()
        known = self._known.answer
        if known is not None:
            yield from _stacks(known.count)
            yield from _caches(known.caches)
            yield from _node_states(known.nodes)
            yield _processes(known.processes)
        nodes = self._nodes.answer
        if nodes:
            yield from _machines(nodes, self._nodes.age_seconds)

    def _own(self) -> Iterator[Metric]:
        answers = not self._hub.trouble and not self._known.trouble and self._known.answer is not None
        yield GaugeMetricFamily(
            "isotherm_store_up", "Whether the database answers the dashboard.", value=float(answers)
        )
        yield GaugeMetricFamily(
            "isotherm_dashboard_streams", "How many pages listen to what happens.", value=self._hub.listeners
        )
        resyncs = CounterMetricFamily("isotherm_dashboard_resyncs", "How often a page was told to load anew.")
        resyncs.add_metric((), self._hub.resyncs)
        yield resyncs

    def _ask_store(self) -> Known:
        try:
            clients = self._service.cache_clients()
        except IsothermError:
            # A plugin is broken, which others say; those that anything was counted of are told all the same.
            clients = ()
        return known_of(self._store, clients)

    def _ask_nodes(self) -> Sequence[NodeView]:
        known = self._known.answer
        count = known.count if known is not None else self._store.census.take()
        # Without a node nobody is asked, and no connection is made for it.
        return self._service.nodes.all() if count.machines else ()


def known_of(store: Store, clients: Collection[str] = ()) -> Known:
    """Read what there is; of ``clients`` also where nothing was counted of their caches.

    Raises:
        Unavailable: the database does not answer.
    """
    counted = {client: totals.counts for client, totals in store.cache_counters.read().items()}
    return Known(
        count=store.census.take(),
        caches={**dict.fromkeys(clients, Counts()), **counted},
        nodes=store.node_counters.read(),
        processes=Counted((each.kind, each.state) for each in store.processes.all(project="")),
    )


def _stacks(count: Count) -> Iterator[Metric]:
    stacks = GaugeMetricFamily(
        "isotherm_stacks",
        "Stacks that are not deleted, those in others among them.",
        labels=("action", "status"),
    )
    for labels in sorted({*product(STACK_ACTIONS, STATUSES), *count.stacks}):
        stacks.add_metric(labels, count.stacks.get(labels, 0))
    yield stacks
    nodes = GaugeMetricFamily(
        "isotherm_operation_nodes",
        "Resources of the operations that are under way, by how far they are.",
        labels=("state",),
    )
    for state in STATES:
        nodes.add_metric((state,), count.nodes.get(state, 0))
    yield nodes
    yield GaugeMetricFamily(
        "isotherm_queue_age_seconds",
        "How long the resource has waited for a worker that waits longest.",
        value=count.queue_age_seconds,
    )
    yield GaugeMetricFamily(
        "isotherm_overdue_checks",
        "Resources at work whose worker has not been heard of for a lease.",
        value=count.overdue,
    )


def _caches(caches: Mapping[str, Counts]) -> Iterator[Metric]:
    lookups = CounterMetricFamily(
        "isotherm_cache_lookups",
        "Look-ups in the constraint caches: hit needed no question, miss did.",
        labels=("client", "result"),
    )
    answers = CounterMetricFamily(
        "isotherm_cache_answers",
        "What other systems answered: yes is kept, no is not.",
        labels=("client", "answer"),
    )
    faults = CounterMetricFamily(
        "isotherm_cache_faults",
        "Calls of a cache's store that failed, and values in it that nobody here wrote.",
        labels=("client", "kind"),
    )
    evictions = CounterMetricFamily(
        "isotherm_cache_evictions",
        "Answers that went from the constraint caches for want of room.",
        labels=("client",),
    )
    for client, counts in sorted(caches.items()):
        lookups.add_metric((client, "hit"), counts.hits)
        lookups.add_metric((client, "miss"), counts.misses)
        answers.add_metric((client, "yes"), counts.generated)
        answers.add_metric((client, "no"), counts.refused)
        faults.add_metric((client, "error"), counts.errors)
        faults.add_metric((client, "garbage"), counts.garbage)
        evictions.add_metric((client,), counts.evicted)
    yield from (lookups, answers, faults, evictions)


def _node_states(totals: NodeTotals) -> Iterator[Metric]:
    lookups = CounterMetricFamily(
        "isotherm_node_state_lookups",
        "Questions for the state of a node: hit was remembered, miss was asked of the node.",
        labels=("result",),
    )
    stats = stats_of(totals)
    lookups.add_metric(("hit",), stats.hits)
    lookups.add_metric(("miss",), sum(stats.misses.values()))
    yield lookups


def _processes(processes: Mapping[tuple[str, str], int]) -> Metric:
    told = GaugeMetricFamily(
        "isotherm_processes",
        "Processes of the engine: present, silent (not heard of for a lease), or stopped (they said so).",
        labels=("kind", "state"),
    )
    kinds = {*KINDS, *(kind for kind, _ in processes)}
    for labels in product(sorted(kinds), (PRESENT, SILENT, STOPPED)):
        told.add_metric(labels, processes.get(labels, 0))
    return told


def _machines(nodes: Sequence[NodeView], asked_seconds: float) -> Iterator[Metric]:
    """Yield what is told of nodes that were looked at so long ago."""
    states = GaugeMetricFamily("isotherm_machines", "Nodes, by whether they can be asked.", labels=("state",))
    for state in (UP, UNREACHABLE, FAILING):
        states.add_metric((state,), sum(node.state == state for node in nodes))
    yield states
    ages = [node.age_seconds for node in nodes if node.age_seconds is not None]
    oldest = GaugeMetricFamily(
        "isotherm_node_state_age_seconds", "How old what is known of nodes is.", labels=("which",)
    )
    for which, choose in (("oldest", max), ("newest", min)):
        if ages:
            oldest.add_metric((which,), choose(ages) + asked_seconds)
    yield oldest
