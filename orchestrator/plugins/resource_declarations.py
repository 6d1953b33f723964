"""The check of what a resource type declares, when its class is defined."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hooks.loading.overrides import override_mistakes
from orchestrator.errors import PluginMistake, typed_message
from orchestrator.plugins.group_declarations import properties_groups
from orchestrator.plugins.groups import PropertiesGroup
from orchestrator.plugins.mistakes import attribute_mistakes, property_mistakes, refuse_mistakes
from orchestrator.plugins.properties import convert_properties
from orchestrator.plugins.translation import rule_mistakes

if TYPE_CHECKING:
    from orchestrator.plugins.resource import Resource


def checked_groups(kind: "type[Resource]", base: "type[Resource]") -> tuple[PropertiesGroup, ...]:
    """Check the overrides, the schemas and the translation rules of a type; return its parsed properties groups.

    Raises:
        PluginMistake: they have mistakes; with all of them.
    """
    owner = f"{kind.__module__}:{kind.__qualname__}"
    refuse_mistakes(
        owner,
        [
            *override_mistakes(kind, base),
            *property_mistakes(kind.properties_schema, "properties_schema"),
            *property_mistakes(kind.update_policy_schema, "update_policy_schema"),
            *attribute_mistakes(kind.attributes_schema, "attributes_schema"),
        ],
    )
    refuse_mistakes(owner, list(_translation_mistakes(kind)))
    try:
        return properties_groups(
            kind.properties_groups_schema, kind.properties_schema, accepts_anything=kind.accepts_anything
        )
    except PluginMistake as error:
        refuse_mistakes(owner, [str(error)])
        raise


def _translation_mistakes(kind: "type[Resource]") -> Iterator[str]:
    try:
        nothing = convert_properties(kind.properties_schema, {}, constraints=False)
        yield from rule_mistakes(kind.properties_schema, kind.translation_rules(nothing))
    except Exception as error:  # noqa: BLE001 (the boundary to plugins)
        yield f"translation_rules fails where no property is given: {typed_message(error)}"
