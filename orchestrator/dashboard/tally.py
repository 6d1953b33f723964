"""What is counted of the history for Prometheus, as the hub reads it."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client import Counter, Histogram
from prometheus_client.core import Metric

from hooks.values.states import ACTIONS
from orchestrator.model.breakpoints import HOOK
from orchestrator.store.history.observing import ObservedEvent
from orchestrator.views.facts import LOST, RETRY

#: Of so many actions under way it is known when they began.
MOST_BEGUN: Final = 50_000
#: What events tell that is no action of a worker: what stands at a hook waits for people, and anybody may signal a
#: resource while something else is done with it.
ASIDE: Final = frozenset({HOOK, "SIGNAL"})
#: What events call the end of an action that came to nothing because another resource is to be made.
REPLACE: Final = "REPLACE"
#: What is done with resources.
RESOURCE_ACTIONS: Final = tuple(action for action in ACTIONS if action not in {*ASIDE, REPLACE, "ROLLBACK"})
#: How an action of a worker ends.
OUTCOMES: Final = ("COMPLETE", "FAILED")
#: Upper bounds of how long actions take, and of how late an event is read.
ACTION_BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0)
DELAY_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


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
        # A counter that first appears with the first that it counts has not risen, for whoever asks for its rate.
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
