"""Descriptions of what answers: its rule, what it takes and what it answers with, written where it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar

from orchestrator.api.schemas import Schema

_Responder = TypeVar("_Responder", bound=Callable[..., None])
_MARK: Final = "__described__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What one method of an address takes, and answers with."""

    #: Heat's name of the policy that lets a caller in; empty where every caller is.
    rule: str
    status: HTTPStatus
    #: The schema of the answer's JSON; None where it has none.
    answer: Schema | None
    #: The schema of the body that is sent; None where none is read.
    body: Schema | None
    #: The schemas of the values of the query, by name.
    query: Mapping[str, Schema] = field(default_factory=dict)


def described(
    rule: str,
    answer: Schema | None = None,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    body: Schema | None = None,
    query: Mapping[str, Schema] | None = None,
) -> Callable[[_Responder], _Responder]:
    """Describe a responder, such as ``on_get``."""
    description = Description(rule=rule, status=status, answer=answer, body=body, query=query or {})

    def mark(responder: _Responder) -> _Responder:
        setattr(responder, _MARK, description)
        return responder

    return mark


def description_of(face: object, method: str) -> Description | None:
    """Return the description of a method of an address; None if it does not answer that method."""
    responder: Any = getattr(face, f"on_{method.lower()}", None)
    return getattr(responder, _MARK, None)
