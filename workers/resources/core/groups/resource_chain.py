"""``OS::Heat::ResourceChain``: resources of several types with the same properties, made one after the other."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.stack_resource import Blueprint, Child
from workers.resources.core.groups.member_stack import REFERENCES, MemberStack
from workers.resources.core.groups.roster import template_of
from workers.resources.schemas import boolean, listing, mapping, text


class ResourceChain(MemberStack):
    """Members called 0, 1, 2 and so on, in the order of their types."""

    description = "Makes a resource of each of several types, one after the other, with the same properties."
    example = """\
heat_template_version: 2021-04-16
resources:
  steps:
    type: OS::Heat::ResourceChain
    properties:
      resources: [OS::Heat::Delay, OS::Heat::Delay]
      resource_properties:
        min_wait: 2
"""
    properties_schema = {
        "resources": listing(
            "The types, in the order in which resources of them are made.",
            required=True,
            update_allowed=True,
            schema=text(),
        ),
        "concurrent": boolean(
            "Make them at the same time; else each depends on the one before it.",
            default=False,
            update_allowed=True,
        ),
        "resource_properties": mapping("The properties of each of them.", update_allowed=True),
    }
    attributes_schema = {
        **REFERENCES,
        "attributes": Attribute(
            "With the path of an attribute of the members: its values, by the members' names.",
            PropertyType.MAP,
        ),
    }
    maps = frozenset({"attributes"})

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, Any]) -> Blueprint | None:
        """Return the whole chain, if its types are known."""
        types, shared = properties["resources"], properties["resource_properties"]
        if not types or is_unknown(types) or shared is UNKNOWN:
            return None
        return Blueprint(child=Child(template=_template(properties), file=_file(name)), place=("resources",))

    @classmethod
    def names_wanted(cls, properties: Mapping[str, Any], data: Mapping[str, Any]) -> Collection[str]:  # noqa: ARG003 (the contract's signature)
        """Return the numbers of its types; none if they are not known yet."""
        types = properties.get("resources")
        return [str(index) for index in range(len(types))] if isinstance(types, list) else ()

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that every type has a name.

        Raises:
            PropertyError: a type is empty.
        """
        types = properties["resources"]
        for index, type_name in enumerate(types if isinstance(types, list) else ()):
            if type_name == "":
                raise PropertyError(("resources", index), "expected the name of a type, found an empty text")

    def child(self) -> Child:
        """Return the chain."""
        return Child(template=_template(self.properties), file=_file(self.name), asks=self.asks())

    def names(self) -> Sequence[str]:
        """Return the names of the members, in the order of their types."""
        return [str(index) for index in range(len(self.properties["resources"]))]


def _template(properties: Mapping[str, Any]) -> dict[str, Any]:
    shared = properties["resource_properties"] or {}
    resources: dict[str, Any] = {}
    for index, type_name in enumerate(properties["resources"]):
        definition = {"type": type_name, "properties": shared}
        if index and not properties["concurrent"]:
            definition["depends_on"] = str(index - 1)
        resources[str(index)] = {key: value for key, value in definition.items() if value}
    return template_of(resources)


def _file(name: str) -> str:
    return f"{name} (its members)"
