"""How a repair would undo drift: in place or by a replacement, and what prevents it."""

from collections.abc import Mapping
from typing import Any

from orchestrator.errors import typed_message
from orchestrator.planning.decision import Action, meaning_of, restricting
from orchestrator.planning.repairing import Drifted
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import PropertyChanges
from workers.check.rebuilding import Attempt


def repairs_in_place(resource: Resource, seen: Any) -> bool:
    """Return whether a type changes an observed object back in place, as the worker of the update will decide."""
    observed: Mapping[str, Any] = {**resource.properties, **seen}
    changes = PropertyChanges(before=observed, after=resource.properties)
    schema = resource.properties_schema
    if any(meaning_of(schema.get(name)) is not Action.UPDATE for name in changes.names):
        return False
    try:
        return not resource.needs_replace(changes)
    except Exception:  # noqa: BLE001  # the worker of the update finds out
        return True


def prevents_repair(attempt: Attempt, it: Drifted, *, in_place: bool, is_external: bool) -> str:
    """Return why a resource is not repaired, whatever the policy says; empty if it may be."""
    if is_external:
        return "it stands for an object that is not the stack's own (external_id)"
    if isinstance(attempt.resource, StackResource):
        return "it is a stack of its own"
    try:
        fragment = attempt.check.applied() or {}
    except Exception as error:  # noqa: BLE001  # what is on record cannot be read
        return f"its definition cannot be read: {typed_message(error)}"
    action = Action.UPDATE if in_place and not it.is_gone else Action.REPLACE
    return restricting(fragment.get("restricted", ()), action)
