"""The interpretation of an API's answers for one object: its id, its state, and its differences from the template."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import jmespath
from jmespath.exceptions import JMESPathError

from orchestrator.errors import cut
from orchestrator.plugins.steps import ResourceFailure


def fault_of_expression(expression: str) -> str:
    """Return the fault of a JMESPath expression as it is written; empty: none."""
    try:
        jmespath.compile(expression)
    except JMESPathError:
        return "it is no JMESPath expression, such as id, data.id or items[0].id"
    return ""


def found_at(expression: str, document: object) -> object:
    """Return the value of a JMESPath expression in an answer; None where there is none.

    Raises:
        ResourceFailure: it cannot be applied to this answer.
    """
    try:
        return jmespath.search(expression, document)
    except JMESPathError as error:
        kind = type(error).__name__
        raise ResourceFailure(
            f"{cut(expression)!r} cannot be applied to what the API answered ({kind})"
        ) from None


def as_id(value: object) -> str | None:
    """Return a value as an id; None where it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value) or None


def id_in_header(value: str) -> str | None:
    """Return the id in a header: the last part of a URL or a path, such as Location's."""
    path = urlsplit(value.strip()).path
    return unquote(path.rstrip("/").rpartition("/")[2]) or None


class Phase(Enum):
    """The phase of an object, by its state."""

    READY = "it can be used"
    FAILED = "it will never be ready"
    GONE = "it is deleted, although it can still be read"
    BETWEEN = "it will be another one soon"


#: The properties that list the states of a phase, in the order of precedence.
_LISTS: Final = {"failed": Phase.FAILED, "ready": Phase.READY, "gone": Phase.GONE}


def phase_of(value: object, status: Mapping[str, Any]) -> Phase:
    """Return the phase of a state, by the property ``status``."""
    for name, phase in _LISTS.items():
        if any(_same(value, listed) for listed in status[name] or ()):
            return phase
    return Phase.BETWEEN


def _same(value: object, listed: object) -> bool:
    return value == listed and isinstance(value, bool) == isinstance(listed, bool)


def as_seen(body: Mapping[str, Any], compare: Mapping[str, str], document: object) -> dict[str, Any]:
    """Return the body with the API's values at the places in ``compare``, and the sent ones elsewhere.

    Raises:
        ResourceFailure: an expression cannot be applied to this answer.
    """
    seen = dict(body)
    for key, expression in compare.items():
        seen[key] = overlapping(body.get(key), found_at(expression, document))
    return seen


def overlapping(sent: object, present: object) -> object:
    """Return the part of ``present`` that corresponds to ``sent``: APIs add to objects.

    Equal to what was sent if and only if all of it is present.
    """
    if isinstance(sent, Mapping) and isinstance(present, Mapping):
        return {key: overlapping(value, present[key]) for key, value in sent.items() if key in present}
    if isinstance(sent, list) and isinstance(present, list) and len(sent) == len(present):
        return [overlapping(one, other) for one, other in zip(sent, present, strict=True)]
    return present
