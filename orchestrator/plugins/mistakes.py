"""Mistakes in the schemas of plugins, found when the class is defined.

Each is a sentence that begins with a path: ``properties_schema.networks.*.port``, where a star is every item of a list.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from orchestrator.errors import PluginMistake
from orchestrator.plugins.constraints import AllowedValues, shown
from orchestrator.plugins.properties import EVERY_ATTRIBUTE, Attribute, Property, PropertyType

#: By type of property: the type of its ``schema``, and its name in messages.
_CHILDREN: Final[Mapping[PropertyType, tuple[type, str]]] = {
    PropertyType.MAP: (Mapping, "a map of properties by name"),
    PropertyType.LIST: (Property, "the property that every item is"),
}

#: By type of property: the classes of its converted values.
_CLASSES: Final[Mapping[PropertyType, tuple[type, ...]]] = {
    PropertyType.STRING: (str,),
    PropertyType.INTEGER: (int,),
    PropertyType.NUMBER: (int, float),
    PropertyType.BOOLEAN: (bool,),
    PropertyType.MAP: (Mapping,),
    PropertyType.LIST: (list, tuple),
}


def refuse_mistakes(owner: str, mistakes: Iterable[str]) -> None:
    """Raise an error for all mistakes in the schemas of the class ``owner``, if there are any.

    Raises:
        PluginMistake: there are; with all of them.
    """
    found = list(mistakes)
    if found:
        raise PluginMistake(f"{owner}: {'; '.join(found)}")


def property_mistakes(schema: Mapping[str, object], path: str) -> Iterator[str]:
    """Yield the mistakes in the properties of a schema, including nested ones."""
    for name, prop in schema.items():
        yield from _mistakes(prop, f"{path}.{name}")


def attribute_mistakes(schema: Mapping[str, object], path: str) -> Iterator[str]:
    """Yield the mistakes in the attributes of a schema."""
    for name, attribute in schema.items():
        if name in EVERY_ATTRIBUTE:
            yield f"{path}.{name}: the name is reserved: it stands for all attributes of a resource"
        if not isinstance(attribute, Attribute):
            yield f"{path}.{name}: expected an Attribute, found {type(attribute).__name__}"


def _mistakes(prop: object, path: str) -> Iterator[str]:
    if not isinstance(prop, Property):
        yield f"{path}: expected a Property, found {type(prop).__name__}"
        return
    if prop.update_allowed and prop.immutable:
        yield f"{path}: it cannot be both update_allowed and immutable"
    if prop.required and prop.default is not None:
        yield f"{path}: it cannot be both required and have a default"
    if prop.required and not prop.implemented:
        yield f"{path}: what is not implemented cannot be required"
    yield from _constraint_mistakes(prop, path)
    inner = list(_inner_mistakes(prop, path))
    yield from inner
    # With mistakes in the nested schema, faults of the default would be misleading.
    for fault in prop.default_faults() if not inner else ():
        yield f"{path}: the default is wrong: {fault if fault.path else fault.message}"


def _constraint_mistakes(prop: Property, path: str) -> Iterator[str]:
    kind = "number" if prop.type is PropertyType.INTEGER else prop.type
    for constraint in prop.constraints:
        if prop.type is not PropertyType.ANY and kind not in constraint.valid_for:
            yield f"{path}: the type {prop.type} cannot have the constraint {type(constraint).__name__}"
        elif isinstance(constraint, AllowedValues):
            yield from _allowed_mistakes(prop, constraint, path)


def _allowed_mistakes(prop: Property, constraint: AllowedValues, path: str) -> Iterator[str]:
    """Yield each allowed value that never matches: values are converted to their type before they are compared."""
    whole = prop.schema if prop.type is PropertyType.LIST else prop
    if not isinstance(whole, Property) or whole.type is PropertyType.ANY:
        return
    what = "an item" if whole is not prop else "a value"
    for value in constraint.values:
        if not _is_of(whole.type, value):
            yield f"{path}: the allowed value {shown(value)} never matches {what} of the type {whole.type}"


def _is_of(kind: PropertyType, value: object) -> bool:
    """Whether a converted value of a type may be equal to ``value``."""
    if isinstance(value, bool):
        # A number may be given as true or false, and stays that.
        return kind in (PropertyType.BOOLEAN, PropertyType.NUMBER)
    if kind is PropertyType.INTEGER and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _CLASSES[kind])


def _inner_mistakes(prop: Property, path: str) -> Iterator[str]:
    if prop.schema is None:
        return
    if prop.type not in _CHILDREN:
        yield f"{path}: the type {prop.type} cannot have a schema of its own"
        return
    kind, described = _CHILDREN[prop.type]
    if not isinstance(prop.schema, kind):
        yield f"{path}: the schema of a {prop.type} is {described}, found {type(prop.schema).__name__}"
    elif isinstance(prop.schema, Property):
        yield from _mistakes(prop.schema, f"{path}.*")
    else:
        yield from property_mistakes(prop.schema, path)
