"""Observation of requests: what each came to, for the metrics, the tracer and the last errors."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import falcon

from orchestrator.api.recent_errors import RecentErrors
from orchestrator.tracing.tracer import OFF, Tracing

# Of what is only used where it is switched on.
if TYPE_CHECKING:
    from orchestrator.api.metrics import RequestMetrics

#: The route of an address that there is not.
UNKNOWN_ROUTE: Final = "unknown"
_TRACE_HEADERS: Final = ("traceparent", "tracestate")


class Observation:
    """Watches each request from its arrival until its answer is made."""

    def __init__(
        self,
        *,
        metrics: "RequestMetrics | None" = None,
        tracing: Tracing = OFF,
        errors: RecentErrors,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._metrics, self._tracing, self._clock = metrics, tracing, clock
        self._errors = errors

    def process_request(self, request: falcon.Request, response: falcon.Response) -> None:  # noqa: ARG002  # as of all
        """Begin the span of a request, in the trace of its client if that has one."""
        request.context.begun = self._clock()
        given = {name: request.get_header(name) or "" for name in _TRACE_HEADERS}
        request.context.block = self._tracing.request(request.method, given)
        request.context.span = request.context.block.__enter__()

    def process_response(
        self,
        request: falcon.Request,
        response: falcon.Response,
        resource: object,  # noqa: ARG002  # as falcon calls it
        succeeded: bool,  # noqa: ARG002
    ) -> None:
        """Record what came of it."""
        route, status = request.uri_template or UNKNOWN_ROUTE, response.status_code
        request.context.span.answered(route, status, request_id=request.context.id)
        request.context.block.__exit__(None, None, None)
        fault = getattr(response.context, "fault", "")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._errors.add(
                status=status,
                method=request.method,
                route=route,
                request_id=request.context.id,
                fault=fault,
            )
        if self._metrics is not None:
            self._metrics.count(
                method=request.method,
                route=route,
                status=status,
                seconds=self._clock() - request.context.begun,
                fault=fault,
            )
