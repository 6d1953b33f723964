"""How a request to an HTTP API can fail, and what sentences may say of it: no value that was sent."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from hooks.http.outcome import RequestFailed, one_line
from orchestrator.errors import IsothermError, cut
from workers.clients.masking import masked

#: What may be over the next time.
PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
#: So much of an answer is looked at.
_READ_CHARACTERS: Final = 20_000


class HttpError(RequestFailed, IsothermError):
    """A request to an HTTP API failed; the sentence says which, and how."""


class HttpUnavailable(HttpError):
    """An HTTP API could not be reached, or not do what was asked for now: the same may succeed later."""

    retryable = True


def shown_text(text: str, secrets: Collection[str]) -> str:
    """Return a text of an API for a sentence: on one line, cut, without what may not be shown."""
    forms = {form for secret in secrets for form in _forms(secret)}
    beginning = masked(text[:_READ_CHARACTERS], forms)
    if len(text) > _READ_CHARACTERS:
        # At the end there may be half of a secret.
        beginning = beginning[: max(0, len(beginning) - max(map(len, forms), default=0))]
    return one_line(beginning)


def _forms(secret: str) -> Iterator[str]:
    """Yield the ways in which an API may repeat a text."""
    yield secret
    yield quote(secret, safe="")
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts and numbers of a value of plain types, without the keys of its maps."""
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case Mapping():
            for child in value.values():
                yield from texts_in(child)
        case list() | tuple():
            for child in value:
                yield from texts_in(child)
        case _:
            yield str(value)


def shown_path(path: str) -> str:
    """Return a path for a sentence: cut, and without its query, which may hold a secret."""
    return cut(path.partition("?")[0])


def fault_of_path(path: str) -> str:
    """Return what is wrong with a path that is to come after a base URL; empty: nothing."""
    way = path.partition("?")[0]
    if not way.startswith("/") or way.startswith("//"):
        return "a path begins with one slash"
    if not path.isprintable() or any(character in path for character in " \\#"):
        return "a path holds no blanks, backslashes, '#', or what cannot be printed"
    if any(unquote(segment) in {".", ".."} for segment in way.split("/")):
        return "a path holds neither '.' nor '..' between its slashes"
    return ""
