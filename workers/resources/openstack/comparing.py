"""The comparison of what a service shows with what a template gives: only what is given counts."""

from collections.abc import Mapping
from typing import Any


def as_given(given: Any, found: Any) -> Any:
    """Return what was found, without the parts that are not given, in the order of what is given.

    A service fills in what a template leaves to it: keys of maps that are not given, or given as null, are left out.
    Items of lists of maps are matched with those given that they agree with; others keep their order at the end.
    """
    if isinstance(given, Mapping) and isinstance(found, Mapping):
        return {
            name: None if value is None else as_given(value, found.get(name)) for name, value in given.items()
        }
    if isinstance(given, (list, tuple)) and isinstance(found, (list, tuple)):
        return _items_as_given(list(given), list(found))
    return found


def _items_as_given(given: list[Any], found: list[Any]) -> list[Any]:
    rest = list(found)
    matched: list[Any] = []
    for each in given:
        place = next((number for number, other in enumerate(rest) if as_given(each, other) == each), None)
        if place is not None:
            rest.pop(place)
            matched.append(each)
    return [*matched, *rest]
