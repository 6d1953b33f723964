"""What the answers of an API mean for one object: its id, its state, and whether it is as it was made."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import jmespath
from jmespath.exceptions import JMESPathError

from orchestrator.errors import cut
from orchestrator.plugins.resource import ResourceFailure


def fault_of_expression(expression: str) -> str:
    """Return what is wrong with a JMESPath expression as it is written; empty: nothing."""
    try:
        jmespath.compile(expression)
    except JMESPathError:
        return "it is no JMESPath expression, such as id, data.id or items[0].id"
    return ""


def found_at(expression: str, document: Any) -> Any:
    """Return what a JMESPath expression finds in an answer; None where there is nothing.

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


def as_id(value: Any) -> str | None:
    """Return a value as an id; None where it can be none."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value) or None


def id_in_header(value: str) -> str | None:
    """Return the id that a header holds: of a URL or a path, such as Location's, the last part."""
    path = urlsplit(value.strip()).path
    return unquote(path.rstrip("/").rpartition("/")[2]) or None


class Phase(Enum):
    """What the state of an object means."""

    READY = "it can be used"
    FAILED = "it will never be ready"
    GONE = "it is deleted, although it can still be read"
    BETWEEN = "it will be another one soon"


#: The names of the properties that list the states of a phase, in the order in which they count.
_LISTS: Final = {"failed": Phase.FAILED, "ready": Phase.READY, "gone": Phase.GONE}


def phase_of(value: Any, status: Mapping[str, Any]) -> Phase:
    """Return what a state means by the property ``status``."""
    for name, phase in _LISTS.items():
        if any(_same(value, listed) for listed in status[name] or ()):
            return phase
    return Phase.BETWEEN


def _same(value: Any, listed: Any) -> bool:
    return value == listed and isinstance(value, bool) == isinstance(listed, bool)


def as_seen(body: Mapping[str, Any], compare: Mapping[str, str], document: Any) -> dict[str, Any]:
    """Return a body as the API has it: what ``compare`` says where to find is as it is there, the rest as it was sent.

    Raises:
        ResourceFailure: an expression cannot be applied to this answer.
    """
    seen = dict(body)
    for key, expression in compare.items():
        seen[key] = overlapping(body.get(key), found_at(expression, document))
    return seen


def overlapping(sent: Any, there: Any) -> Any:
    """Return of what is there only what was sent: APIs add to what they are given.

    Equal to what was sent if and only if all of it is there.
    """
    if isinstance(sent, Mapping) and isinstance(there, Mapping):
        return {key: overlapping(value, there[key]) for key, value in sent.items() if key in there}
    if isinstance(sent, list) and isinstance(there, list) and len(sent) == len(there):
        return [overlapping(one, other) for one, other in zip(sent, there, strict=True)]
    return there
