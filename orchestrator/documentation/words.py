"""The sentences of the documentation, the same on a terminal, in Markdown and in HTML."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.errors import cut

#: Longer defaults are cut for people.
_LONGEST_VALUE: Final = 200

#: What is said of a property that does nothing.
NOT_IMPLEMENTED: Final = "Not implemented: giving a value is refused."


def when_changed(described: Mapping[str, Any]) -> str:
    """Return what a change of a property means, as a sentence."""
    if described["immutable"]:
        return "Cannot be changed."
    return "Changed in place." if described["update_allowed"] else "A change replaces the resource."


def sentence(rule: str) -> str:
    """Return the words of a constraint as a sentence."""
    return f"{rule[:1].upper()}{rule[1:].removesuffix('.')}."


def meaning(described: Mapping[str, Any], *, changes: bool) -> list[str]:
    """Return the sentences about a property, with ``changes`` also what a change of it means."""
    rules = [sentence(rule["description"]) for rule in described["constraints"]]
    said = [
        described["description"],
        support(described),
        "" if described["implemented"] else NOT_IMPLEMENTED,
        *rules,
        when_changed(described) if changes else "",
    ]
    return [part for part in said if part]


def support(described: Mapping[str, Any]) -> str:
    """Return how far something can be relied on, as a sentence; empty of what is supported."""
    said = described["support_status"]["description"]
    return sentence(said) if said else ""


def told(described: Mapping[str, Any]) -> list[str]:
    """Return the sentences about an attribute."""
    again = "Asked for anew at every visit of the resource." if described["cache_mode"] == "none" else ""
    return [part for part in (described["description"], again, support(described)) if part]


def default_of(described: Mapping[str, Any]) -> str:
    """Return the default of a property as JSON; empty if it has none, or an empty one."""
    default = described["default"]
    return "" if default in (None, "", [], {}) else value(default)


def value(plain: Any) -> str:
    """Return a value as JSON for people, cut where it is too long."""
    return cut(json.dumps(plain, ensure_ascii=False), _LONGEST_VALUE)


def flat(properties: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any], int]]:
    """Yield properties with all those inside them: path, description, depth."""
    yield from _flat(properties, prefix, 0)


def _flat(
    properties: Mapping[str, Any], prefix: str, depth: int
) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    for name, described in properties.items():
        path = f"{prefix}{name}"
        yield path, described, depth
        yield from _flat(described["schema"], f"{path}.", depth + 1)


def family(type_name: str) -> str:
    """Return what stands before the last part of a type's name, such as ``OS::Heat``."""
    return type_name.rpartition("::")[0] or "Others"


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines part."""
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a text; empty if it has none."""
    return next(iter(paragraphs(text)), "")
