"""Applied plan: the seal that a job carries, verified and held against the stack by the coordinator that begins it.

The rows are compared once more in the transaction that begins the operation, under the stack's lock.
"""

import base64
import binascii
from dataclasses import replace
from typing import Final

from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.keys.plan_seal import PlanKeys
from orchestrator.model.messages import DeleteJob, StackJob
from orchestrator.model.names import id_of_new_stack, listed
from orchestrator.model.plan import DesiredResource
from orchestrator.model.plan_binding import PlanBinding, definition_digest, disagreement, since
from orchestrator.planning.comparison import Comparison
from orchestrator.store.history.past import TraversalRow
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.times import iso

#: How many operations are looked through for what was done since.
_LOOKED_AT: Final = 100
_AGAIN: Final = "make a new plan"


def plan_of(job: StackJob | DeleteJob, store: Store, settings: Settings) -> PlanBinding | None:
    """Return the binding of the plan that a job applies, with the user who is proven to have made it; None for none.

    Raises:
        InvalidInput: no key of this installation signed the plan, or it is the plan of another job.
        Conflict: the plan lists resources that are refused.
    """
    if not job.plan:
        return None
    try:
        seal = base64.b64decode(job.plan, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(
            [Problem(path="plan", message="expected the seal of a plan, in base64")]
        ) from error
    binding = PlanKeys(settings).open(seal, project=job.project, installation=store.identity.read())
    if binding.definition != definition_digest(job):
        raise InvalidInput([Problem(path="plan", message="it is the plan of another job", hint=_AGAIN)])
    _require_no_refusal(binding)
    return binding


def require_applicable(store: Store, binding: PlanBinding) -> None:
    """Require that a plan can be applied to its stack as it is now, as far as no definition has to be compared.

    Raises:
        Conflict: it lists resources that are refused, was applied before, or the stack has moved on.
        NotFound: the stack is purged.
    """
    _require_no_refusal(binding)
    if binding.stack_id:
        require_unchanged(store, binding, store.stacks.find(binding.stack_id, project=binding.project))
    else:
        require_new(store, binding, id_of_new_stack(binding.project, binding.id))


def _require_no_refusal(binding: PlanBinding) -> None:
    if refused := sorted(name for name, listed in binding.actions.items() if listed == ("REFUSE",)):
        raise Conflict(
            f"the plan of stack {binding.stack!r} lists {refused[0]!r} as refused: change the definition, and {_AGAIN}"
        )


def require_new(store: Store, binding: PlanBinding, stack_id: str) -> None:
    """Require that there is no stack yet where a plan makes one; ``stack_id`` is that of the plan's stack.

    Raises:
        Conflict: there is, or the plan was applied before.
    """
    if store.stacks.by_id(stack_id) is not None:
        raise Conflict(f"the plan was applied already: it made the stack {stack_id}; {_AGAIN}")
    present = [each for each in store.stacks.all(project=binding.project) if each.name == binding.stack]
    if present:
        raise Conflict(
            f"the plan is of a new stack, and there is a stack {binding.stack!r} since {iso(present[0].created_at)}; "
            f"{_AGAIN}"
        )


def require_unchanged(store: Store, binding: PlanBinding, stack: StackRow) -> None:
    """Require that nothing was done to a stack since a plan of it was made.

    Raises:
        Conflict: something was; the sentence names the operations and the resources.
    """
    changed = since(binding.rows, store.row_marks.of(stack.root_id))
    if stack.traversal_id == binding.traversal_id and not changed:
        return
    later = _later(store, binding, stack)
    for row in later:
        if row.plan == binding.id:
            raise Conflict(
                f"the plan of stack {stack.name!r} was applied already, at {iso(row.created_at)} by operation {row.id}"
            )
    parts = [
        f"operations: {listed([_told(row) for row in later])}" if later else "",
        f"changed resources: {listed(changed)}" if changed else "",
    ]
    raise Conflict(
        f"stack {stack.name!r} has moved on since the plan was made at {iso(binding.planned_at)}; "
        f"{'; '.join(filter(None, parts))}; {_AGAIN}"
    )


def as_planned(binding: PlanBinding, compared: Comparison) -> list[DesiredResource]:
    """Return the desired resources of an update with the actions that a plan lists, which workers keep to.

    Raises:
        Conflict: the plan does not list what the update would do, such as after a resource type was changed.
    """
    matches = compared.matches
    made = [name for name, match in matches.items() if match.row is None]
    kept = [name for name, match in matches.items() if match.row is not None]
    chosen = {match.row.id for match in matches.values() if match.row is not None}
    deleted = [
        row.name
        for row in compared.rows
        if row.id not in chosen and row.action != "INIT" and row.name not in matches
    ]
    if why := disagreement(binding, made, kept, deleted, compared.moved.paths):
        raise Conflict(
            f"the plan of stack {binding.stack!r} is not what an update would do now: {why}; {_AGAIN}"
        )
    return [
        replace(each, fragment={**each.fragment, "planned": list(binding.actions[each.name])})
        for each in compared.desired_resources
    ]


def _later(store: Store, binding: PlanBinding, stack: StackRow) -> list[TraversalRow]:
    """Return the operations since the one for which a plan was made, newest first."""
    rows = store.past.traversals(stack.id, limit=_LOOKED_AT)
    planned = next((row for row in rows if row.id == binding.traversal_id), None)
    # Of two that began at the same time, either may come first.
    return [
        row
        for row in rows
        if planned is None or (row is not planned and row.created_at >= planned.created_at)
    ]


def _told(row: TraversalRow) -> str:
    by = f" by {row.user}" if row.user else ""
    return f"{row.action}{by} at {iso(row.created_at)}, {row.status}"
