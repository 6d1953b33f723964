"""Observation policy of a stack: whether its objects are observed, how often, and what becomes of drift."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, Final, Self

from hooks.values.dataclass import dataclass
from hooks.values.nearest import nearest
from orchestrator.errors import InvalidInput, Problem

#: The modes: objects are not observed; drift is recorded; drift is recorded and repaired.
OFF, DETECT, REPAIR = "off", "detect", "repair"
MODES: Final = (OFF, DETECT, REPAIR)
#: What a repair does about an object that is gone.
MAKE, REPORT = "make", "report"
GONE: Final = (MAKE, REPORT)
#: The bounds of an interval: a shorter one would load other systems, a longer one finds nothing in time.
LEAST_SECONDS, MOST_SECONDS = 60.0, 7 * 86400.0
_WINDOW: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
#: A resource's name, a type or ``*``; then, after a slash, the path of a property.
_EXCEPTION: Final = re.compile(r"[^/\s]+(/[^/\s]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationPolicy:
    """The policy of one stack, and of the stacks nested in it."""

    #: Of :data:`MODES`.
    mode: str = OFF
    interval_seconds: float = 900.0
    #: The time of the day, UTC, in which the stack is observed, such as ``22:00-06:00``; empty: at any time.
    window: str = ""
    #: The most resources of the stack that are repaired in an hour.
    repairs_per_hour: int = 10
    #: Of :data:`GONE`.
    gone: str = MAKE
    #: Whether a repair may replace what cannot be changed in place.
    replace: bool = False
    #: What is no drift: ``TYPE/PATH`` or ``RESOURCE/PATH`` (a property, or a part of one), or the whole of either.
    ignore: tuple[str, ...] = ()
    #: The types and resources whose drift is reported and never repaired.
    report_only: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`of`."""
        return asdict(self)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the policy with these fields; those that are not given have their defaults.

        Raises:
            InvalidInput: with a problem for each field that is unknown or wrong.
        """
        problems = [*_unknown(given), *_wrong(given)]
        if problems:
            raise InvalidInput(problems)
        lists = {name: tuple(given[name]) for name in ("ignore", "report_only") if name in given}
        return cls(**{**given, **lists})

    def ignores(self, name: str, type_name: str, path: tuple[str | int, ...] = ()) -> bool:
        """Return whether a property of a resource is ignored; with the empty path, the whole resource."""
        return any(_covers(each, name, type_name, path) for each in self.ignore)

    def only_reports(self, name: str, type_name: str) -> bool:
        """Return whether drift of a resource is never repaired."""
        return self.mode != REPAIR or any(_covers(each, name, type_name, ()) for each in self.report_only)


def window_of(text: str) -> tuple[float, float] | None:
    """Return when a window begins, in seconds since midnight UTC, and its length in seconds; None if malformed."""
    match = _WINDOW.fullmatch(text)
    if match is None:
        return None
    begin, end = (60 * (60 * int(match[part]) + int(match[part + 1])) for part in (1, 3))
    length = (end - begin) % 86400
    return (float(begin), float(length)) if length else None


def _covers(exception: str, name: str, type_name: str, path: tuple[str | int, ...]) -> bool:
    subject, _, prefix = exception.partition("/")
    if subject not in ("*", name, type_name):
        return False
    named = prefix.split(".") if prefix else []
    return [str(part) for part in path[: len(named)]] == named


def _unknown(given: Mapping[str, Any]) -> list[Problem]:
    known = [each.name for each in fields(ObservationPolicy)]
    return [
        Problem(path=str(name), message="is no part of an observation policy", hint=nearest(str(name), known))
        for name in given
        if name not in known
    ]


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def _are_exceptions(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(each, str) and _EXCEPTION.fullmatch(each) for each in value
    )


#: For each field, what it must be.
_SHAPES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "mode": (f"one of {', '.join(MODES)}", lambda value: value in MODES),
    "interval_seconds": (
        f"{LEAST_SECONDS:g} to {MOST_SECONDS:g} seconds",
        lambda value: _is_number(value, LEAST_SECONDS, MOST_SECONDS),
    ),
    "window": (
        "a time of the day in UTC such as 22:00-06:00, or nothing",
        lambda value: value == "" or (isinstance(value, str) and window_of(value) is not None),
    ),
    "repairs_per_hour": (
        "a whole number from 1 to 100000",
        lambda value: isinstance(value, int) and _is_number(value, 1, 100_000),
    ),
    "gone": (f"one of {', '.join(GONE)}", lambda value: value in GONE),
    "replace": ("true or false", lambda value: isinstance(value, bool)),
    "ignore": ("a list of TYPE, RESOURCE, TYPE/PATH or RESOURCE/PATH", _are_exceptions),
    "report_only": (
        "a list of types and names of resources",
        lambda value: _are_exceptions(value) and not any("/" in each for each in value),
    ),
}


def _wrong(given: Mapping[str, Any]) -> list[Problem]:
    return [
        Problem(path=name, message=f"expected {expected}, found {given[name]!r}")
        for name, (expected, fits) in _SHAPES.items()
        if name in given and not fits(given[name])
    ]
