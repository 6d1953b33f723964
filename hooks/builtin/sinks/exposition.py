"""Totals in the format of Prometheus."""

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from hooks.builtin.sinks.totals import BUCKETS, Durations, Totals


class TotalsCollector(Collector):
    """A collector of the totals that it was given last."""

    def __init__(self) -> None:
        self.totals = Totals()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric, those without a count included."""
        totals = self.totals
        resources = CounterMetricFamily(
            "isotherm_resource_actions", "Events of resources.", labels=("action", "status", "type")
        )
        for labels, count in sorted(totals.resources.items()):
            resources.add_metric(labels, count)
        yield resources
        described = "Events of stacks themselves: operations that began and ended."
        stacks = CounterMetricFamily("isotherm_stack_operations", described, labels=("action", "status"))
        for operation, count in sorted(totals.stacks.items()):
            stacks.add_metric(operation, count)
        yield stacks
        durations = HistogramMetricFamily(
            "isotherm_stack_operation_duration_seconds",
            "How long operations of stacks took.",
            labels=("action", "status"),
        )
        for operation, taken in sorted(totals.durations.items()):
            durations.add_metric(operation, _buckets(taken), taken.seconds)
        yield durations
        described = "The id of the last event that was counted."
        yield GaugeMetricFamily("isotherm_events_last_id", described, value=totals.last_id)
        described = "When the last event that was counted happened."
        yield GaugeMetricFamily("isotherm_events_last_timestamp_seconds", described, value=totals.last_at)


def _buckets(taken: Durations) -> list[tuple[str, float]]:
    bounds = (*map(str, BUCKETS), "+Inf")
    return list(zip(bounds, accumulate(taken.counts), strict=True))
