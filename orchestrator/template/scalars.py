"""Values of plain (unquoted) scalars in YAML 1.1 and JSON: null, true or false, a number, or text.

Dates stay text, and numbers must be finite and fit 64 bits: all values can be packed by msgpack and written as JSON.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

import yaml
from yaml.constructor import SafeConstructor

_PREFIX: Final = "tag:yaml.org,2002:"
STR, MERGE = _PREFIX + "str", _PREFIX + "merge"
_TIMESTAMP = _PREFIX + "timestamp"

_constructor = SafeConstructor()
_CONSTRUCT: Final[dict[str, Callable[[yaml.ScalarNode], Any]]] = {
    _PREFIX + "null": _constructor.construct_yaml_null,
    _PREFIX + "bool": _constructor.construct_yaml_bool,
    _PREFIX + "int": _constructor.construct_yaml_int,
    _PREFIX + "float": _constructor.construct_yaml_float,
}
_RESOLVERS: Final = yaml.SafeLoader.yaml_implicit_resolvers

_INT_RANGE = range(-(2**63), 2**64)


#: The longest number, in characters: converting thousands of sexagesimal digits takes minutes.
_LONGEST_NUMBER = 100

_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


class BadScalar(ValueError):
    """A scalar has no valid value; the message has the reason."""


def plain_value(text: str) -> object:
    """Return the value of a plain scalar in YAML.

    Raises:
        BadScalar: it is a number that is not finite or does not fit.
    """
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return tagged_value(tag, text)
    return text


def tagged_value(tag: str, text: str) -> object:
    """Return the value of a scalar with ``tag``, such as ``tag:yaml.org,2002:int``.

    Raises:
        BadScalar: the tag is not supported, or the text is no value of its type.
    """
    if tag in (STR, MERGE, _TIMESTAMP, _PREFIX + "value"):
        return text
    construct = _CONSTRUCT.get(tag)
    if construct is None:
        raise BadScalar(f"the tag {short_tag(tag)} is not supported")
    if len(text) > _LONGEST_NUMBER:
        raise BadScalar(f"a number cannot have more than {_LONGEST_NUMBER} characters")
    try:
        value = construct(yaml.ScalarNode(tag, text))
    except (ValueError, LookupError, OverflowError) as error:
        raise BadScalar(f"{text[:40]!r} is not a value of the tag {short_tag(tag)}") from error
    return _storable(value)


def json_value(text: str) -> object:
    """Return the value of an unquoted scalar in JSON.

    Raises:
        BadScalar: it is a number that is not finite or does not fit.
    """
    try:
        return _storable(json.loads(text))
    except json.JSONDecodeError:
        return text


def looks_like_json(source: str) -> bool:
    """Whether a whole text is a JSON object; YAML would read some of its scalars differently, such as ``1e5``."""
    if not source.lstrip().startswith("{"):
        return False
    try:
        json.loads(source)
    except (ValueError, RecursionError):
        return False
    return True


def join_surrogates(source: str) -> str:
    """Return JSON text with each escaped surrogate pair, which YAML refuses, as one escape."""
    return _SURROGATES.sub(_joined, source)


def without_surrogates(source: str) -> str:
    """Return JSON text of the same length without escaped surrogate pairs, so that YAML can parse it."""
    return _SURROGATES.sub(r"\1\\ufffd\\ufffd", source)


def _joined(match: re.Match[str]) -> str:
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def short_tag(tag: str) -> str:
    """Return a tag in its short form: ``!!int``."""
    return f"!!{tag.removeprefix(_PREFIX)}" if tag.startswith(_PREFIX) else tag


def _storable(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        raise BadScalar("numbers must be finite")
    if isinstance(value, int) and value not in _INT_RANGE:
        raise BadScalar("the whole number does not fit 64 bits")
    return value
