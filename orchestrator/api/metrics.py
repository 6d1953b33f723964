"""Prometheus metrics of the API, with ``--metrics``: requests by route, and faults, of all its processes together.

A label is a route and never an address: none grows with the number of projects or stacks.
"""

import ipaddress
import os
from collections.abc import Callable
from typing import Final

import falcon
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from orchestrator.errors import NotAllowed

#: Where this is set before its import, prometheus-client keeps values in that directory, in a file for each process.
DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
#: A method that no route has, and may be any word.
_OTHER: Final = "OTHER"
_FORWARDED: Final = ("Forwarded", "X-Forwarded-For")
#: A create waits until a coordinator has begun it.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)


class RequestMetrics:
    """The metrics of a process, made in it: not before a fork."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        described = "Requests, by the template of their address, and the status of the answer."
        self._requests = Counter("isotherm_api_requests", described, labels, registry=self._registry)
        described = "How long answers took to make."
        self._seconds = Histogram(
            "isotherm_api_request_seconds", described, labels[:2], buckets=_BUCKETS, registry=self._registry
        )
        described = "Answers that were errors, by their type as clients see it."
        self._faults = Counter("isotherm_api_faults", described, ("type",), registry=self._registry)

    def count(self, *, method: str, route: str, status: int, seconds: float, fault: str) -> None:
        """Count a request; ``fault`` is the type of the error that was answered, empty for none."""
        method = method if method in falcon.HTTP_METHODS else _OTHER
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
        if fault:
            self._faults.labels(fault).inc()

    def exposition(self) -> bytes:
        """Return the metrics of all processes as text."""
        registry = self._registry
        if DIRECTORY in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # its own
        return generate_latest(registry)


class MetricsPage:
    """``/metrics``: for this machine, and for those who may see the dashboard's."""

    #: Callers are asked for here, as there is no project in the address.
    is_open = True

    def __init__(
        self, metrics: RequestMetrics, may_see: Callable[[falcon.Request], bool], *, behind_proxy: bool
    ) -> None:
        self._metrics, self._may_see, self._behind_proxy = metrics, may_see, behind_proxy

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """Show them.

        Raises:
            NotAllowed: the caller is on another machine, or behind a proxy, and has not the role.
        """
        if not self._is_local(request) and not self._may_see(request):
            raise NotAllowed("metrics are for this machine, and for those who may see the dashboard's")
        response.data, response.content_type = self._metrics.exposition(), CONTENT_TYPE_LATEST

    def _is_local(self, request: falcon.Request) -> bool:
        # What a proxy on this machine passes on is from anywhere.
        if self._behind_proxy or any(request.get_header(name) for name in _FORWARDED):
            return False
        try:
            return ipaddress.ip_address(request.remote_addr).is_loopback
        except ValueError:
            return False
