"""Tracer protocol: a trace for each operation on a stack, with a span for each step; and the tracer that is off.

A request to the API is a span of its client's trace, with a link to the operation that it began. The trace id of
an operation is the traversal's id, which logs and pages show. No trace context is in messages or in the store, so any
worker can add a span, and any coordinator can end the trace.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from orchestrator.store.nodes.claims import Claim, Outcome
from orchestrator.store.traversals.traversals import ClaimedEnd

#: How long an ending process exports remaining spans.
CLOSING_SECONDS: Final = 3.0


class StepSpan:
    """The span of a running step; this one records nothing."""

    def came_to(self, outcome: Outcome) -> None:
        """Record the outcome of the step."""


class RequestSpan:
    """The span of an HTTP request; this one records nothing."""

    def answered(self, route: str, status: int, *, request_id: str) -> None:
        """Record the template of the request's address, and the status of the answer."""


class Tracing:
    """A tracer that records nothing; base class of the others."""

    def check(self, claim: Claim, worker: str) -> AbstractContextManager[StepSpan]:  # noqa: ARG002  # a contract
        """Record a span of the step inside the block."""
        return _NO_SPAN

    def request(self, method: str, headers: Mapping[str, str]) -> AbstractContextManager[RequestSpan]:  # noqa: ARG002
        """Record a span of an HTTP request inside the block, in the client's trace if the headers name one."""
        return _NO_REQUEST

    def began(self, traversal_id: str) -> None:
        """Record that the running step or request, if any, has begun an operation on another stack."""

    def ended(self, ending: ClaimedEnd) -> None:
        """Record the end of an operation; idempotent."""

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """Export remaining spans, for so long at most, and record no more."""


_NO_SPAN: Final = nullcontext(StepSpan())
_NO_REQUEST: Final = nullcontext(RequestSpan())
#: The tracer that records nothing.
OFF: Final = Tracing()


def attributes_of(claim: Claim, worker: str) -> Mapping[str, str | int]:
    """Return the attributes of a step's span: names, ids and counts, never a value."""
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
