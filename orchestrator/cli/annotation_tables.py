"""Tables of the annotations that lifecycle plugins gave a stack and its resources."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.cli.formats import Table


def annotation_tables(annotations: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Yield one table of all annotations, by plugin and then by resource; none if there are no annotations."""
    rows = [
        (plugin, resource or "(the stack)", name, value)
        for plugin, by_resource in annotations.items()
        for resource, values in by_resource.items()
        for name, value in values.items()
    ]
    if rows:
        yield Table(columns=("plugin", "resource", "name", "value"), rows=rows, title="annotations")
