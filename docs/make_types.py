"""Write ``docs/types.md`` from the schemas of the types that ship: ``python docs/make_types.py``."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.cli.resource_type import describe_type
from orchestrator.plugins.registry import ResourceTypes

PAGE = Path(__file__).with_name("types.md")
#: What ships is what this file declares; other packages may have installed more.
PROJECT = Path(__file__).parents[1] / "pyproject.toml"

INTRODUCTION = """\
# Resource types

<!-- Written by docs/make_types.py from the schemas of the types: change them there. -->

The types that come with Isotherm. `isotherm resource-type list` shows what is installed, types of other packages
included, and `isotherm resource-type show NAME` what this page shows of one.

Below a property of the type map or list, its children follow: `ready.timeout` is inside `ready`, and `list.*` stands
for every item of `list`. What a change of a property means in an update stands behind its meaning, for a property and
all its children at once: `isotherm stack update --dry-run` tells it of one stack.
"""


def page() -> str:
    """Return the page's text."""
    declared = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["isotherm.resources"]
    installed = ResourceTypes.load()
    types = {name: describe_type(name, installed.find(name)) for name in sorted(declared)}
    contents = "".join(f"- [{name}](#{_anchor(name)})\n" for name in types)
    return "\n".join([INTRODUCTION, contents, *(_section(described) for described in types.values())])


def _anchor(heading: str) -> str:
    return heading.lower().replace(":", "")


def _section(described: Mapping[str, Any]) -> str:
    parts = [f"## {described['name']}\n", f"{described['description']}\n"]
    if described["accepts_anything"]:
        parts.append("Any property, any attribute.\n")
    properties = list(_rows(described["properties"], ""))
    if properties:
        parts.append(_table(("Property", "Type", "Default", "Meaning"), properties))
    attributes = [
        [f"`{name}`", attribute["type"] or "any", attribute["description"]]
        for name, attribute in described["attributes"].items()
    ]
    if attributes:
        parts.append(_table(("Attribute", "Type", "Meaning"), attributes))
    policy = list(_rows(described["update_policy"], "", is_policy=True))
    if policy:
        parts.append(_table(("Update policy", "Type", "Default", "Meaning"), policy))
    return "\n".join(parts)


def _rows(properties: Mapping[str, Any], prefix: str, *, is_policy: bool = False) -> Iterator[list[str]]:
    for name, schema in properties.items():
        path = f"{prefix}{name}"
        rules = "".join(f" {_sentence(rule)}" for rule in schema["constraints"])
        # What a change means is decided by the outermost property.
        change = "" if prefix or is_policy else f" {_when_changed(schema)}"
        yield [
            f"`{path}`",
            schema["type"],
            _default(schema),
            f"{schema['description']}{rules}{change}".strip(),
        ]
        children = schema.get("schema")
        if schema["type"] == "map" and children:
            yield from _rows(children, f"{path}.")
        elif children:
            yield from _rows({"*": children}, f"{path}.")


def _default(schema: Mapping[str, Any]) -> str:
    if schema["required"]:
        return "required"
    if schema["default"] is None:
        return ""
    return f"`{json.dumps(schema['default'])}`"


def _when_changed(schema: Mapping[str, Any]) -> str:
    if schema["immutable"]:
        return "Cannot be changed."
    return "Changed in place." if schema["update_allowed"] else "A change replaces the resource."


def _sentence(rule: str) -> str:
    return f"{rule[:1].upper()}{rule[1:].removesuffix('.')}."


def _table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page())
