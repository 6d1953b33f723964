"""Whether operations are told as traces. Where tracing is off, nothing of OpenTelemetry is imported, nor paid."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.tracing.tracer import OFF, Tracing


def tracing_of(settings: Settings, process: str) -> Tracing:
    """Return what tells the traces of a process; called in the process that is to tell them, never before a fork.

    Raises:
        InvalidInput: tracing is switched on and its packages are not installed, or a variable is wrong.
    """
    if not settings.tracing:
        return OFF
    with _told_as_settings():
        from orchestrator.tracing.otel import Spans

        return Spans.of_environment(process)


def require_tracing(settings: Settings) -> None:
    """Refuse to start where tracing is switched on and cannot be done; nothing is connected, and no thread begun.

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
