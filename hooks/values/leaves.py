"""Leaves of the values of options and settings."""

from collections.abc import Iterator, Mapping


def leaves_in(value: object) -> Iterator[object]:
    """Yield what a value of options or settings holds that is no model, map or list; keys of maps are left out."""
    if isinstance(value, Mapping):
        yield from (leaf for each in value.values() for leaf in leaves_in(each))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (leaf for each in value for leaf in leaves_in(each))
    elif hasattr(type(value), "model_fields"):
        # A model of pydantic, which only those import that have one. It yields names and values.
        yield from leaves_in(dict(value))  # type: ignore[call-overload]
    else:
        yield value
