"""Texts that hold JSON: ``json_string``."""

import json

from orchestrator.plugins.constraints import shown
from orchestrator.plugins.custom import CustomConstraint


class JsonString(CustomConstraint):
    """Any value as JSON (RFC 8259), such as ``{"a": [1, null]}`` or ``7``; the numbers NaN and Infinity are none."""

    name = "json_string"

    def fault(self, value: object) -> str | None:
        """Return the fault of the text."""
        reason = _reason(value) if isinstance(value, str) else "it is no text"
        return reason and f"{shown(value)} is no JSON: {reason}"


def _reason(text: str) -> str | None:
    try:
        json.loads(text, parse_constant=_refuse, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deep"
    return None


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no number of JSON")
