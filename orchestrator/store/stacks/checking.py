"""The result of a stack check: the faults of its resources, as a reason for the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from orchestrator.errors import cut
from orchestrator.model.messages import OPERATE
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.direct import Direct

if TYPE_CHECKING:
    from orchestrator.store.direct import Transaction

#: The most characters of faults in a stack's reason.
SHOWN = 1000

_FAILURES: Final = """
    SELECT node.key, event.reason
    FROM node
        JOIN event ON event.traversal_id = :traversal_id AND event.resource_id = node.resource_id
            AND event.status = 'FAILED'
        JOIN stack ON stack.id = event.stack_id AND stack.traversal_id = :traversal_id
    WHERE node.traversal_id || '' = :traversal_id AND node.phase = :phase AND node.state = 'failed'
    ORDER BY node.key"""


def faults_of(transaction: Transaction, traversal_id: str) -> str:
    """Return the faults that a traversal's check of a stack found, in words; empty for none."""
    stack, direct = tables.stack, Direct.of(transaction)
    reasons = failures_of(direct, traversal_id, OPERATE)
    template = direct.alchemy.execute(
        sa.select(stack.c.template_id, stack.c.completed_template_id, stack.c.partial).where(
            stack.c.traversal_id == traversal_id
        )
    ).first()
    # What was converged in part on purpose is no fault.
    if template and not template.partial and template.template_id != template.completed_template_id:
        reasons.insert(0, "the definition that the stack was given last never was complete")
    return cut("; ".join(reasons), SHOWN)


def failures_of(direct: Direct, traversal_id: str, phase: str) -> list[str]:
    """Return the reasons of the failed nodes of one phase of a traversal, sorted by resource."""
    found = direct.rows(_FAILURES, {"traversal_id": traversal_id, "phase": phase})
    return [f"resources.{row.key}: {direct.opened(row.reason)}" for row in found]
