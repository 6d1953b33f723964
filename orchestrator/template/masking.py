"""A template's text for faces, without the default values of hidden parameters."""

from collections.abc import Iterator

import yaml

from orchestrator.template.hiding import HIDDEN
from orchestrator.template.scalars import looks_like_json, without_surrogates

#: The section of parameters, and the keys of hidden ones and of defaults, in HOT and in CFN.
_WORDS = (("parameters", "hidden", "default"), ("Parameters", "NoEcho", "Default"))
_TRUE = ("true", "yes", "on", "1", "t", "y")


def shown_source(source: str, *, with_defaults: bool) -> str:
    """Return a template's text with asterisks for the defaults of hidden parameters.

    Unless ``with_defaults``, those of other parameters are asterisks too.
    """
    try:
        # Only positions are used from the parsed text, so characters that YAML refuses may be replaced by any others.
        readable = without_surrogates(source) if looks_like_json(source) else source
        document = yaml.compose(readable, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        # Without parsing, the hidden values cannot be found.
        return HIDDEN
    shown, last = [], 0
    for start, end in sorted(set(_defaults(document, with_defaults=with_defaults))):
        if start < last:
            continue
        value = source[start:end]
        # The value of a block scalar includes the line break after it.
        shown += [source[last:start], HIDDEN, value[len(value.rstrip()) :]]
        last = end
    return "".join((*shown, source[last:]))


def _defaults(document: yaml.Node | None, *, with_defaults: bool) -> Iterator[tuple[int, int]]:
    for section, hidden_key, default_key in _WORDS:
        for declared in _entries(_entries(document).get(section)).values():
            parameter = _entries(declared)
            hidden = parameter.get(hidden_key)
            is_hidden = isinstance(hidden, yaml.ScalarNode) and hidden.value.strip().lower() in _TRUE
            default = parameter.get(default_key)
            if default is not None and (is_hidden or not with_defaults):
                yield default.start_mark.index, default.end_mark.index


def _entries(node: yaml.Node | None) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
