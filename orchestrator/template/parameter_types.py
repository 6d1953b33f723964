"""Types of parameters: the values that each accepts, and their conversion."""

import json
import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from orchestrator.config.limits import DEEPEST
from orchestrator.template.functions.base import kind_of

_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
_FALSE = frozenset({"0", "f", "false", "off", "n", "no"})
_INT_RANGE = range(-(2**63), 2**64)


class ParameterType(StrEnum):
    """The type of a parameter's values."""

    STRING = "string"
    NUMBER = "number"
    LIST = "comma_delimited_list"
    JSON = "json"
    BOOLEAN = "boolean"


#: By type: the kinds of its values, as constraints name them.
KINDS: Final[Mapping[ParameterType, frozenset[str]]] = {
    ParameterType.STRING: frozenset({"string"}),
    ParameterType.NUMBER: frozenset({"number"}),
    ParameterType.LIST: frozenset({"list"}),
    ParameterType.JSON: frozenset({"map"}),
    ParameterType.BOOLEAN: frozenset({"boolean"}),
}


def convert(kind: ParameterType, value: object) -> Any:
    """Return ``value`` (never None) converted to this type.

    Raises:
        ValueError: it cannot be converted; the message does not show the value, which may be a secret.
    """
    return _CONVERT[kind](value)


def as_boolean(value: object) -> bool:
    """Return the boolean for true, false, 0, 1, or one of the words for them in any case.

    Raises:
        ValueError: ``value`` is none of them.
    """
    word = str(value).lower() if isinstance(value, (bool, int, str)) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"expected true or false, found {kind_of(value)}")


def _as_string(value: object) -> str:
    if isinstance(value, (str, bool, int, float)):
        return _storable(str(value))
    raise ValueError(f"expected text, found {kind_of(value)}")


def _as_number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"expected a number, found {kind_of(value)}")
    number = _parse_number(value) if isinstance(value, str) else value
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError("expected a finite number")
    if isinstance(number, int) and number not in _INT_RANGE:
        raise ValueError("the whole number does not fit 64 bits")
    return number


def _parse_number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ValueError("expected a number, found text that is none") from None


def _as_list(value: object) -> list[str]:
    if isinstance(value, str):
        return _storable(value).split(",") if value else []
    if not isinstance(value, list):
        raise ValueError(f"expected a list or text with commas, found {kind_of(value)}")
    for index, item in enumerate(value):
        if isinstance(item, (dict, list)):
            raise ValueError(f"expected a list of text, but item {index} is {kind_of(item)}")
    return ["" if item is None else _storable(str(item)) for item in value]


def _storable(text: str) -> str:
    """Return a text that can be encoded as UTF-8; refuse others, which escapes in JSON can produce."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no character") from None
    return text


def _as_json(value: object) -> object:
    if isinstance(value, str):
        if not value:
            return ""
        value = _parse_json(value)
    elif not isinstance(value, (dict, list, bool, int, float)):
        raise ValueError(f"expected a map, a list, a number, a boolean or JSON text, found {kind_of(value)}")
    _check_json(value)
    return value


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None


def _check_json(value: object, depth: int = 0) -> None:
    """Refuse data that cannot be stored and sent, whatever its source."""
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("the keys of maps must be text")
        for key, item in value.items():
            _storable(key)
            _check_json(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_json(item, depth + 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _as_number(value)
    elif isinstance(value, str):
        _storable(value)
    elif value is not None and not isinstance(value, bool):
        raise ValueError(f"{kind_of(value)} cannot be written as JSON")


_CONVERT: Final[Mapping[ParameterType, Callable[[Any], Any]]] = {
    ParameterType.STRING: _as_string,
    ParameterType.NUMBER: _as_number,
    ParameterType.LIST: _as_list,
    ParameterType.JSON: _as_json,
    ParameterType.BOOLEAN: as_boolean,
}
