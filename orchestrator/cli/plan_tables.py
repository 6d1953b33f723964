"""Tables of an update's plan: the action for each resource, and the properties that change."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from orchestrator.cli.annotation_tables import annotation_tables
from orchestrator.cli.formats import Table, fields_table, moment

if TYPE_CHECKING:
    from orchestrator.views.plans import PlanView
    from orchestrator.views.stacks import PropertyChange, ResourcePlan, UpdatePlan

#: Of a plan that another user's key signed, which only coordinators have.
UNVERIFIED: Final = "not verified here: its key is not in the file of keys; the coordinator verifies it"

#: The actions, most important first: the word in the table, and the word in the summary.
_ACTIONS: Final = {
    "CREATE": ("create", "to create"),
    "ADOPT": ("adopt", "to adopt"),
    "UPDATE": ("update in place", "to update in place"),
    "REPLACE": ("replace", "to replace"),
    "DELETE": ("delete", "to delete"),
    "DEPENDS": ("depends", "depending on others"),
    "REFUSE": ("refused", "refused"),
    "UNCHANGED": ("unchanged", "unchanged"),
}


def plan_tables(plan: "UpdatePlan") -> Iterator[Table]:
    """Yield the tables of a plan: the summary, the action for each resource, and the properties that change."""
    fields = {"name": plan.name, "state": plan.state, "plan": summary_of(plan.resources)}
    tags = {"tags": ", ".join(plan.tags)} if plan.tags else {}
    yield fields_table({**fields, **named_fields(plan), **tags})
    yield from resource_tables(plan.resources)
    yield from annotation_tables(plan.annotations)


def saved_plan_tables(plan: "PlanView") -> Iterator[Table]:
    """Yield the tables of a saved plan: the summary with what it is bound to, and those of any plan."""
    verified = {None: {}, True: {"signature": "verified"}, False: {"signature": UNVERIFIED}}[plan.is_verified]
    yield fields_table(
        {
            "name": plan.stack,
            "operation": plan.action,
            "state": plan.state or "there is no stack yet",
            "plan": summary_of(plan.resources),
            **named_fields(plan),
            "id": plan.id,
            "planned": moment(plan.planned_at),
            **({"by": plan.user} if plan.user else {}),
            **verified,
            **({"tags": ", ".join(plan.tags)} if plan.tags else {}),
        }
    )
    yield from resource_tables(plan.resources)
    yield from annotation_tables(plan.annotations)


def delete_plan_tables(plan: "PlanView") -> Iterator[Table]:
    """Yield the tables of the plan of a delete: the summary, and the resources in the order of their deletion."""
    yield fields_table({"name": plan.stack, "state": plan.state, "plan": summary_of(plan.resources)})
    if plan.resources:
        rows = [
            (each.name, each.type, _ACTIONS[each.action][0], ", ".join(each.after), each.reason)
            for each in plan.resources
        ]
        columns = ("name", "type", "action", "after", "why")
        yield Table(columns=columns, rows=rows, title="resources")


def named_fields(plan: "UpdatePlan | PlanView") -> dict[str, str]:
    """Return the resources that a plan names, and those that it leaves otherwise than defined, by a title each."""
    names = {"targets": plan.targets, "to replace": plan.replaces, "left for later": plan.partial}
    return {title: ", ".join(each) for title, each in names.items() if each}


def summary_of(resources: "Sequence[ResourcePlan]") -> str:
    """Return how many resources there are of each action, in words."""
    counted = Counter(each.action for each in resources)
    words = [f"{counted[action]} {words}" for action, (_, words) in _ACTIONS.items() if counted[action]]
    if moved := sum(bool(each.moved_from) for each in resources):
        words.append(f"{moved} of them to move")
    return ", ".join(words) or "there are no resources"


def action_word(action: str) -> str:
    """Return the word for an action in a table."""
    return _ACTIONS[action][0]


def resource_tables(resources: "Sequence[ResourcePlan]") -> Iterator[Table]:
    """Yield the tables of the action for each resource, and of the properties that change."""
    if resources:
        rows = [(each.name, each.type, action_word(each.action), each.reason) for each in resources]
        yield Table(columns=("name", "type", "action", "why"), rows=rows, title="resources")
    changes = [
        (each.name, *row) for each in resources for change in each.changes for row in change_rows(change)
    ]
    if changes:
        yield Table(columns=("resource", "property", "before", "after"), rows=changes, title="properties")


def change_rows(change: "PropertyChange") -> Iterator[tuple[str, object, object]]:
    """Yield the property, or each of its parts that changes, with the values before and after."""
    if not change.parts:
        yield change.name or "(all)", change.before, change.after
    for part in change.parts:
        separator = "" if part.path.startswith("[") else "."
        yield f"{change.name}{separator}{part.path}", part.before, part.after
