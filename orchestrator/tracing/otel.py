"""OpenTelemetry implementation of tracing; imported only if tracing is on. The extra ``otel`` installs its packages."""

import hashlib
import os
import threading
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from importlib.metadata import entry_points, version
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Sampler, SamplingResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.store.traversals.traversals import ClaimedEnd
from orchestrator.tracing.tracer import CLOSING_SECONDS, RequestSpan, StepSpan, Tracing, attributes_of

SERVICE: Final = "isotherm"
#: The standard variables of exporters and protocols; exporters read their own ones.
_EXPORTER, _PROTOCOL = "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"
_TRACES_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
_INSTALLED: Final = "opentelemetry_traces_exporter"
#: The entry point of the exporter of each OTLP protocol.
_PROTOCOLS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
#: Numeric variables of batches, validated here because the SDK would only log a traceback.
_NUMBERS: Final = (
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BSP_EXPORT_TIMEOUT",
)
#: The endings of steps with an error.
_WRONG: Final = frozenset({Ending.FAILED, Ending.FAULT, Ending.RETRY})
_NANOSECONDS: Final = 1_000_000_000


def root_of(traversal_id: str) -> SpanContext:
    """Return the context of an operation's root span, which every process can compute before the span exists.

    The trace id is the 128 bits of the traversal's UUID.
    """
    digest = hashlib.sha256(b"root of " + traversal_id.encode()).digest()
    # No span has the number 0.
    number = int.from_bytes(digest[:8], "big") or 1
    return SpanContext(uuid.UUID(traversal_id).int, number, is_remote=True, trace_flags=TraceFlags(1))


class OperationSampler(Sampler):
    """Samples whole operations, with the same decision in every process.

    Trace ids are UUIDs, of which some bits are constant; samplers use the upper ones of the lower half as random, and
    would sample none or all. So the wrapped sampler gets a hash of the id.
    """

    def __init__(self, chosen: Sampler) -> None:
        self._chosen = chosen

    def should_sample(  # noqa: PLR0917  # as in OpenTelemetry
        self,
        parent_context: Context | None,  # noqa: ARG002  # as above
        trace_id: int,
        name: str,
        kind: Any = None,
        attributes: Any = None,
        links: Sequence[Link] | None = None,
        trace_state: Any = None,
    ) -> SamplingResult:
        """Return the decision about the trace's operation."""
        digest = hashlib.sha256(trace_id.to_bytes(16, "big")).digest()
        mixed = int.from_bytes(digest[:16], "big")
        return self._chosen.should_sample(None, mixed, name, kind, attributes, links, trace_state)

    def get_description(self) -> str:
        """Return the name of the sampler."""
        return f"OperationSampler{{{self._chosen.get_description()}}}"


class _Ids(IdGenerator):
    """Generates random ids, except for a root span inside :meth:`root`."""

    def __init__(self) -> None:
        self._chance = RandomIdGenerator()
        self._next = threading.local()

    @contextmanager
    def root(self, root: SpanContext) -> Iterator[None]:
        self._next.root = root
        try:
            yield
        finally:
            self._next.root = None

    def generate_span_id(self) -> int:
        root: SpanContext | None = getattr(self._next, "root", None)
        return root.span_id if root else self._chance.generate_span_id()

    def generate_trace_id(self) -> int:
        root: SpanContext | None = getattr(self._next, "root", None)
        return root.trace_id if root else self._chance.generate_trace_id()


class Spans(Tracing):
    """Exports operations: a span for each, and under it one for each step of a check.

    The exporters get batches on threads of their own, so that no step waits. Without a ``sampler``, it is that of the
    ``OTEL_`` variables.
    """

    def __init__(
        self, exporters: Sequence[SpanExporter], *, process: str, sampler: Sampler | None = None
    ) -> None:
        self._ids = _Ids()
        # A provider without arguments has the sampler of the environment.
        chosen = sampler or TracerProvider(shutdown_on_exit=False).sampler
        self._provider = TracerProvider(
            sampler=OperationSampler(chosen),
            resource=_resource(process),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        for exporter in exporters:
            self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("isotherm", version("isotherm"))
        self._closed = False

    @classmethod
    def of_environment(cls, process: str) -> "Spans":
        """Return a tracer with the exporters of the ``OTEL_`` variables.

        Raises:
            InvalidInput: as for :func:`exporters_of_environment`.
        """
        return cls([maker() for maker in exporters_of_environment()], process=process)

    @contextmanager
    def check(self, claim: Claim, worker: str) -> Iterator["_Step"]:
        """Record a span of the step inside the block."""
        parent = set_span_in_context(NonRecordingSpan(root_of(claim.order.traversal_id)), Context())
        span = self._tracer.start_span(
            f"{claim.action} {claim.type}", parent, attributes=attributes_of(claim, worker)
        )
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield _Step(span)
            except Exception as error:
                # Without the message, which may hold a secret.
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                span.set_attribute("error.type", type(error).__qualname__)
                raise

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
        """Record a span of an HTTP request inside the block, unless its client says that the trace is not sampled."""
        parent = TraceContextTextMapPropagator().extract(headers, Context())
        of_client = trace.get_current_span(parent).get_span_context()
        if of_client.is_valid and not of_client.trace_flags.sampled:
            yield RequestSpan()
            return
        span = self._tracer.start_span(method, parent, kind=SpanKind.SERVER)
        with trace.use_span(span, end_on_exit=True):
            yield _Request(span, method)

    def began(self, traversal_id: str) -> None:
        """Link the span of the running step or request to the trace of the operation that it has begun."""
        span = trace.get_current_span()
        if span.is_recording():
            span.add_link(root_of(traversal_id))

    def ended(self, ending: ClaimedEnd) -> None:
        """Record an operation's root span."""
        root = root_of(ending.traversal_id)
        with self._ids.root(root):
            span = self._tracer.start_span(
                f"stack {ending.action}",
                Context(),
                start_time=int(ending.begun_at * _NANOSECONDS),
                attributes=_attributes_of_operation(ending),
            )
        if ending.status == "FAILED":
            span.set_status(Status(StatusCode.ERROR, ending.reason))
        span.end(int(ending.ended_at * _NANOSECONDS))

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """Export remaining spans, for so long at most."""
        if self._closed:
            return
        self._closed = True
        # An exporter whose collector is away retries for longer than an ending process can wait.
        closing = threading.Thread(target=self._provider.shutdown, name="last spans", daemon=True)
        closing.start()
        closing.join(seconds)


class _Request(RequestSpan):
    def __init__(self, span: Span, method: str) -> None:
        self._span, self._method = span, method

    def answered(self, route: str, status: int, *, request_id: str) -> None:
        """Record the names of the semantic conventions."""
        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes(
            {
                "http.request.method": self._method,
                "http.route": route,
                "http.response.status_code": status,
                "isotherm.request.id": request_id,
            }
        )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._span.set_status(Status(StatusCode.ERROR))


class _Step(StepSpan):
    def __init__(self, span: Span) -> None:
        self._span = span

    def came_to(self, outcome: Outcome) -> None:
        """Record the outcome of the step."""
        self._span.set_attribute("isotherm.outcome", outcome.ending.value)
        if outcome.hook:
            self._span.set_attribute("isotherm.hook", outcome.hook)
        if outcome.physical_id:
            self._span.set_attribute("isotherm.physical_id", outcome.physical_id)
        if outcome.ending in _WRONG:
            self._span.set_status(Status(StatusCode.ERROR, outcome.reason))


def exporters_of_environment(environment: Mapping[str, str] = os.environ) -> list[Any]:
    """Return the factories of the exporters that the standard variables name; none are called yet.

    Raises:
        InvalidInput: there is no such exporter or protocol, or a variable of batches is no number.
    """
    for name in _NUMBERS:
        value = environment.get(name, "").strip()
        if value and not (value.isdecimal() and int(value)):
            problem = Problem(path=name, message=f"expected a whole number above 0, got {value!r}")
            raise InvalidInput([problem])
    installed = {each.name: each for each in entry_points(group=_INSTALLED)}
    named = environment.get(_EXPORTER, "").strip() or "otlp"
    names = [name.strip() for name in named.split(",") if name.strip()]
    return [_installed(name, environment, installed).load() for name in names if name != "none"]


def _installed(name: str, environment: Mapping[str, str], installed: Mapping[str, Any]) -> Any:
    if name == "otlp":
        variable = _TRACES_PROTOCOL if environment.get(_TRACES_PROTOCOL) else _PROTOCOL
        protocol = environment.get(variable, "").strip() or "http/protobuf"
        if protocol not in _PROTOCOLS:
            raise _unknown(variable, "protocol", protocol, _PROTOCOLS)
        name = _PROTOCOLS[protocol]
        if name not in installed:
            package = f"opentelemetry-exporter-{name.replace('_', '-')}"
            hint = f"pip install {package}"
            raise InvalidInput([Problem(path=variable, message=f"{package} is not installed", hint=hint)])
    if name not in installed:
        raise _unknown(_EXPORTER, "exporter", name, {"otlp", "none", *installed})
    return installed[name]


def _unknown(variable: str, what: str, found: str, known: Collection[str]) -> InvalidInput:
    hint = Nearest().hint(found, known, f"there are: {', '.join(sorted(known))}")
    return InvalidInput([Problem(path=variable, message=f"there is no {what} {found!r}", hint=hint)])


def _resource(process: str) -> Resource:
    """Return the OpenTelemetry resource of the process; attributes of the environment win."""
    given = Resource.create()
    ours = {"service.version": version("isotherm"), "service.instance.id": process}
    if str(given.attributes.get("service.name", "")).startswith("unknown_service"):
        ours["service.name"] = SERVICE
    return Resource(ours).merge(given) if "service.name" not in ours else given.merge(Resource(ours))


def _attributes_of_operation(ending: ClaimedEnd) -> Mapping[str, str]:
    attributes = {
        "isotherm.stack.name": ending.stack,
        "isotherm.stack.id": ending.stack_id,
        "isotherm.project": ending.project,
        "isotherm.traversal.id": ending.traversal_id,
        "isotherm.action": ending.action,
        "isotherm.status": ending.status,
    }
    if ending.reason:
        attributes["isotherm.reason"] = ending.reason
    if ending.parent_resource is not None:
        attributes["isotherm.parent_resource.id"] = ending.parent_resource
    return attributes
