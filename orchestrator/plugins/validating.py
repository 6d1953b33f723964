"""Validation of a resource's properties.

It runs twice: when the stack is validated, where some values are not known yet and all faults are collected; and before
an action begins, where all values are known and the first fault ends it. Each time the order is: the schema with its
constraints and the type's translation rules, then the type's properties groups, then its ``validate``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import PluginMistake, typed_message
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.examination_clients import ExaminationClients
from orchestrator.plugins.groups import group_errors
from orchestrator.plugins.properties import (
    MissingProperty,
    Property,
    PropertyError,
    PropertyNotVerified,
    PropertyPath,
    Walk,
    convert_map,
)
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.translating import Translated, translate


def property_faults(
    kind: type[Resource], given: Mapping[str, object], *, clients: NamedClients | None = None
) -> list[PropertyError]:
    """Return all faults of ``given``, as far as its values are known.

    The type's own ``validate`` is called only if there is no other fault. Without ``clients``, no other system is
    queried.

    Raises:
        PropertyNotVerified: another system could not be queried.
    """
    clients = ExaminationClients.of(clients)
    faults: list[PropertyError] = []
    made = _made(kind, given, Walk(faults.append, constraints=True, clients=clients))
    faults = list(_standing(faults, made))
    if faults:
        return faults
    if errors := group_errors(kind.properties_groups, made.given, clients):
        return [_as_written(error, made) for error in errors]
    try:
        kind.validate(made.properties)
        kind.validate_written(made.properties)
    except PropertyError as error:
        return [_as_written(error, made)]
    return [] if clients is None else _unsupported(kind, made, clients)


def _unsupported(kind: type[Resource], made: Translated, clients: NamedClients) -> list[PropertyError]:
    """Return an error for each given property that another system does not support.

    Raises:
        PropertyNotVerified: the system could not be queried.
    """
    try:
        return [_as_written(error, made) for error in kind.unsupported(made.given, clients)]
    except PluginMistake:
        raise
    except Exception as error:
        message = f"it is not known what the other system supports: {typed_message(error)}"
        raise PropertyNotVerified(PropertyError((), message)) from error


def schema_faults(kind: type[Resource], given: Mapping[str, object]) -> list[PropertyError]:
    """Return the faults of ``given`` by the schema and the translation rules alone, without querying other systems."""
    faults: list[PropertyError] = []
    made = _made(kind, given, Walk(faults.append, constraints=True))
    return list(_standing(faults, made))


def valid_properties(
    kind: type[Resource], given: Mapping[str, object], *, clients: NamedClients | None = None
) -> dict[str, object]:
    """Return ``given`` validated, converted and translated, as the type receives its properties.

    Without ``clients``, no other system is queried.

    Raises:
        PropertyError: the first fault found.
        PropertyNotVerified: another system could not be queried.
    """
    clients = ExaminationClients.of(clients)
    made = _sound(kind, given, constraints=True, clients=clients)
    if errors := group_errors(kind.properties_groups, made.given, clients):
        raise _as_written(errors[0], made)
    try:
        kind.validate(made.properties)
    except PropertyError as error:
        raise _as_written(error, made) from error
    return made.properties


def typed_properties(
    kind: type[Resource], given: Mapping[str, object], *, clients: NamedClients | None = None
) -> dict[str, Any]:
    """Return ``given`` converted and translated without checking constraints and required properties.

    With ``clients``, translation rules replace names by ids; a name that no longer exists is kept.

    Raises:
        PropertyError: a value cannot be converted to its type.
        PropertyNotVerified: a name could not be looked up.
    """
    return _sound(kind, given, constraints=False, clients=ExaminationClients.of(clients)).properties


def outdated_properties(kind: type[Resource], given: Mapping[str, object]) -> list[PropertyError]:
    """Return an error for each given property that is deprecated, to be shown as a warning."""
    return list(_outdated(kind.properties_schema, given, ()))


def _sound(
    kind: type[Resource], given: Mapping[str, object], *, constraints: bool, clients: NamedClients | None
) -> Translated:
    faults: list[PropertyError] = []
    try:
        made = _made(kind, given, Walk(faults.append, constraints=constraints, clients=clients))
    except PropertyNotVerified:
        # A certain fault needs no retry.
        certain = [fault for fault in faults if not isinstance(fault, MissingProperty)]
        if certain:
            raise certain[0] from None
        raise
    for fault in _standing(faults, made):
        raise fault
    return made


def _made(kind: type[Resource], given: Mapping[str, object], walk: Walk) -> Translated:
    properties = convert_map(kind.properties_schema, given, (), walk, kind.accepts_anything)
    rules = kind.translation_rules(properties)
    if not rules:
        return Translated(properties=properties, given=given)
    return translate(rules, kind.properties_schema, properties, given, walk)


def _as_written(error: PropertyError, made: Translated) -> PropertyError:
    """Return an error about a translated property with the path of the property as written, perhaps an old name."""
    place = made.written_at(error.path)
    if place == error.path:
        return error
    return PropertyError(place, error.message, error.hint, veiled=error.veiled)


def _standing(faults: Sequence[PropertyError], made: Translated) -> Iterator[PropertyError]:
    """Yield the faults that remain after translation, each once: a property given by an old name is not missing."""
    seen = set()
    for fault in faults:
        if isinstance(fault, MissingProperty) and _value_at(made.properties, fault.path) is not None:
            continue
        names = tuple(step for step in fault.path if isinstance(step, str))
        if any(names[: len(path)] == path for path in made.deleted):
            continue
        if (fault.path, fault.message) not in seen:
            seen.add((fault.path, fault.message))
            yield fault


def _value_at(value: object, path: PropertyPath) -> object:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            return None
    return value


def _outdated(schema: Mapping[str, Property], given: object, path: PropertyPath) -> Iterator[PropertyError]:
    if not isinstance(given, Mapping):
        return
    for name, prop in schema.items():
        value = given.get(name)
        if value is None:
            continue
        status = prop.support_status
        if status.is_outdated:
            yield PropertyError((*path, name), f"the property {name!r} is {status.describe()}")
        if isinstance(prop.schema, Mapping):
            yield from _outdated(prop.schema, value, (*path, name))
        elif isinstance(prop.schema, Property) and isinstance(prop.schema.schema, Mapping):
            for index, item in enumerate(value if isinstance(value, (list, tuple)) else ()):
                yield from _outdated(prop.schema.schema, item, (*path, name, index))
