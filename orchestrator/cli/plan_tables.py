"""Tables of an update's plan: the action for each resource, and the properties that change."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from orchestrator.cli.annotation_tables import annotation_tables
from orchestrator.cli.formats import Table, fields_table

if TYPE_CHECKING:
    from orchestrator.views.stacks import PropertyChange, UpdatePlan

#: The actions, most important first: the word in the table, and the word in the summary.
_ACTIONS: Final = {
    "CREATE": ("create", "to create"),
    "UPDATE": ("update in place", "to update in place"),
    "REPLACE": ("replace", "to replace"),
    "DELETE": ("delete", "to delete"),
    "DEPENDS": ("depends", "depending on others"),
    "REFUSE": ("refused", "refused"),
    "UNCHANGED": ("unchanged", "unchanged"),
}


def plan_tables(plan: "UpdatePlan") -> Iterator[Table]:
    """Yield the tables of a plan: the summary, the action for each resource, and the properties that change."""
    counted = Counter(each.action for each in plan.resources)
    words = ", ".join(
        f"{counted[action]} {words}" for action, (_, words) in _ACTIONS.items() if counted[action]
    )
    fields = {"name": plan.name, "state": plan.state, "plan": words or "there are no resources"}
    yield fields_table({**fields, **({"tags": ", ".join(plan.tags)} if plan.tags else {})})
    if plan.resources:
        rows = [(each.name, each.type, _ACTIONS[each.action][0], each.reason) for each in plan.resources]
        yield Table(columns=("name", "type", "action", "why"), rows=rows, title="resources")
    changes = [
        (each.name, *row) for each in plan.resources for change in each.changes for row in _rows(change)
    ]
    if changes:
        yield Table(columns=("resource", "property", "before", "after"), rows=changes, title="properties")
    yield from annotation_tables(plan.annotations)


def _rows(change: "PropertyChange") -> Iterator[tuple[str, object, object]]:
    """Yield the property, or each of its parts that changes, with the values before and after."""
    if not change.parts:
        yield change.name or "(all)", change.before, change.after
    for part in change.parts:
        separator = "" if part.path.startswith("[") else "."
        yield f"{change.name}{separator}{part.path}", part.before, part.after
