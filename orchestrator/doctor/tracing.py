"""Doctor checks of tracing: whether its packages are installed, and whether the collector answers."""

import os
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import PATIENCE_SECONDS, Check
from orchestrator.errors import InvalidInput
from orchestrator.tracing.switch import require_tracing

#: OpenTelemetry's default port of a collector, by protocol.
_PORTS = {"http/protobuf": 4318, "grpc": 4317}


def check_tracing(settings: Settings, environment: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Check that operations can be exported, and where to; yield nothing if tracing is off."""
    if not settings.tracing:
        return
    try:
        require_tracing(settings)
    except InvalidInput as error:
        [problem] = error.problems
        where = f"{problem.path}: " if problem.path else ""
        yield Check(name="tracing", ok=False, detail=f"{where}{problem.message}", hint=problem.hint)
        return
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if "otlp" not in exporter.split(","):
        yield Check(name="tracing", ok=True, detail=f"operations are exported to {exporter}")
        return
    yield check_collector(collector_of(environment))


def collector_of(environment: Mapping[str, str]) -> str:
    """Return the address of the collector, as the exporter reads it from the ``OTEL_*`` variables."""
    protocol = environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environment.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", ""
    )
    port = _PORTS.get(protocol.strip(), _PORTS["http/protobuf"])
    endpoint = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or environment.get(
        "OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    if endpoint and "://" not in endpoint and port == _PORTS["grpc"]:
        return f"http://{endpoint}"
    return endpoint or f"http://localhost:{port}"


def check_collector(address: str) -> Check:
    """Check that the collector's address accepts connections; nothing is sent to it."""
    import socket

    hint = "start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT; spans are lost meanwhile, and nothing else"
    if "://" not in address:
        detail = "the collector's address is wrong: it begins with neither http:// nor https://"
        return Check(name="tracing", ok=False, detail=detail, hint=hint)
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)
    except ValueError as error:
        return Check(name="tracing", ok=False, detail=f"the collector's address is wrong: {error}", hint=hint)
    # Without user and password.
    place = f"{host}:{port}"
    try:
        socket.create_connection((host, port), timeout=PATIENCE_SECONDS).close()
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        detail = f"no collector answers at {place}: {reason.lower()}"
        return Check(name="tracing", ok=False, detail=detail, hint=hint, is_service=True)
    return Check(name="tracing", ok=True, detail=f"operations are exported to the collector at {place}")
