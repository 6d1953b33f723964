"""How a repair would undo drift: in place or by a replacement, and what prevents it."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from orchestrator.planning.decision import PROTECTED, Action, meaning_of, restricting, restrictions_of
from orchestrator.planning.repairing import Drifted
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import PropertyChanges


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


def prevents_repair(
    resource: Resource,
    it: Drifted,
    *,
    is_external: bool,
    is_protected: bool,
    restricted: Callable[[], Collection[str]],
) -> str:
    """Return why a resource is not repaired, whatever the policy says; empty if it may be.

    ``restricted`` reads the actions that the environment in force restricts.
    """
    if is_external:
        return "it stands for an object that is not the stack's own (external_id)"
    if isinstance(resource, StackResource):
        return "it is a stack of its own"
    action = Action.UPDATE if it.in_place and not it.is_gone else Action.REPLACE
    marks: Mapping[str, Any] = {"restricted": sorted(restricted()), PROTECTED: is_protected}
    return restricting(restrictions_of(marks), action)
