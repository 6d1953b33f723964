"""Tells each operation on a stack as a trace: what all that do so have in common, and what tells nobody.

The id of a trace is that of the operation (its traversal): the same that logs and pages name. Nothing of it travels
in messages or stands in the store, so any worker can add to it, and any coordinator can end it.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

from orchestrator.store.nodes.claims import Claim, Outcome
from orchestrator.store.traversals.traversals import ClaimedEnd

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

    def ended(self, ending: ClaimedEnd) -> None:
        """Tell that an operation is over; twice is harmless."""

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """Let what was told leave, for so long at most, and tell nothing more."""


class _Nobody:
    def came_to(self, outcome: Outcome) -> None:
        """Hear nothing."""


_NOBODY: Final[AbstractContextManager[Told]] = nullcontext(_Nobody())
#: What tells nobody.
OFF: Final = Tracing()


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
