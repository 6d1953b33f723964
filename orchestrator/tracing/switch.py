"""Switch of tracing: imports OpenTelemetry only if the setting ``tracing`` is on."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.tracing.tracer import OFF, Tracing


def tracing_of(settings: Settings, process: str) -> Tracing:
    """Return the tracer of a process; call it in that process, never before a fork.

    Raises:
        InvalidInput: tracing is switched on and its packages are not installed, or a variable is wrong.
    """
    if not settings.tracing:
        return OFF
    with _told_as_settings():
        from orchestrator.tracing.otel import Spans

        return Spans.of_environment(process)


def require_tracing(settings: Settings) -> None:
    """Refuse to start if tracing is on and cannot be set up; connects to nothing, and starts no thread.

    Raises:
        InvalidInput: as for :func:`tracing_of`.
    """
    if settings.tracing:
        with _told_as_settings():
            from orchestrator.tracing.otel import exporters_of_environment

            exporters_of_environment()


@contextmanager
def _told_as_settings() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        missing = Problem(
            path="settings.tracing",
            message=f"it needs OpenTelemetry, and there is no package {error.name!r}",
            hint="pip install 'isotherm[otel]', or leave tracing off",
        )
        raise InvalidInput([missing]) from error
