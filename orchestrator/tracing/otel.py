"""Traces for OpenTelemetry. Imported only where tracing is switched on: the extra ``otel`` has what it needs."""

import hashlib
import os
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.store.traversals.traversals import ClaimedEnd
from orchestrator.tracing.tracer import CLOSING_SECONDS, Tracing, attributes_of

SERVICE: Final = "isotherm"
#: The standard's variables that say where to and how; those of the exporter itself it reads by itself.
_EXPORTER, _PROTOCOL = "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"
_TRACES_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
_INSTALLED: Final = "opentelemetry_traces_exporter"
#: How the installed exporters are called for each protocol of OTLP.
_PROTOCOLS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
#: Of batches. With another text there, the exporter would log a traceback and go on.
_NUMBERS: Final = (
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BSP_EXPORT_TIMEOUT",
)
#: Endings of steps that went wrong.
_WRONG: Final = frozenset({Ending.FAILED, Ending.FAULT, Ending.RETRY})
_NANOSECONDS: Final = 1_000_000_000


def trace_id_of(traversal_id: str) -> int:
    """Return the id of an operation's trace: its own, which is a UUID and so has as many bits."""
    return uuid.UUID(traversal_id).int


def root_of(traversal_id: str) -> SpanContext:
    """Return the context of an operation's root span, known to everybody before there is such a span."""
    digest = hashlib.sha256(b"root of " + traversal_id.encode()).digest()
    # No span has the number 0.
    number = int.from_bytes(digest[:8], "big") or 1
    return SpanContext(trace_id_of(traversal_id), number, is_remote=True, trace_flags=TraceFlags(1))


class OperationSampler(Sampler):
    """Decides about whole operations, so that none is told in part: the same in every process.

    The id of a trace is a UUID, of which some bits are the same in all; samplers take the upper ones of the lower half
    for chance, and would take none or all. They are given bits that are as good as chance.
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
        """Return what it is called."""
        return f"OperationSampler{{{self._chosen.get_description()}}}"


class _Ids(IdGenerator):
    """Numbers by chance, but for the root that a thread is about to begin."""

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
    """Tells operations: a span for each, and under it one for each step of a check.

    Args:
        exporters: Whom they are told; in batches, on threads of their own, so that no step waits for any.
        sampler: Which are told.
        process: What this process is called.
    """

    def __init__(
        self, exporters: Sequence[SpanExporter], *, process: str, sampler: Sampler | None = None
    ) -> None:
        self._ids = _Ids()
        # The environment's are what a provider has that is told nothing.
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
        """Return what tells whom the ``OTEL_`` variables say.

        Raises:
            InvalidInput: as for :func:`exporters_of_environment`.
        """
        return cls([maker() for maker in exporters_of_environment()], process=process)

    @contextmanager
    def check(self, claim: Claim, worker: str) -> Iterator["_Step"]:
        """Tell the step that is taken inside the block."""
        around = set_span_in_context(NonRecordingSpan(root_of(claim.order.traversal_id)), Context())
        span = self._tracer.start_span(
            f"{claim.action} {claim.type}", around, attributes=attributes_of(claim, worker)
        )
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield _Step(span)
            except Exception as error:
                # Its words may hold what nobody is to see.
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                span.set_attribute("error.type", type(error).__qualname__)
                raise

    def began(self, traversal_id: str) -> None:
        """Link the span of the step under way with the trace of the operation that it has begun."""
        span = trace.get_current_span()
        if span.is_recording():
            span.add_link(root_of(traversal_id))

    def ended(self, ending: ClaimedEnd) -> None:
        """Tell an operation's root span."""
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
        """Send what is left, for so long at most."""
        if self._closed:
            return
        self._closed = True
        # An exporter whose collector is away tries on for longer than a process that ends can wait.
        closing = threading.Thread(target=self._provider.shutdown, name="last spans", daemon=True)
        closing.start()
        closing.join(seconds)


class _Step:
    """A step whose span is open."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def came_to(self, outcome: Outcome) -> None:
        """Say what came of it."""
        self._span.set_attribute("isotherm.outcome", outcome.ending.value)
        if outcome.hook:
            self._span.set_attribute("isotherm.hook", outcome.hook)
        if outcome.physical_id:
            self._span.set_attribute("isotherm.physical_id", outcome.physical_id)
        if outcome.ending in _WRONG:
            self._span.set_status(Status(StatusCode.ERROR, outcome.reason))


def exporters_of_environment(environment: Mapping[str, str] = os.environ) -> list[Any]:
    """Return what makes the exporters that the standard's variables name; none are made yet.

    Raises:
        InvalidInput: there is no such exporter or protocol, or what is said of batches is no number.
    """
    for name in _NUMBERS:
        said = environment.get(name, "").strip()
        if said and not (said.isdecimal() and int(said)):
            problem = Problem(path=name, message=f"expected a whole number above 0, got {said!r}")
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


def _unknown(variable: str, what: str, found: str, there: Any) -> InvalidInput:
    hint = Nearest().hint(found, there, f"there are: {', '.join(sorted(there))}")
    return InvalidInput([Problem(path=variable, message=f"there is no {what} {found!r}", hint=hint)])


def _resource(process: str) -> Resource:
    """Return what is told of the process; what the environment says of it wins."""
    said = Resource.create()
    ours = {"service.version": version("isotherm"), "service.instance.id": process}
    if str(said.attributes.get("service.name", "")).startswith("unknown_service"):
        ours["service.name"] = SERVICE
    return Resource(ours).merge(said) if "service.name" not in ours else said.merge(Resource(ours))


def _attributes_of_operation(ending: ClaimedEnd) -> Mapping[str, Any]:
    told = {
        "isotherm.stack.name": ending.stack,
        "isotherm.stack.id": ending.stack_id,
        "isotherm.project": ending.project,
        "isotherm.traversal.id": ending.traversal_id,
        "isotherm.action": ending.action,
        "isotherm.status": ending.status,
    }
    if ending.reason:
        told["isotherm.reason"] = ending.reason
    if ending.parent_resource is not None:
        told["isotherm.parent_resource.id"] = ending.parent_resource
    return told
