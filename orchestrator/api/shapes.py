"""Shapes of answers: the views of the service in the fields of Heat. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.api.addresses import Addresses, link
from orchestrator.api.definitions import text_of
from orchestrator.api.times import time_of
from orchestrator.views.stacks import (
    EventView,
    OutputView,
    ResourcePlan,
    ResourcePreview,
    ResourceView,
    SnapshotView,
    StackPreview,
    StackView,
    UpdatePlan,
)

#: The types of parameters in HOT, and their names in CFN and in Heat's answers.
PARAMETER_TYPES: Final = {
    "string": "String",
    "number": "Number",
    "comma_delimited_list": "CommaDelimitedList",
    "json": "Json",
    "boolean": "Boolean",
}
#: The lists of a preview of an update, and the actions that belong in each.
_CHANGES: Final = {
    "unchanged": ("UNCHANGED",),
    "updated": ("UPDATE", "DEPENDS", "REFUSE"),
    "replaced": ("REPLACE",),
    "added": ("CREATE",),
    "deleted": ("DELETE",),
}
#: The same of a preview of an import.
_IMPORTS: Final = {"imported": ("ADOPT",), "unchanged": ("UNCHANGED",)}


def stack_item(stack: StackView, addresses: Addresses, *, with_project: bool = False) -> dict[str, Any]:
    """Return a stack as it is listed."""
    return {
        "id": stack.id,
        "links": [link("self", addresses.stack(stack.name, stack.id))],
        "stack_name": stack.name,
        "description": "",
        "stack_status": stack.state,
        "stack_status_reason": stack.reason,
        "creation_time": time_of(stack.created_at),
        # As in Heat, null before the first change of a stack that is there.
        "updated_time": None if stack.action == "CREATE" else time_of(stack.updated_at),
        "deletion_time": time_of(stack.deleted_at),
        "stack_owner": None,
        "parent": stack.parent_id,
        "stack_user_project_id": None,
        "tags": list(stack.tags) or None,
        "partial": list(stack.partial),
        **({"project": stack.project} if with_project else {}),
    }


def stack_shown(stack: StackView, addresses: Addresses, *, with_outputs: bool) -> dict[str, Any]:
    """Return one stack."""
    return {
        **stack_item(stack, addresses),
        "description": stack.description,
        "template_description": stack.description,
        "parameters": {
            **{name: text_of(value) for name, value in stack.parameters.items()},
            "OS::stack_id": stack.id,
            "OS::stack_name": stack.name,
            "OS::project_id": stack.project,
        },
        **(
            {"outputs": [output_shown(each) for each in stack.outputs]}
            if with_outputs and stack.deleted_at is None
            else {}
        ),
        "disable_rollback": not stack.rollback,
        "timeout_mins": whole(stack.timeout_minutes),
        "capabilities": [],
        "notification_topics": [],
    }


def whole(minutes: float) -> float:
    """Return a number of minutes without a fraction where it has none."""
    return int(minutes) if minutes == int(minutes) else minutes


def output_item(output: OutputView) -> dict[str, Any]:
    """Return an output as it is listed."""
    return {"output_key": output.key, "description": output.description or "No description given"}


def output_shown(output: OutputView) -> dict[str, Any]:
    """Return one output, with the reason where it has no value."""
    error = {"output_error": output.error} if output.error else {}
    return {**output_item(output), "output_value": output.value, **error}


def requirers(resources: Sequence[ResourceView]) -> dict[tuple[tuple[str, ...], str], list[str]]:
    """Return which resources require each, by where it is nested and its name."""
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for each in resources:
        for name in each.requires:
            found.setdefault((each.within, name), []).append(each.name)
    return found


def resource_item(
    resource: ResourceView, stack: StackView, addresses: Addresses, required_by: Sequence[str]
) -> dict[str, Any]:
    """Return a resource as it is listed."""
    parent = {"parent_resource": resource.within[-1]} if resource.within else {}
    return {
        "resource_name": resource.name,
        "logical_resource_id": resource.name,
        "resource_type": resource.type,
        "resource_status": resource.state,
        "resource_status_reason": resource.reason,
        "physical_resource_id": resource.physical_id or "",
        "creation_time": time_of(resource.created_at),
        "updated_time": time_of(resource.updated_at),
        "required_by": sorted(required_by),
        "links": [
            link("self", addresses.resource(stack.name, stack.id, resource.name)),
            link("stack", addresses.stack(stack.name, stack.id)),
        ],
        **parent,
    }


def resource_shown(
    resource: ResourceView, stack: StackView, addresses: Addresses, required_by: Sequence[str]
) -> dict[str, Any]:
    """Return one resource, with its attributes."""
    return {
        **resource_item(resource, stack, addresses, required_by),
        "description": "",
        "attributes": dict(resource.attributes),
    }


def event_item(
    event: EventView, stack: StackView, addresses: Addresses, *, root: StackView | None = None
) -> dict[str, Any]:
    """Return an event as it is listed; one of the stack itself has the stack's name and id.

    With ``root``, the stack that is asked about, it links to that: so clients know that nested stacks are in the list.
    """
    name = event.resource or stack.name
    of_resource = addresses.resource(stack.name, stack.id, name)
    return {
        "id": str(event.id),
        "event_time": time_of(event.at),
        "links": [
            link("self", f"{of_resource}/events/{event.id}"),
            link("resource", of_resource),
            link("stack", addresses.stack(stack.name, stack.id)),
            *([] if root is None else [link("root_stack", addresses.stack(root.name, root.id))]),
        ],
        "resource_name": name,
        "logical_resource_id": name,
        "physical_resource_id": (event.physical_id or "") if event.resource else stack.id,
        "resource_status": event.state,
        "resource_status_reason": event.reason or _begun(event),
    }


def _begun(event: EventView) -> str:
    """Return the reason of the event with which an operation begins, by which clients find it."""
    is_begin = not event.resource and event.status == "IN_PROGRESS"
    return f"Stack {event.action} started" if is_begin else ""


def event_shown(event: EventView, stack: StackView, addresses: Addresses) -> dict[str, Any]:
    """Return one event."""
    kind = event.type or "OS::Heat::Stack"
    return {**event_item(event, stack, addresses), "resource_type": kind, "resource_properties": {}}


def snapshot_shown(snapshot: SnapshotView, *, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a snapshot."""
    return {
        "id": snapshot.id,
        "name": snapshot.name or None,
        "status": snapshot.status,
        "status_reason": snapshot.reason,
        "creation_time": time_of(snapshot.created_at),
        "action": snapshot.action,
        "data": data if data is not None else {},
    }


def preview_shown(preview: StackPreview, *, rollback: bool, timeout_minutes: float | None) -> dict[str, Any]:
    """Return the stack that a create would make."""
    return {
        "id": None,
        "links": [],
        "stack_name": preview.name,
        "description": preview.description,
        "template_description": preview.description,
        "parameters": {name: text_of(value) for name, value in preview.parameters.items()},
        "disable_rollback": not rollback,
        "timeout_mins": None if timeout_minutes is None else whole(timeout_minutes),
        "tags": list(preview.tags) or None,
        "capabilities": [],
        "notification_topics": [],
        "creation_time": None,
        "updated_time": None,
        "deletion_time": None,
        "parent": None,
        "stack_owner": None,
        "resources": [_previewed(each) for each in preview.resources],
    }


def _previewed(resource: ResourcePreview) -> Any:
    shown = {
        "resource_name": resource.name,
        "logical_resource_id": resource.name,
        "resource_type": resource.type,
        "resource_status": "INIT_COMPLETE",
        "resource_status_reason": "",
        "physical_resource_id": "",
        "required_by": [],
        "properties": dict(resource.properties),
        "attributes": {},
        "description": "",
        "metadata": {},
        "links": [],
    }
    # As in Heat, the resources of a nested stack are in a list in the place of it.
    return [_previewed(each) for each in resource.resources] if resource.resources else shown


def changes_shown(plan: UpdatePlan, present: Mapping[str, ResourceView]) -> dict[str, Any]:
    """Return what an update would do to resources, by kind."""
    return _by_kind(plan, present, _CHANGES)


def import_shown(plan: UpdatePlan, present: Mapping[str, ResourceView]) -> dict[str, Any]:
    """Return what an import would do to resources, by kind."""
    return _by_kind(plan, present, _IMPORTS)


def _by_kind(
    plan: UpdatePlan, present: Mapping[str, ResourceView], kinds: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    return {
        "resource_changes": {
            kind: [_change(each, present.get(each.name)) for each in plan.resources if each.action in actions]
            for kind, actions in kinds.items()
        }
    }


def _change(planned: ResourcePlan, present: ResourceView | None) -> dict[str, Any]:
    return {
        "resource_name": planned.name,
        "resource_type": planned.type,
        "resource_identity": None,
        "physical_resource_id": (present.physical_id if present else None) or "",
        "resource_status": present.state if present else "INIT_COMPLETE",
        "resource_status_reason": planned.reason,
        "resource_action": present.action if present else "INIT",
        "creation_time": time_of(present.created_at) if present else None,
        "updated_time": time_of(present.updated_at) if present else None,
        "description": "",
        "attributes": {},
        "metadata": {},
        "properties": {each.name: each.after for each in planned.changes},
        "required_by": [],
    }
