"""Query arguments of requests, parsed and checked: an error names the expected and the found value."""

from collections.abc import Collection, Mapping
from typing import Final

from hooks.values.nearest import Nearest
from orchestrator.errors import LONGEST_NAME, InvalidInput, Problem, cut
from orchestrator.model.durations import span_seconds
from orchestrator.model.event_filter import EventFilter
from orchestrator.model.operation_filter import STATUSES, OperationFilter
from orchestrator.model.tags import read_tags
from orchestrator.queries.observer import StackQuery
from orchestrator.store.stacks.pages import MOMENTS, SORTS

#: The greatest number of rows in a page of a list.
LONGEST_PAGE: Final = 500
#: Larger than any id that a database gives.
_LARGEST: Final = 2**53
_YES, _NO = ("1", "true", "yes"), ("0", "false", "no", "")


def whole(
    arguments: Mapping[str, str], name: str, default: int, *, least: int = 0, most: int = _LARGEST
) -> int:
    """Return an argument as a whole number; the default if it is missing.

    Raises:
        InvalidInput: it is not a whole number, or out of bounds.
    """
    sent = arguments.get(name, "")
    if not sent:
        return default
    found = int(sent) if sent.isascii() and sent.isdigit() and len(sent) <= len(str(_LARGEST)) else None
    if found is None or not least <= found <= most:
        raise _refused(name, f"expected a whole number from {least} to {most}, found {cut(sent)!r}")
    return found


def flag(arguments: Mapping[str, str], name: str) -> bool:
    """Return an argument as a truth value; False if it is missing.

    Raises:
        InvalidInput: it is neither yes nor no.
    """
    sent = arguments.get(name, "").lower()
    if sent not in (*_YES, *_NO):
        raise _refused(name, f"expected 1 or 0, found {cut(sent)!r}")
    return sent in _YES


def one_of(arguments: Mapping[str, str], name: str, words: Collection[str], default: str) -> str:
    """Return an argument that is one of ``words``; the default if it is missing.

    Raises:
        InvalidInput: it is another word; the nearest is suggested.
    """
    sent = arguments.get(name, "")
    if not sent:
        return default
    if sent not in words:
        hint = Nearest().hint(sent, words)
        raise _refused(name, f"expected one of {', '.join(words)}, found {cut(sent)!r}", hint)
    return sent


def several(arguments: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the comma-separated values of an argument."""
    return tuple(part for part in arguments.get(name, "").split(",") if part)


def span(arguments: Mapping[str, str], name: str) -> float | None:
    """Return an argument that is a duration, such as ``12h``, in seconds; None if it is missing.

    Raises:
        InvalidInput: it is malformed, or longer than a century.
    """
    sent = arguments.get(name, "").strip()
    if not sent:
        return None
    seconds = span_seconds(sent)
    if seconds is None:
        raise _refused(name, f"expected a duration such as 90s, 15m, 12h, 30d or 2w, found {cut(sent)!r}")
    return seconds


def stack_query(arguments: Mapping[str, str]) -> StackQuery:
    """Return the query of a list of stacks.

    Raises:
        InvalidInput: an argument is malformed.
    """
    usual = StackQuery()
    descending = flag(arguments, "descending") if "descending" in arguments else usual.descending
    return StackQuery(
        search=_short(arguments, "search"),
        name=_short(arguments, "name"),
        tags=_tags(arguments),
        moment=one_of(arguments, "moment", MOMENTS, usual.moment),
        over_seconds=span(arguments, "over"),
        within_seconds=span(arguments, "within"),
        states=several(arguments, "states"),
        sort=one_of(arguments, "sort", SORTS, usual.sort),
        descending=descending,
        offset=whole(arguments, "offset", usual.offset),
        limit=whole(arguments, "limit", usual.limit, least=1, most=LONGEST_PAGE),
        partial=flag(arguments, "partial"),
        nested=flag(arguments, "nested"),
        deleted=flag(arguments, "deleted"),
    )


def event_filter(arguments: Mapping[str, str]) -> EventFilter:
    """Return the filter of a stack's events.

    ``resource`` is a part of the name, or a pattern with ``*`` and ``?``; ``status`` is that of events.

    Raises:
        InvalidInput: the name is longer than names can be.
    """
    name = _short(arguments, "resource")
    pattern = name if set(name) & set("*?") else f"*{name}*"
    return EventFilter(
        resources=(pattern,) if name else (),
        statuses=several(arguments, "status"),
        traversal_id=arguments.get("traversal") or None,
    )


def operation_filter(arguments: Mapping[str, str]) -> OperationFilter:
    """Return the filter of a stack's operations; actions and statuses have commas between them.

    Raises:
        InvalidInput: there is no such status, or the user's name is longer than names can be.
    """
    statuses = several(arguments, "status")
    for status in statuses:
        one_of({"status": status}, "status", STATUSES, "")
    return OperationFilter(
        actions=several(arguments, "action"), statuses=statuses, user=_short(arguments, "user")
    )


def _short(arguments: Mapping[str, str], name: str) -> str:
    sent = arguments.get(name, "").strip()
    if len(sent) > LONGEST_NAME:
        raise _refused(name, f"expected at most {LONGEST_NAME} characters, found {len(sent)}")
    return sent


def _tags(arguments: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return read_tags(arguments.get("tags", ""))
    except ValueError as error:
        raise _refused("tags", str(error)) from error


def _refused(name: str, sentence: str, hint: str = "") -> InvalidInput:
    return InvalidInput([Problem(message=sentence, path=name, hint=hint)])
