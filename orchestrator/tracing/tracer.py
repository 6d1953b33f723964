"""Tells each operation on a stack as a trace, where tracing is switched on; otherwise nothing is imported, nor paid.

The id of a trace is that of the operation (its traversal): the same that logs and pages name. Nothing of it travels
in messages or stands in the store, so any worker can add to it, and any coordinator can end it.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, Protocol

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.store.nodes.claims import Claim, Outcome
from orchestrator.store.traversals.ending import Ending

#: How long a process that ends lets the last spans leave.
CLOSING_SECONDS: Final = 3.0


class Told(Protocol):
    """A step that is being told."""

    def came_to(self, outcome: Outcome) -> None:
        """Say what came of it."""


class Tracing:
    """Tells nobody; the base of what does."""

    def check(self, claim: Claim, worker: str) -> AbstractContextManager[Told]:  # noqa: ARG002  # a contract
        """Tell the step that is taken inside the block."""
        return _NOBODY

    def began(self, traversal_id: str) -> None:
        """Tell that the step under way, if there is one, has begun an operation on another stack."""

    def ended(self, ending: Ending) -> None:
        """Tell that an operation is over; twice is harmless."""

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """Let what was told leave, for so long at most, and tell nothing more."""


class _Nobody:
    def came_to(self, outcome: Outcome) -> None:
        """Hear nothing."""


_NOBODY: Final[AbstractContextManager[Told]] = nullcontext(_Nobody())
#: What tells nobody.
OFF: Final = Tracing()


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


def attributes_of(claim: Claim, worker: str) -> Mapping[str, Any]:
    """Return what is told of a step before it is taken: names, ids and counts, never a value."""
    order = claim.order
    return {
        "isotherm.stack.name": order.stack,
        "isotherm.stack.id": order.stack_id,
        "isotherm.traversal.id": order.traversal_id,
        "isotherm.resource.name": order.key,
        "isotherm.resource.id": claim.resource_id,
        "isotherm.resource.type": claim.type,
        "isotherm.node.no": order.no,
        "isotherm.phase": order.phase,
        "isotherm.action": claim.action,
        "isotherm.attempt": claim.attempt,
        "isotherm.retries": claim.retries,
        "isotherm.worker": worker,
    }
