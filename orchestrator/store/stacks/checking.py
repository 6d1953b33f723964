"""The result of a stack check: the faults of its resources, as a reason for the stack."""

from __future__ import annotations

from orchestrator.errors import cut
from orchestrator.model.messages import OPERATE
from orchestrator.store import tables
from orchestrator.store.alchemy import sa

#: The most characters of faults in a stack's reason.
SHOWN = 1000


def faults_of(connection: sa.Connection, traversal_id: str) -> str:
    """Return the faults that a traversal's check of a stack found, in words; empty for none."""
    stack = tables.stack
    reasons = failures_of(connection, traversal_id, OPERATE)
    template = connection.execute(
        sa.select(stack.c.template_id, stack.c.completed_template_id, stack.c.partial).where(
            stack.c.traversal_id == traversal_id
        )
    ).first()
    # What was converged in part on purpose is no fault.
    if template and not template.partial and template.template_id != template.completed_template_id:
        reasons.insert(0, "the definition that the stack was given last never was complete")
    return cut("; ".join(reasons), SHOWN)


def failures_of(connection: sa.Connection, traversal_id: str, phase: str) -> list[str]:
    """Return the reasons of the failed nodes of one phase of a traversal, sorted by resource."""
    node, stack, event = tables.node, tables.stack, tables.event
    found = connection.execute(
        sa.select(node.c.key, event.c.reason)
        .join(
            event,
            (event.c.traversal_id == traversal_id)
            & (event.c.resource_id == node.c.resource_id)
            & (event.c.status == "FAILED"),
        )
        .join(stack, (stack.c.id == event.c.stack_id) & (stack.c.traversal_id == traversal_id))
        .where(tables.in_traversal(traversal_id), node.c.phase == phase, node.c.state == "failed")
        .order_by(node.c.key)
    ).all()
    return [f"resources.{row.key}: {row.reason}" for row in found]
