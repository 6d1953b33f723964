"""Events for tests."""

from typing import Any

from hooks.events import Event


def event(number: int, **fields: Any) -> Event:
    """Return an event with this id: of a resource, unless ``resource`` is said to be empty."""
    told = {
        "at": 1_700_000_000.5 + number,
        "stack_id": "stack-1",
        "stack_name": "shop",
        "project": "default",
        "operation_id": "operation-1",
        "resource": "disk",
        "resource_id": "resource-1",
        "type": "OS::Heat::Value",
        "action": "CREATE",
        "status": "COMPLETE",
        "reason": "",
        "physical_id": None,
    }
    return Event(id=number, **{**told, **fields})


def stack_event(number: int, **fields: Any) -> Event:
    """Return an event of the stack itself."""
    return event(number, **{"resource": "", "resource_id": "", "type": "stack", **fields})
