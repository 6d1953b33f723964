"""Whether the properties of a resource are right: asked here, and nowhere else.

Twice of each resource: when its stack is examined, where much is not known yet and every fault is wanted; and just
before an action begins, where everything is known and the first fault ends it. Each time the schema comes first, with
its constraints, then the type's groups, which say what goes together, and then what the type itself says.
"""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.asking import AskedClients
from orchestrator.plugins.groups import group_errors
from orchestrator.plugins.properties import PropertyError, check_properties, convert_properties
from orchestrator.plugins.resource import Resource


def property_faults(
    kind: type[Resource], given: Mapping[str, Any], *, clients: AskedClients | None = None
) -> list[PropertyError]:
    """Return everything that is wrong with ``given``, as far as it is known; nothing if all of it may be right.

    What ``given`` has to say to what its type alone knows is asked only where nothing else is wrong. Without
    ``clients``, no other system is asked.

    Raises:
        PropertyNotVerified: another system was to be asked, and does not tell.
    """
    faults = check_properties(
        kind.properties_schema, given, accepts_anything=kind.accepts_anything, clients=clients
    )
    if faults := faults or group_errors(kind.properties_groups, given, clients):
        return faults
    try:
        properties = typed_properties(kind, given)
        kind.validate(properties)
        kind.validate_written(properties)
    except PropertyError as error:
        return [error]
    return []


def valid_properties(
    kind: type[Resource], given: Mapping[str, Any], *, clients: AskedClients | None = None
) -> dict[str, Any]:
    """Return ``given`` as a type sees its properties, once they are known to be right.

    Without ``clients``, no other system is asked.

    Raises:
        PropertyError: the first fault found.
        PropertyNotVerified: another system was to be asked, and does not tell.
    """
    properties = convert_properties(
        kind.properties_schema, given, accepts_anything=kind.accepts_anything, clients=clients
    )
    if errors := group_errors(kind.properties_groups, given, clients):
        raise errors[0]
    kind.validate(properties)
    return properties


def typed_properties(kind: type[Resource], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``given`` as a type sees its properties, whatever rules they break: nothing is required either.

    Raises:
        PropertyError: a value is none of its type.
    """
    return convert_properties(
        kind.properties_schema, given, accepts_anything=kind.accepts_anything, constraints=False
    )
