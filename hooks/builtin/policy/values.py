"""Comparison of property values in rules.

A template may spell a value in several ways that a resource type treats alike: ``true`` and ``"true"``, ``80`` and
``"80"``. They are equal here too, so that no other spelling evades a rule.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from hooks.builtin.policy.truth import Truth, every
from hooks.values.masking import MASK
from hooks.values.unknown import UNKNOWN


class Reached(Enum):
    """Results of a path besides values."""

    #: No value is given.
    NOTHING = "nothing"
    #: The path leads through an unknown or hidden value: whether a value is given is unknown.
    PERHAPS = "perhaps"


NOTHING: Final = Reached.NOTHING
PERHAPS: Final = Reached.PERHAPS


def is_hidden(value: object) -> bool:
    """Return whether a value cannot be seen: it is unknown, or a secret is masked in it."""
    return value is UNKNOWN or value is PERHAPS or (isinstance(value, str) and MASK in value)


def same(wanted: object, found: object) -> Truth:
    """Return whether a value equals the one in a rule."""
    if wanted.__class__ is found.__class__ is str:
        return True if wanted == found else None if MASK in found else False
    if is_hidden(found):
        return None
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and every(
            same(each, found[name]) for name, each in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and every(map(same, wanted, found))
    return _same_scalar(wanted, found)


def _same_scalar(wanted: object, found: object) -> bool:
    if isinstance(wanted, bool) or isinstance(found, bool):
        return _as_boolean(wanted) is not None and _as_boolean(wanted) == _as_boolean(found)
    if isinstance(wanted, (int, float)) or isinstance(found, (int, float)):
        number = as_number(wanted)
        return number is not None and number == as_number(found)
    return bool(wanted == found)


def _as_boolean(value: object) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def as_number(value: object) -> int | float | None:
    """Return the number that a value is or spells; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, str):
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return None


def as_text(value: object) -> str | None:
    """Return the text that a value is or would become; None if it is a list, a map, or nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else None


def in_words(value: object) -> str:
    """Return a rule's value for display."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list):
        return f"[{', '.join(map(in_words, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {in_words(each)}' for name, each in value.items())}}}"
    return repr(value)
