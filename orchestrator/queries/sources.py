"""A template's text as it may be shown: without the values that it gives to hidden parameters."""

from collections.abc import Iterator
from typing import Any

import yaml

from orchestrator.template.hiding import HIDDEN
from orchestrator.template.scalars import looks_like_json, without_surrogates

_TRUE = ("true", "yes", "on", "1", "t", "y")


def shown_source(source: str, *, with_defaults: bool) -> str:
    """Return a template's text with asterisks for the defaults of hidden parameters.

    Args:
        source: The text, YAML or JSON.
        with_defaults: Whether the defaults of other parameters are shown; else asterisks stand for them, too.
    """
    try:
        # Nothing but places is taken from what is read here, so what stands for what YAML refuses may be anything.
        readable = without_surrogates(source) if looks_like_json(source) else source
        document = yaml.compose(readable, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        # What nobody can read, nobody can tell the values in.
        return HIDDEN
    shown, last = [], 0
    for start, end in sorted(set(_defaults(document, with_defaults=with_defaults))):
        if start < last:
            continue
        value = source[start:end]
        # A block of text ends where the next line begins.
        shown += [source[last:start], HIDDEN, value[len(value.rstrip()) :]]
        last = end
    return "".join((*shown, source[last:]))


def _defaults(document: yaml.Node | None, *, with_defaults: bool) -> Iterator[tuple[int, int]]:
    """Yield where the defaults are that are not shown."""
    for declared in _entries(_entries(document).get("parameters")).values():
        told = _entries(declared)
        hidden = told.get("hidden")
        is_hidden = isinstance(hidden, yaml.ScalarNode) and hidden.value.strip().lower() in _TRUE
        default = told.get("default")
        if default is not None and (is_hidden or not with_defaults):
            yield default.start_mark.index, default.end_mark.index


def _entries(node: Any) -> dict[str, yaml.Node]:
    """Return what a mapping holds; nothing of what is none."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
