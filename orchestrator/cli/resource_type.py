"""``isotherm resource-type``: what a template can ask for."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.formats import Table, fields_table, show, text_of
from orchestrator.cli.options import example, format_option

if TYPE_CHECKING:
    from orchestrator.plugins.properties import Property
    from orchestrator.plugins.resource import Resource


@click.group("resource-type")
def resource_type() -> None:
    """Show what templates can ask for."""


@resource_type.command("list", epilog=example("isotherm resource-type list"))
@format_option()
def list_types(form: str) -> None:
    """List the installed types."""
    # Loads every plugin there is, which the commands about stacks leave to the service.
    from orchestrator.plugins.registry import ResourceTypes

    types = [{"name": name, "description": found.description} for name, found in ResourceTypes.load().items()]
    table = Table(columns=("name", "description"), rows=[list(entry.values()) for entry in types])
    show(form, types, table)


@resource_type.command("show", epilog=example("isotherm resource-type show OS::Heat::RandomString"))
@click.argument("name")
@format_option()
def show_type(name: str, form: str) -> None:
    """Show what a type takes and tells.

    Its properties, its attributes, and what an update policy may say.
    """
    from orchestrator.plugins.registry import ResourceTypes

    found = ResourceTypes.load().find(name)
    show(form, describe_type(name, found), *_tables(name, found))


def describe_type(name: str, found: "type[Resource]") -> dict[str, Any]:
    """Return a resource type's schemas in plain types."""
    return {
        "name": name,
        "description": found.description,
        "accepts_anything": found.accepts_anything,
        "properties": {key: describe_property(schema) for key, schema in found.properties_schema.items()},
        "attributes": {
            key: {"type": str(schema.type) if schema.type else None, "description": schema.description}
            for key, schema in found.attributes_schema.items()
        },
        "update_policy": {
            key: describe_property(schema) for key, schema in found.update_policy_schema.items()
        },
    }


def describe_property(schema: "Property") -> dict[str, Any]:
    """Return the schema of a property in plain types, with the schemas inside it."""
    described: dict[str, Any] = {
        "type": str(schema.type),
        "description": schema.description,
        "required": schema.required,
        "default": schema.default,
        "update_allowed": schema.update_allowed,
        "immutable": schema.immutable,
        "constraints": [constraint.describe() for constraint in schema.constraints],
    }
    if isinstance(schema.schema, Mapping):
        described["schema"] = {key: describe_property(child) for key, child in schema.schema.items()}
    elif schema.schema is not None:
        described["schema"] = describe_property(schema.schema)
    return described


def _tables(name: str, found: "type[Resource]") -> Iterator[Table]:
    fields = {"name": name, "description": found.description}
    if found.accepts_anything:
        fields["properties"] = fields["attributes"] = "any name, any value"
    yield fields_table(fields)
    properties = [
        (path, str(schema.type), "required" if schema.required else "optional", _about(schema, path))
        for path, schema in _flat(found.properties_schema, "")
    ]
    if properties:
        yield Table(columns=("name", "type", "given", "about"), rows=properties, title="properties")
    attributes = [(key, schema.type, schema.description) for key, schema in found.attributes_schema.items()]
    if attributes:
        yield Table(columns=("name", "type", "description"), rows=attributes, title="attributes")
    policy = [
        (path, str(schema.type), _about(schema, path, is_policy=True))
        for path, schema in _flat(found.update_policy_schema, "")
    ]
    if policy:
        yield Table(columns=("name", "type", "about"), rows=policy, title="update policy")


def _flat(schemas: "Mapping[str, Property]", prefix: str) -> "Iterator[tuple[str, Property]]":
    for key, schema in schemas.items():
        yield prefix + key, schema
        children = schema.schema
        if isinstance(children, Mapping):
            yield from _flat(children, f"{prefix}{key}.")
        elif children is not None:
            # An item has no name of its own; a star stands for its place in the list.
            yield from _flat({"*": children}, f"{prefix}{key}.")


def _about(schema: "Property", path: str, *, is_policy: bool = False) -> str:
    notes = [constraint.describe() for constraint in schema.constraints]
    if schema.default not in (None, "", {}, []):
        notes.append(f"default {text_of(schema.default)}")
    # What a change means is decided by the outermost property.
    if "." not in path and not is_policy:
        notes.append(_when_changed(schema))
    return " ".join([schema.description, f"({'; '.join(notes)})" if notes else ""]).strip()


def _when_changed(schema: "Property") -> str:
    if schema.immutable:
        return "a change is refused"
    return "changed in place" if schema.update_allowed else "a change replaces the resource"
