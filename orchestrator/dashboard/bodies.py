"""Bodies of requests that change something: JSON objects of bounded size, with values that databases can store."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.comments import COMMENT, is_comment

#: The greatest size of a body; only a signal's details, and templates with their files, are large.
#: Plans may be larger.
MOST_BYTES: Final = 1024 * 1024
#: The greatest depth of nested values.
DEEPEST: Final = 100
_NO_CHARACTER: Final = re.compile(r"[\x00\ud800-\udfff]")


def read_object(body: bytes, *, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Return the JSON object in a request's body.

    Raises:
        InvalidInput: it is too large, or something else.
    """
    if len(body) > most_bytes:
        raise InvalidInput(
            [Problem(message=f"an order of {len(body)} bytes: at most {most_bytes} are taken")]
        )
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput([Problem(message="expected is a JSON object, and found is no JSON")]) from error
    if not isinstance(sent, dict):
        message = f"expected is a JSON object, and found is {kind_of(sent)}"
        raise InvalidInput([Problem(message=message)])
    return sent


def unknown(sent: Mapping[str, object], names: Sequence[str]) -> list[Problem]:
    """Return a problem for each field whose name is not one of ``names``."""
    nearest, expected = Nearest(), f"expected are {', '.join(names)}" if names else "expected are none"
    return [
        Problem(path=name, message="there is no such field", hint=nearest.hint(name, names, expected))
        for name in sent
        if name not in names
    ]


def unstorable(sent: Mapping[str, object]) -> Iterator[Problem]:
    """Yield a problem for each field with a value that the JSON parser accepts, but databases do not."""
    for name, value in sent.items():
        wrong = next((each for each in map(_wrong_in, _parts(value)) if each), "")
        if wrong:
            yield Problem(path=name, message=f"it has {wrong}")


def comment_problems(sent: Mapping[str, object]) -> Iterator[Problem]:
    """Yield a problem if the field ``comment`` is a text, and no valid comment."""
    comment = sent.get("comment")
    if isinstance(comment, str) and not is_comment(comment):
        yield Problem(path="comment", message=f"expected is {COMMENT}")


def _parts(value: object) -> Iterator[tuple[object, int]]:
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        yield part, depth
        if isinstance(part, dict):
            waiting += [(each, depth + 1) for pair in part.items() for each in pair]
        elif isinstance(part, list):
            waiting += [(each, depth + 1) for each in part]


def _wrong_in(part: tuple[object, int]) -> str:
    value, depth = part
    if depth > DEEPEST:
        return f"lists or objects in each other, more than {DEEPEST} deep"
    if isinstance(value, str) and _NO_CHARACTER.search(value):
        return "a character that is none: a NUL, or half of a pair of surrogates"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that is none, or too large"
    return ""


def kind_of(value: object) -> str:
    """Return what JSON calls a value, in words."""
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")
