"""Descriptions of properties groups in plain types, and the smallest combinations that satisfy them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.documentation.schema import plain, text
from orchestrator.plugins.group_tables import columns, rows
from orchestrator.plugins.groups import ANY_ITEM, GivenPath, PropertiesGroup, group_errors, in_words
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import Resource

#: The most paths whose combinations are tried.
_MOST_PATHS: Final = 10


def describe_groups(kind: type[Resource]) -> list[dict[str, object]]:
    """Return descriptions of a type's properties groups: as declared, in words, and as a table."""
    return [
        {
            "declared": plain(declared),
            "description": text(in_words(group, _named)),
            "columns": [text(column) for column in columns(group)],
            "rows": [[text(cell) for cell in row] for row in rows(group)],
        }
        for declared, group in zip(kind.properties_groups_schema, kind.properties_groups, strict=True)
    ]


def _named(path: GivenPath) -> str:
    return f"`{path}`"


def least_given(kind: type[Resource]) -> Iterator[tuple[GivenPath, ...]]:
    """Yield the combinations of properties, besides required ones, that satisfy a type's groups; smallest first."""
    paths = paths_in_groups(kind.properties_groups)
    required = {name: UNKNOWN for name, schema in kind.properties_schema.items() if schema.required}
    for count in range(len(paths) + 1) if len(paths) <= _MOST_PATHS else (0,):
        for chosen in combinations(paths, count):
            given: dict[str, Any] = dict(required)
            for path in chosen:
                put(given, path.steps, UNKNOWN)
            if not group_errors(kind.properties_groups, given):
                yield chosen


def paths_in_groups(groups: Sequence[PropertiesGroup]) -> list[GivenPath]:
    """Return the paths in groups, each once."""
    return list(dict.fromkeys(path for group in groups for path in group.paths))


def put(given: dict[str, object], steps: Sequence[str], value: object) -> None:
    """Set the value at a path, and create missing maps and lists; existing and unknown values are kept."""
    here: Any = given
    for step, following in zip(steps, (*steps[1:], None), strict=True):
        inner: Any = value if following is None else [] if following == ANY_ITEM else {}
        if isinstance(here, list):
            if not here:
                here.append(inner)
            here = here[0]
        elif isinstance(here, dict):
            here = here.setdefault(step, inner)


def schema_at(schemas: Mapping[str, Property], steps: Sequence[str]) -> Property | None:
    """Return the schema of the property at a path; None if it has none."""
    found: Property | None = None
    inside: Any = schemas
    for step in steps:
        found = inside if isinstance(inside, Property) else (inside or {}).get(step)
        inside = found.schema if found is not None else None
    return found
