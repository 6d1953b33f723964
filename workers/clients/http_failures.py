"""Failures of requests to HTTP APIs; their messages hold no value that was sent."""

from collections.abc import Collection
from typing import Final
from urllib.parse import unquote

from hooks.http.outcome import RequestFailed, one_line
from hooks.values.secret_texts import longest_form, masked
from orchestrator.errors import IsothermError, cut

#: Statuses of failures that may be temporary.
PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
#: The most characters of an answer that are searched for its message.
_READ_CHARACTERS: Final = 20_000


class HttpError(RequestFailed, IsothermError):
    """A request to an HTTP API failed; the message names the request and the failure."""


class HttpUnavailable(HttpError):
    """An HTTP API could not be reached, or has a temporary failure: a retry may succeed."""

    retryable = True


def shown_text(text: str, secrets: Collection[str]) -> str:
    """Return an API's text for use in a sentence: on one line, truncated, without secrets."""
    beginning = masked(text[:_READ_CHARACTERS], secrets)
    if len(text) > _READ_CHARACTERS:
        # The truncated end may hold half of a secret.
        beginning = beginning[: max(0, len(beginning) - longest_form(secrets))]
    return one_line(beginning)


def shown_path(path: str) -> str:
    """Return a path for use in a sentence: truncated, and without its query, which may hold a secret."""
    return cut(path.partition("?")[0])


def fault_of_path(path: str) -> str:
    """Return the fault of a path that is to follow a base URL; empty: none."""
    way = path.partition("?")[0]
    if not way.startswith("/") or way.startswith("//"):
        return "a path begins with one slash"
    if not path.isprintable() or any(character in path for character in " \\#"):
        return "a path holds no blanks, backslashes, '#', or what cannot be printed"
    # Servers decode %2F, and some take what follows a semicolon for a parameter of a segment.
    segments = unquote(way).replace("\\", "/").split("/")
    if any(segment.partition(";")[0] in {".", ".."} for segment in segments):
        return "a path holds neither '.' nor '..' between its slashes"
    return ""
