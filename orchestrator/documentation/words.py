"""Sentences of the documentation, the same on a terminal, in Markdown and in HTML."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.errors import cut

#: Longer defaults are cut.
_LONGEST_VALUE: Final = 200

#: The sentence about a property without an effect.
NOT_IMPLEMENTED: Final = "Not implemented: giving a value is refused."


def when_changed(described: Mapping[str, object]) -> str:
    """Return a sentence about the effect of changing a property."""
    if described["immutable"]:
        return "Cannot be changed."
    return "Changed in place." if described["update_allowed"] else "A change replaces the resource."


def sentence(rule: str) -> str:
    """Return the words of a constraint as a sentence."""
    return f"{rule[:1].upper()}{rule[1:].removesuffix('.')}."


def meaning(described: Mapping[str, Any], *, changes: bool) -> list[str]:
    """Return the sentences about a property, with ``changes`` including the effect of changing it."""
    rules = [sentence(rule["description"]) for rule in described["constraints"]]
    sentences = [
        described["description"],
        support(described),
        "" if described["implemented"] else NOT_IMPLEMENTED,
        *rules,
        when_changed(described) if changes else "",
    ]
    return [each for each in sentences if each]


def support(described: Mapping[str, Any]) -> str:
    """Return the support status as a sentence; empty if it is supported."""
    status = described["support_status"]["description"]
    return sentence(status) if status else ""


def attribute_sentences(described: Mapping[str, Any]) -> list[str]:
    """Return the sentences about an attribute."""
    again = "Read again at every visit of the resource." if described["cache_mode"] == "none" else ""
    return [each for each in (described["description"], again, support(described)) if each]


def default_of(described: Mapping[str, object]) -> str:
    """Return the default of a property as JSON; empty if there is none, or an empty one."""
    default = described["default"]
    return "" if default in (None, "", [], {}) else value(default)


def value(plain: object) -> str:
    """Return a value as JSON, cut where it is too long."""
    return cut(json.dumps(plain, ensure_ascii=False), _LONGEST_VALUE)


def flat(
    properties: Mapping[str, Any], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    """Yield properties with all nested ones: path, description, depth."""
    for name, described in properties.items():
        path = f"{prefix}{name}"
        yield path, described, depth
        yield from flat(described["schema"], f"{path}.", depth + 1)


def family(type_name: str) -> str:
    """Return a type's name without its last part, such as ``OS::Heat``."""
    return type_name.rpartition("::")[0] or "Others"


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines separate."""
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a text; empty if it has none."""
    return next(iter(paragraphs(text)), "")
