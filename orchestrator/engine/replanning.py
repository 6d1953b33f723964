"""Replanning: plan a traversal again when the requirements of its rows have changed before it begins.

Between the reading of the rows and the transaction that begins the new traversal, the old one goes on: a row that it
writes by then may require rows that it did not require before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from orchestrator.model.plan import Plan, Row
from orchestrator.store.stacks.stacks import ResourceRow, StackRow

#: What rows require, by id.
Required = Mapping[str, tuple[str, ...]]


def may_change(stack: StackRow, rows: Sequence[ResourceRow]) -> Required:
    """Return the requirements of rows that may still change before the next traversal begins.

    The stack was read before the rows: the rows of a stack that was complete then do not change.
    """
    return {} if stack.status == "COMPLETE" else {row.id: row.requires for row in rows}


def planned_by(rows: Sequence[Row], plan: Callable[[Sequence[Row]], Plan]) -> Callable[[Required], Plan]:
    """Return a function that plans by the requirements given, and by those of ``rows`` for rows not given."""

    def planned(required: Required) -> Plan:
        return plan([replace(row, requires=required.get(row.id, row.requires)) for row in rows])

    return planned
