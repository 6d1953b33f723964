"""The placement of node resources: the properties, and the requirements that follow from them."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Property, PropertyError
from workers.resources.schemas import listing, mapping, text

#: The properties that every node type has.
PLACING_PROPERTIES: Final[Mapping[str, Property]] = {
    "node": text(
        "The node it is on; empty: placement decides (in embedded mode, it is this machine). "
        "Another node needs another resource.",
        default="",
        update_allowed=True,
        constraints=(Custom("node"),),
    ),
    "node_labels": mapping(
        "Labels that the node must have, such as `{rack: r1}`; they count when a node is chosen.",
        default={},
        update_allowed=True,
    ),
    "groups": listing(
        "The placement groups it belongs to (references to `Isotherm::Placement::Group`); they count when "
        "a node is chosen.",
        default=[],
        update_allowed=True,
        schema=text(),
    ),
}


def parse_labels(labels: object) -> dict[str, str]:
    """Return labels as text; unknown values are left out.

    Raises:
        PropertyError: a value is neither text nor number.
    """
    if not isinstance(labels, Mapping):
        return {}
    known: dict[str, str] = {}
    for name, value in labels.items():
        if value is UNKNOWN:
            continue
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            found = type(value).__name__
            raise PropertyError(
                ("node_labels", name), f"expected a text or a number, found {found}", "use quotes"
            )
        known[str(name)] = str(value)
    return known


def node_requirements(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the common requirements of every node type, as fields of ``MachineRequirements``.

    Values are not converted yet; one that is no text is no name of a node, and is refused elsewhere.
    """
    node, groups = properties.get("node"), properties.get("groups")
    try:
        labels = parse_labels(properties.get("node_labels"))
    except PropertyError:
        labels = {}
    return {
        "node": node if isinstance(node, str) else "",
        "labels": labels,
        "groups": tuple(each for each in groups if isinstance(each, str))
        if isinstance(groups, (list, tuple))
        else (),
    }


def number_or_zero(value: object) -> int:
    """Return a size in a template; 0 where it is unknown yet, or no number."""
    try:
        return max(0, int(value)) if isinstance(value, (str, int, float)) else 0
    except ValueError:
        return 0
