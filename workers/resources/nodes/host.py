"""Which machine a node resource is on. So far there is one: the machine of the worker that does the check."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.properties import Property, PropertyError, PropertyType

#: The property that every node type has.
NODE_PROPERTY = Property(
    type=PropertyType.STRING,
    default="",
    description="The machine; empty: the one the worker runs on. Other machines are not supported yet.",
)


def refuse_other_nodes(properties: Mapping[str, Any]) -> None:
    """Refuse a resource on a machine other than the worker's own.

    Raises:
        PropertyError: ``node`` names a machine.
    """
    node = properties.get("node")
    if isinstance(node, str) and node:
        raise PropertyError(
            ("node",),
            f"resources on other machines are not supported yet, found {node!r}",
            "leave node out: the resource is made on the machine of the worker",
            veiled="resources on other machines are not supported yet: leave node out",
        )
