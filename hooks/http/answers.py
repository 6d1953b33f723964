"""What a server that was asked may answer: JSON of a known form, or a refusal with a reason."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from hooks.http.outcome import Answer, RequestFailed
from hooks.values.masking import in_plain_words

#: With this a server refuses.
REFUSAL: Final = HTTPStatus.FORBIDDEN

#: What is said before what was wrong with asking it.
NO_ANSWER: Final = "its server gave no proper answer"

AnyModel = TypeVar("AnyModel", bound=BaseModel)


def parsed(answer: Answer, model: type[AnyModel]) -> AnyModel:
    """Return an answer as ``model``; an empty one says nothing, so every field is as if it were not given.

    Raises:
        RequestFailed: it is of another form; the sentence names the fields, and shows nothing of them.
    """
    document = answer.document()
    try:
        return model.model_validate({} if document is None else document)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        where = "; ".join(map(_said, faults))
        message = f"it answered {answer.status} with JSON of another form: {where}"
        raise RequestFailed(message, answer.status) from None


def _said(fault: Mapping[str, Any]) -> str:
    # What the model is called here is nothing to those who write servers.
    said = "expected an object" if fault["type"] == "model_type" else in_plain_words(fault["msg"])
    return f"{_place(fault['loc'])}: {said}"


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "the whole"
