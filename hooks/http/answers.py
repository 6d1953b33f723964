"""Replies of called servers: JSON of a known form, or a refusal with a reason."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from hooks.http.outcome import Answer, RequestFailed
from hooks.values.masking import in_plain_words

#: The status of a refusal.
REFUSAL: Final = HTTPStatus.FORBIDDEN

#: Introduces the reason why a call failed.
NO_ANSWER: Final = "its server gave no proper answer"

AnyModel = TypeVar("AnyModel", bound=BaseModel)


def parsed(answer: Answer, model: type[AnyModel]) -> AnyModel:
    """Return an answer as ``model``; an empty one leaves every field at its default.

    Raises:
        RequestFailed: it has another form; the message names the fields, and shows no values.
    """
    document = answer.document()
    try:
        return model.model_validate({} if document is None else document)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        where = "; ".join(map(_sentence, faults))
        message = f"it answered {answer.status} with JSON of another form: {where}"
        raise RequestFailed(message, answer.status) from None


def _sentence(fault: Mapping[str, Any]) -> str:
    # The name of the model means nothing to the authors of servers.
    problem = "expected an object" if fault["type"] == "model_type" else in_plain_words(fault["msg"])
    return f"{_place(fault['loc'])}: {problem}"


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "the whole"
