"""What an update of a resource comes to: nothing, a change in place, another one in its place, or a refusal.

Decided from what was applied, what is wanted and, where that is in doubt, what is really there; nothing is changed.
"""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.model.actions import CHECK, SNAPSHOT
from orchestrator.plugins.resource import CannotTell, PropertyChanges, Resource
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.nodes.claims import Claim

#: In which an object may be anything between what it was and what it was to become.
_HALF_WAY: Final = (("UPDATE", "IN_PROGRESS"), ("RESTORE", "IN_PROGRESS"))


class ReplaceResource(Exception):
    """The resource cannot become what is wanted; the text says why. Another one takes its place."""


class RefusedChange(Exception):
    """What is wanted cannot be made of the resource, nor may another take its place; the text says why."""


def changes_of(resource: Resource, claim: Claim) -> PropertyChanges:
    """Return what is to change in place.

    Where an update may have been left half-way, that is all that may change at all.

    Raises:
        RefusedChange: a property cannot be changed once it is set.
        ReplaceResource: another resource must take this one's place.
    """
    if reason := _why_replaced(resource, claim):
        raise ReplaceResource(reason)
    before = typed_properties(type(resource), claim.properties or {}, clients=resource.clients)
    asked = PropertyChanges(before=before, after=resource.properties)
    _refuse_immutable(resource, asked)
    changes = asked
    if is_doubted(claim):
        changes = PropertyChanges(
            before={**before, **_seen(resource, claim, before)}, after=resource.properties
        )
    if claim.was in _HALF_WAY:
        changes = _all_that_may(resource, changes)
    if changes.names:
        _refuse_in_place(resource, changes)
    return changes


def is_doubted(claim: Claim) -> bool:
    """Whether a resource may be other than it was made: somebody wants to know, or a check did not end well."""
    action, status = claim.was
    return bool(claim.fragment.get("refresh")) or (action == CHECK and status != "COMPLETE")


def _why_replaced(resource: Resource, claim: Claim) -> str:
    """Return why another takes the place of a resource whatever it looks like; empty if none does."""
    action, status = claim.was
    if claim.fragment.get("replace"):
        return str(claim.fragment["replace"])
    # What only a check or a snapshot found fault with was made as it should be.
    failed = status == "FAILED" and action not in (CHECK, SNAPSHOT) and resource.needs_replace_failed()
    return f"it was {action}_{status}" if failed or action == "DELETE" else ""


def _seen(resource: Resource, claim: Claim, before: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties that can be seen, as they really are.

    Raises:
        ReplaceResource: the object is gone; or its check failed, and nothing that can be seen is other than it was.
    """
    observed = _observed(resource, before)
    if observed is None:
        raise ReplaceResource("it is not there any more")
    seen: Mapping[str, Any] = {} if isinstance(observed, CannotTell) else observed
    looks_sound = all(value == before.get(name) for name, value in seen.items())
    unseen = isinstance(observed, CannotTell) or type(resource).handle_check is not Resource.handle_check
    if claim.was == (CHECK, "FAILED") and looks_sound and unseen and resource.needs_replace_failed():
        raise ReplaceResource("its check failed, and no property that can be seen is the cause")
    return seen


def _observed(resource: Resource, before: Mapping[str, Any]) -> Mapping[str, Any] | CannotTell | None:
    """Ask what is there of the object as it was made: a type tells what it cannot see from its properties."""
    wanted = resource.properties
    resource.properties = before
    try:
        return resource.observe()
    finally:
        resource.properties = wanted


def _all_that_may(resource: Resource, changes: PropertyChanges) -> PropertyChanges:
    allowed = {name for name, prop in resource.properties_schema.items() if prop.update_allowed}
    again = allowed - changes.names
    before = {name: None if name in again else value for name, value in changes.before.items()}
    return PropertyChanges(before=before, after=changes.after)


def _refuse_immutable(resource: Resource, asked: PropertyChanges) -> None:
    for name in sorted(asked.names):
        prop = resource.properties_schema.get(name)
        if prop is not None and prop.immutable:
            raise RefusedChange(f"properties.{name}: it cannot be changed once it is set")


def _refuse_in_place(resource: Resource, changes: PropertyChanges) -> None:
    schema = resource.properties_schema
    held = sorted(name for name in changes.names if name in schema and not schema[name].update_allowed)
    if held:
        raise ReplaceResource(f"a change of {', '.join(held)} needs another resource")
    if resource.needs_replace(changes):
        raise ReplaceResource("its type says that these changes need another resource")
