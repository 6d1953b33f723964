"""What Prometheus is told in ``/metrics``, beside what Flower tells there.

Nothing is asked when Prometheus asks: it is told what was read in the background, and what has been counted of the
history as the hub read it. No label has a value of which there are as many as stacks or resources.
"""

from collections import Counter as Counted
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from prometheus_client import REGISTRY, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cache.counters import Counts
from orchestrator.dashboard.figures import Figures
from orchestrator.dashboard.hub import Hub
from orchestrator.node_tally import stats_of
from orchestrator.node_views import FAILING, UNREACHABLE, UP, NodeView
from orchestrator.observation.facts import LOST, RETRY
from orchestrator.observation.views import STORED
from orchestrator.service import Service
from orchestrator.store.census import Count
from orchestrator.store.node_counters import NodeTotals
from orchestrator.store.observing import ObservedEvent
from orchestrator.store.stopping import HOOK
from orchestrator.store.store import Store

#: How often it is read what there is, and how nodes are, in seconds.
COUNT_SECONDS: Final = 10.0
NODES_SECONDS: Final = 30.0
#: Of so many actions under way it is known when they began.
MOST_BEGUN: Final = 50_000
#: What events tell that is no action of a worker: what stands at a hook waits for people, and anybody may signal a
#: resource while something else is done with it.
ASIDE: Final = frozenset({HOOK, "SIGNAL"})
#: What events call the end of an action that came to nothing because another resource is to be made.
REPLACE: Final = "REPLACE"
#: Upper bounds of how long actions take, and of how late an event is read.
ACTION_BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0)
DELAY_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
#: How a traversal's nodes are, those of one operation counted with those of all others.
NODE_STATES: Final = tuple(dict.fromkeys(STORED.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was read of the store at one moment."""

    count: Count
    caches: Mapping[str, Counts] = field(default_factory=dict)
    nodes: NodeTotals = field(default_factory=NodeTotals)
    #: Processes of the engine by kind and state.
    processes: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Tally:
    """Counts what happens, from the events in their order."""

    def __init__(self) -> None:
        #: By traversal and resource: which action is under way, and since when.
        self._begun: OrderedDict[tuple[str, str | None], tuple[str, float]] = OrderedDict()
        self._actions = Histogram(
            "isotherm_action_seconds",
            "From when a worker began with a resource to when its action was over, by its outcome.",
            ("action", "outcome"),
            registry=None,
            buckets=ACTION_BUCKETS,
        )
        self._delay = Histogram(
            "isotherm_dashboard_event_delay_seconds",
            "From when an event was written to when the dashboard had read it.",
            registry=None,
            buckets=DELAY_BUCKETS,
        )
        self._retries = Counter(
            "isotherm_retries", "Attempts that went wrong and are made again.", ("action",), registry=None
        )
        self._losses = Counter(
            "isotherm_leases_lost", "Attempts whose worker was not heard of any more.", registry=None
        )

    def add(self, rows: Sequence[ObservedEvent]) -> None:
        """Count some events."""
        for row in rows:
            self._delay.observe(max(0.0, row.read_at - row.at))
            if row.cause == RETRY:
                self._retries.labels(row.action).inc()
            elif row.cause == LOST:
                self._losses.inc()
            elif row.resource:
                self._follow(row)

    def _follow(self, row: ObservedEvent) -> None:
        if row.action in ASIDE:
            return
        which = (row.traversal_id, row.resource_id)
        action, _ = self._begun.get(which, ("", 0.0))
        if row.action == REPLACE:
            # Nothing is done with it until it is deleted.
            self._begun.pop(which, None)
        elif row.status == "IN_PROGRESS" and row.action != action:
            self._begun[which] = (row.action, row.at)
            if len(self._begun) > MOST_BEGUN:
                self._begun.popitem(last=False)
        elif row.status != "IN_PROGRESS" and action:
            _, begun = self._begun.pop(which)
            self._actions.labels(row.action, row.status).observe(max(0.0, row.at - begun))

    def collect(self) -> Iterator[Metric]:
        """Yield what was counted."""
        for each in (self._actions, self._delay, self._retries, self._losses):
            yield from each.collect()


class Metrics(Collector):
    """All that the dashboard knows of an installation in numbers."""

    def __init__(self, hub: Hub, tally: Tally, store: Store, service: Service) -> None:
        self._hub = hub
        self._tally = tally
        self._known = Figures("figures", partial(known_of, store), every=COUNT_SECONDS)
        self._nodes = Figures("nodes", partial(self._ask_nodes, service), every=NODES_SECONDS)

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
            yield from _machines(nodes)

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

    def _ask_nodes(self, service: Service) -> Sequence[NodeView]:
        known = self._known.answer
        # Without a node nobody is asked, and no connection is made for it.
        return service.nodes.all() if known is not None and known.count.machines else ()


def known_of(store: Store) -> Known:
    """Read what there is.

    Raises:
        Unavailable: the database does not answer.
    """
    return Known(
        count=store.census.take(),
        caches={client: totals.counts for client, totals in store.cache_counters.read().items()},
        nodes=store.node_counters.read(),
        processes=Counted((each.kind, each.state) for each in store.processes.all(project="")),
    )


def _stacks(count: Count) -> Iterator[Metric]:
    stacks = GaugeMetricFamily(
        "isotherm_stacks",
        "Stacks that are not deleted, those in others among them.",
        labels=("action", "status"),
    )
    for labels, number in sorted(count.stacks.items()):
        stacks.add_metric(labels, number)
    yield stacks
    nodes = GaugeMetricFamily(
        "isotherm_operation_nodes",
        "Resources of the operations that are under way, by how far they are.",
        labels=("state",),
    )
    for state in NODE_STATES:
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
    for client, counts in sorted(caches.items()):
        lookups.add_metric((client, "hit"), counts.hits)
        lookups.add_metric((client, "miss"), counts.misses)
        answers.add_metric((client, "yes"), counts.generated)
        answers.add_metric((client, "no"), counts.refused)
        faults.add_metric((client, "error"), counts.errors)
        faults.add_metric((client, "garbage"), counts.garbage)
    yield from (lookups, answers, faults)


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
    for labels, number in sorted(processes.items()):
        told.add_metric(labels, number)
    return told


def _machines(nodes: Sequence[NodeView]) -> Iterator[Metric]:
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
            oldest.add_metric((which,), choose(ages))
    yield oldest
