"""The tables that show what lifecycle plugins say of a stack and its resources."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.cli.formats import Table


def annotation_tables(annotations: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Yield a table of what each plugin says, by plugin and then by resource; none if nobody says anything."""
    rows = [
        (plugin, resource or "(the stack)", name, value)
        for plugin, said in annotations.items()
        for resource, values in said.items()
        for name, value in values.items()
    ]
    if rows:
        yield Table(columns=("plugin", "resource", "name", "value"), rows=rows, title="annotations")
