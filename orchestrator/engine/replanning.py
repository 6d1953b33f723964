"""Plan again what was planned by what rows required, when they require something else by the time it begins.

Between the reading of the rows and the beginning of the new traversal, the old one goes on: what it brings about by
then may depend on rows that it did not depend on before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from orchestrator.model.plan import Plan, Row
from orchestrator.store.stacks.stacks import ResourceRow, StackRow

#: What rows require, by id.
Required = Mapping[str, tuple[str, ...]]


def may_change(stack: StackRow, rows: Sequence[ResourceRow]) -> Required:
    """Return what rows require, as far as anybody may change it before the next traversal begins.

    The stack was read before the rows: what was complete then stays as it is.
    """
    return {} if stack.status == "COMPLETE" else {row.id: row.requires for row in rows}


def planned_by(rows: Sequence[Row], plan: Callable[[Sequence[Row]], Plan]) -> Callable[[Required], Plan]:
    """Return what plans by what the rows require at the time; of rows not named it is what is on record."""

    def planned(required: Required) -> Plan:
        return plan([replace(row, requires=required.get(row.id, row.requires)) for row in rows])

    return planned
