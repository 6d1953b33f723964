"""Prometheus counters of actions, retries and lost leases, counted from the events that the hub reads."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client import Counter, Histogram
from prometheus_client.core import Metric

from hooks.values.states import ACTIONS, ASIDE
from orchestrator.store.history.observing import ObservedEvent
from orchestrator.views.facts import LOST, RETRY

#: The greatest number of actions in progress whose beginning is kept.
MOST_BEGUN: Final = 50_000
#: The action in the event of an update that ends because the resource has to be replaced.
REPLACE: Final = "REPLACE"
#: Actions on resources.
RESOURCE_ACTIONS: Final = tuple(action for action in ACTIONS if action not in {*ASIDE, REPLACE, "ROLLBACK"})
#: The results of a worker's action.
OUTCOMES: Final = ("COMPLETE", "FAILED")
#: Histogram buckets of the duration of actions, and of the delay until an event is read, in seconds.
ACTION_BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0)
DELAY_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class Tally:
    """Counters and histograms of events, which have to be added in their order."""

    def __init__(self) -> None:
        #: By traversal and resource: the action in progress, and its beginning.
        self._begun: OrderedDict[tuple[str, str | None], tuple[str, float]] = OrderedDict()
        self._actions = Histogram(
            "isotherm_action_seconds",
            "Duration of a worker's action on a resource, by its outcome.",
            ("action", "outcome"),
            registry=None,
            buckets=ACTION_BUCKETS,
        )
        self._delay = Histogram(
            "isotherm_dashboard_event_delay_seconds",
            "Time from the writing of an event until the dashboard has read it.",
            registry=None,
            buckets=DELAY_BUCKETS,
        )
        self._retries = Counter(
            "isotherm_retries", "Attempts that failed and are retried.", ("action",), registry=None
        )
        self._losses = Counter(
            "isotherm_leases_lost", "Attempts whose worker's lease has expired.", registry=None
        )
        # A counter that appears with the value 1 has no increase for ``rate()``: all begin with 0.
        for action in RESOURCE_ACTIONS:
            self._retries.labels(action)
            for outcome in OUTCOMES:
                self._actions.labels(action, outcome)

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
            # The next action on it is its deletion.
            self._begun.pop(which, None)
        elif row.status == "IN_PROGRESS" and row.action != action:
            self._begun[which] = (row.action, row.at)
            if len(self._begun) > MOST_BEGUN:
                self._begun.popitem(last=False)
        elif row.status != "IN_PROGRESS" and action:
            _, begun = self._begun.pop(which)
            self._actions.labels(row.action, row.status).observe(max(0.0, row.at - begun))

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        for each in (self._actions, self._delay, self._retries, self._losses):
            yield from each.collect()
