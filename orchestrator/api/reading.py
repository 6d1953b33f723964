"""What clients send: bodies of JSON and values of queries, bounded and checked before anything is done with them."""

import json
import re
from collections.abc import Container, Mapping
from http import HTTPStatus
from typing import Any, Final

import falcon

from orchestrator.api.faults import Refused, bad_request
from orchestrator.errors import cut
from orchestrator.template.functions.base import kind_of

#: How many times longer than the texts in it a body may be: JSON escapes line ends and quotes.
ESCAPED: Final = 4
#: As JSON writes it.
_NUL: Final = b"\\u0000"
#: One half of a character in JSON, which is a text only beside the other.
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_FLAGS: Final = {"true": True, "false": False}


def body_of(request: falcon.Request, *, max_bytes: int) -> dict[str, Any]:
    """Return a request's map of JSON, without what is null, which clients send for what they do not give.

    A request without a body has an empty one.

    Raises:
        Refused: it is too large, no JSON, nested too deep, or no map.
    """
    value = value_in(request, max_bytes=max_bytes)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request(f"expected a map of JSON as the body, found {kind_of(value)}")
    return {name: each for name, each in value.items() if each is not None}


def bytes_in(request: falcon.Request, *, max_bytes: int) -> bytes:
    """Return a request's body.

    Raises:
        Refused: it is too large.
    """
    data: bytes = request.bounded_stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Refused(
            HTTPStatus.BAD_REQUEST, f"the body is larger than {max_bytes} bytes", kind="RequestLimitExceeded"
        )
    return data


def value_in(request: falcon.Request, *, max_bytes: int) -> Any:
    """Return the JSON of a request's body; None without one.

    Raises:
        Refused: it is too large, no JSON, or nested too deep.
    """
    data = bytes_in(request, max_bytes=max_bytes)
    if not data.strip():
        return None
    kind = (request.content_type or "").partition(";")[0].strip().lower()
    if kind and not kind.endswith("json"):
        raise bad_request(f"expected a body of the type application/json, found {cut(kind, 80)}")
    return json_in(data)


def json_in(data: bytes) -> Any:
    """Return the JSON of a body.

    Raises:
        Refused: it is none, nested too deep, or has what cannot be stored.
    """
    if _NUL in data:
        # PostgreSQL takes none, and no text of a template has one.
        raise bad_request("expected a body without the character NUL")
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
        if _HALF.search(data):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError as error:
        raise bad_request("the body is nested too deep") from error
    except ValueError as error:
        raise bad_request(f"the body is no JSON: {error}") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


class Parts:
    """The fields of a body, each of a certain type."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body

    def __contains__(self, name: str) -> bool:
        return name in self._body

    def text(self, name: str) -> str:
        """Return a field that is a text; empty if it is missing."""
        found: str = self._of(name, str, "a text", "")
        return found

    def map(self, name: str) -> dict[str, Any]:
        """Return a field that is a map; empty if it is missing."""
        found: dict[str, Any] = self._of(name, dict, "a map", {})
        return found

    def texts(self, name: str) -> dict[str, str]:
        """Return a field that is a map of texts; a value that is none is written as JSON, as clients do."""
        return {
            key: each if isinstance(each, str) else json.dumps(each) for key, each in self.map(name).items()
        }

    def names(self, name: str) -> list[str]:
        """Return a field that is a list of texts; empty if it is missing."""
        found: list[Any] = self._of(name, list, "a list of texts", [])
        if not all(isinstance(each, str) for each in found):
            raise bad_request(f"expected a list of texts as {name}")
        return found

    def flag(self, name: str, *, otherwise: bool) -> bool:
        """Return a field that is true or false, or a text that says so."""
        return flag(self._body.get(name), name, otherwise=otherwise)

    def minutes(self, name: str) -> float | None:
        """Return a field that is a number of minutes, or a text with one; None if it is missing or 0."""
        value = self._body.get(name)
        if value is None:
            return None
        try:
            number = None if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = None
        if number is None or not 0 <= number < float("inf"):
            raise bad_request(f"expected a number of minutes as {name}, found {cut(json.dumps(value), 80)}")
        return number or None

    def source(self, name: str) -> str:
        """Return a field that is a document, a map or a text, as text; empty if it is missing or empty."""
        value = self._body.get(name)
        if not value:
            return ""
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            return json.dumps(value, indent=2)
        raise bad_request(f"expected a map or a text as {name}, found {kind_of(value)}")

    def _of(self, name: str, kind: type, words: str, otherwise: Any) -> Any:
        value = self._body.get(name)
        if value is None:
            return otherwise
        if not isinstance(value, kind):
            raise bad_request(f"expected {words} as {name}, found {kind_of(value)}")
        return value


def flag(value: Any, name: str, *, otherwise: bool) -> bool:
    """Return a value that is true or false, or a text that says so in any case; ``otherwise`` for None.

    Raises:
        Refused: it is neither.
    """
    if value is None:
        return otherwise
    found = _FLAGS.get(str(value).strip().lower())
    if found is None:
        raise bad_request(f"expected true or false as {name}, found {cut(str(value), 80)!r}")
    return found


class Query:
    """The values of a request's query string."""

    def __init__(self, request: falcon.Request) -> None:
        self._request = request

    def flag(self, name: str, *, otherwise: bool = False) -> bool:
        """Return a value that is true or false."""
        return flag(self.one(name) or None, name, otherwise=otherwise)

    def one(self, name: str) -> str:
        """Return the last value of a name; empty for none."""
        return (self.all(name) or ("",))[-1]

    def all(self, name: str) -> tuple[str, ...]:
        """Return the values of a name that may be repeated."""
        return tuple(each for each in self._request.get_param_as_list(name) or () if each)

    def words(self, name: str) -> tuple[str, ...]:
        """Return the values of a name that may be repeated, each several with commas between them."""
        return tuple(word.strip() for each in self.all(name) for word in each.split(",") if word.strip())

    def number(self, name: str) -> int | None:
        """Return a whole number, 0 or more; None for none."""
        value = self.one(name)
        if not value:
            return None
        if not (value.isascii() and value.isdigit() and len(value) < _MOST_DIGITS):
            raise bad_request(f"expected a whole number, 0 or more, as {name}, found {cut(value, 80)!r}")
        return int(value)

    def choice(self, name: str, values: Mapping[str, Any], otherwise: str) -> Any:
        """Return what a value stands for."""
        value = self.one(name) or otherwise
        if value not in values:
            raise bad_request(f"expected one of {', '.join(values)} as {name}, found {cut(value, 80)!r}")
        return values[value]

    def descending(self, *, otherwise: str) -> bool:
        """Return whether the order is from the last to the first: ``sort_dir`` is asc or desc."""
        is_descending: bool = self.choice("sort_dir", {"asc": False, "desc": True}, otherwise)
        return is_descending

    def unknown(self, known: Container[str]) -> None:
        """Refuse names that are not known."""
        for name in self._request.params:
            if name not in known:
                raise bad_request(f"there is no filter {cut(name, 80)!r} of this list")


#: Numbers with more digits are larger than any of ours.
_MOST_DIGITS: Final = 16
