"""Faults: what an error becomes in an answer, in the shape and with the names that clients of Heat know."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import falcon

from orchestrator.errors import (
    Conflict,
    InvalidInput,
    IsothermError,
    NotAllowed,
    NotFound,
    NotVerified,
    Unavailable,
)

#: Heat's names of our errors; the first that fits counts.
_KINDS: Final[tuple[tuple[type[IsothermError], HTTPStatus, str], ...]] = (
    (InvalidInput, HTTPStatus.BAD_REQUEST, "StackValidationFailed"),
    (NotFound, HTTPStatus.NOT_FOUND, "EntityNotFound"),
    (Conflict, HTTPStatus.CONFLICT, "ActionInProgress"),
    (NotAllowed, HTTPStatus.FORBIDDEN, "Forbidden"),
    (NotVerified, HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable"),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as it is answered: a status, the name of Heat's exception, and a sentence, unless none is safe."""

    status: HTTPStatus
    type: str
    message: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the answer."""
        error: dict[str, Any] = {"type": self.type, "traceback": None}
        if self.message is not None:
            error["message"] = self.message
        return {
            "code": self.status.value,
            "title": self.status.phrase,
            "explanation": self.status.description or self.status.phrase,
            "error": error,
        }


class Refused(IsothermError):
    """A request is at fault, whatever the stacks: it has this status and this name."""

    def __init__(
        self, status: HTTPStatus, message: str, *, kind: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.headers = dict(headers or {})
        self.kind = kind or f"HTTP{status.phrase.title().replace(' ', '').replace('-', '')}"
        super().__init__(message)


def bad_request(message: str) -> Refused:
    """Return the refusal of a request that is malformed."""
    return Refused(HTTPStatus.BAD_REQUEST, message)


def fault_of(error: BaseException) -> Fault:
    """Return the fault of an error; that of an unexpected error has no message, but only its type."""
    if isinstance(error, Refused):
        return Fault(error.status, error.kind, str(error))
    if isinstance(error, falcon.HTTPError):
        status = HTTPStatus(error.status_code)
        name = type(error).__name__ if error.status_code != HTTPStatus.NOT_FOUND else "HTTPNotFound"
        return Fault(status, name, error.description or error.title or status.phrase)
    for kind, status, name in _KINDS:
        if isinstance(error, kind):
            return Fault(status, name, str(error))
    if isinstance(error, IsothermError):
        return Fault(HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__, str(error))
    return Fault(HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__, None)
