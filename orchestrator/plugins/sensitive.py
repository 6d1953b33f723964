"""The values of properties that their schema declares as sensitive."""

from collections.abc import Iterator, Mapping

from orchestrator.plugins.properties import Property, PropertyPath


def sensitive_values(schema: Mapping[str, Property], given: Mapping[str, object]) -> Iterator[object]:
    """Yield the values, or parts of values, that are declared as sensitive."""
    for name, value in given.items():
        if name in schema:
            yield from _parts(schema[name], value)


def is_sensitive(schema: Mapping[str, Property], path: PropertyPath) -> bool:
    """Return whether the value at a path is declared as sensitive, or holds or belongs to one that is."""
    prop: object = schema
    for step in path:
        if isinstance(prop, Mapping):
            prop = prop.get(str(step))
        elif isinstance(prop, Property):
            prop = prop.schema.get(str(step)) if isinstance(prop.schema, Mapping) else prop.schema
        if isinstance(prop, Property) and prop.sensitive:
            return True
    return _holds_sensitive(prop)


def _holds_sensitive(prop: object) -> bool:
    if isinstance(prop, Property):
        return prop.sensitive or _holds_sensitive(prop.schema)
    return isinstance(prop, Mapping) and any(map(_holds_sensitive, prop.values()))


def _parts(prop: Property, value: object) -> Iterator[object]:
    if prop.sensitive:
        yield value
    elif isinstance(prop.schema, Property) and isinstance(value, (list, tuple)):
        for item in value:
            yield from _parts(prop.schema, item)
    elif isinstance(prop.schema, Mapping) and isinstance(value, Mapping):
        yield from sensitive_values(prop.schema, value)
