"""Description of a resource type in plain types, for ``resource-type show`` and its page."""

from typing import Any

from orchestrator.documentation.group import describe_groups
from orchestrator.documentation.origin import UNKNOWN_ORIGIN, Origin
from orchestrator.documentation.schema import describe_attributes, describe_properties, describe_support, text
from orchestrator.documentation.translation import describe_translations
from orchestrator.errors import PluginMistake
from orchestrator.plugins.resource import Resource


def describe_type(
    name: str, kind: type[Resource], *, origin: Origin = UNKNOWN_ORIGIN, example: str | None = None
) -> dict[str, Any]:
    """Return the description of a resource type.

    ``example`` is the text of a template that uses the type.

    Raises:
        PluginMistake: a declaration of the class is invalid; the message names the type.
    """
    try:
        return {
            "name": name,
            "description": text(kind.description),
            "support_status": describe_support(kind.support_status),
            "origin": dict(origin),
            "accepts_anything": kind.accepts_anything,
            "properties": describe_properties(kind.properties_schema),
            "properties_groups": describe_groups(kind),
            "translations": describe_translations(kind),
            "attributes": describe_attributes(kind.attributes_schema),
            "update_policy": describe_properties(kind.update_policy_schema),
            "example": example,
        }
    except Exception as error:
        whose = f" of {origin['package']}" if origin["package"] else ""
        message = f"resource type {name!r}{whose} cannot be described: {error or type(error).__name__}"
        raise PluginMistake(message) from error
