"""What a server that was asked may answer: JSON of a known form, or a refusal with a reason."""

from http import HTTPStatus
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from hooks.builtin.sender import Answer
from hooks.builtin.undelivered import NotDelivered

#: With this a server refuses.
REFUSAL: Final = HTTPStatus.FORBIDDEN

AnyModel = TypeVar("AnyModel", bound=BaseModel)


def parsed(answer: Answer, model: type[AnyModel]) -> AnyModel:
    """Return an answer as ``model``; an empty one says nothing, so every field is as if it were not given.

    Raises:
        NotDelivered: it is of another form; the sentence names the fields, and shows nothing of them.
    """
    document = answer.document()
    try:
        return model.model_validate({} if document is None else document)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        where = "; ".join(f"{_place(each['loc'])}: {each['msg'].lower()}" for each in faults)
        raise NotDelivered(f"its answer is not what it may be: {where}", answer.status) from None


def reason_of(answer: Answer) -> str:
    """Return why a server refuses: the ``reason`` of an answer in JSON, else its text; empty if it says nothing."""
    try:
        document: Any = answer.document()
    except NotDelivered:
        document = None
    if isinstance(document, dict) and isinstance(document.get("reason"), str):
        return str(document["reason"])
    return answer.content.decode(errors="replace").strip()


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "the whole"
