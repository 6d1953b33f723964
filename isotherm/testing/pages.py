"""What the pages about a package need: a description of everything that people may write or read."""

from collections.abc import Iterator, Mapping

from hooks.hook import Hook
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support


def undescribed(kind: type[Resource] | type[ClientPlugin] | type[Hook]) -> Iterator[str]:
    """Yield the paths of what has no description."""
    if not kind.description:
        yield "description"
    if issubclass(kind, Resource):
        yield from _properties(kind.properties_schema, "properties_schema")
        yield from _properties(kind.update_policy_schema, "update_policy_schema")
        for name, attribute in kind.attributes_schema.items():
            if not attribute.description:
                yield f"attributes_schema.{name}"
    elif issubclass(kind, ClientPlugin):
        yield from _properties(kind.options_schema, "options_schema")
    else:
        for name, option in kind.Options.model_fields.items():
            if not option.description:
                yield f"Options.{name}"


def _properties(schema: Mapping[str, Property], path: str) -> Iterator[str]:
    for name, prop in schema.items():
        yield from _property(prop, f"{path}.{name}")


def _property(prop: Property, path: str) -> Iterator[str]:
    if prop.support_status.status is Support.HIDDEN:
        return
    if not prop.description and not path.endswith(".*"):
        yield path
    if isinstance(prop.schema, Property):
        yield from _property(prop.schema, f"{path}.*")
    elif prop.schema is not None:
        yield from _properties(prop.schema, path)
