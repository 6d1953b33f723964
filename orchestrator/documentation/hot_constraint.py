"""Constraints in the form in which HOT templates declare them on parameters."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Constraint, Length, Modulo, Range
from orchestrator.plugins.custom import Custom


def _bounds(constraint: Any) -> dict[str, object]:
    both = {"min": constraint.min, "max": constraint.max}
    return {name: bound for name, bound in both.items() if bound is not None}


#: By exact class: a subclass may check something else.
_WRITERS: Final[Mapping[type[Constraint], Callable[[Any], dict[str, Any]]]] = {
    Range: lambda each: {"range": _bounds(each)},
    Length: lambda each: {"length": _bounds(each)},
    Modulo: lambda each: {"modulo": {"step": each.step, "offset": each.offset}},
    AllowedValues: lambda each: {"allowed_values": list(each.values)},
    AllowedPattern: lambda each: {"allowed_pattern": each.pattern},
    Custom: lambda each: {"custom_constraint": each.name},
}


def hot_constraint(constraint: Constraint) -> dict[str, object] | None:
    """Return the entry under ``constraints``, without a description; None if HOT cannot express it."""
    write = _WRITERS.get(type(constraint))
    return None if write is None else write(constraint)
