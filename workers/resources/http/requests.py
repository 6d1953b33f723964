"""The requests of an object: pure functions of its properties, id and token."""

import re
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import field
from typing import Any, Final
from urllib.parse import quote, unquote

from hooks.values.dataclass import dataclass
from orchestrator.plugins.steps import ResourceFailure
from workers.clients.http_options import plain_header

POST: Final = "POST"
PUT: Final = "PUT"

_PLACE: Final = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whether sending it twice has the same effect as once.
    repeatable: bool = False


def places_in(text: str) -> list[str]:
    """Return the names in braces, in order."""
    return _PLACE.findall(text)


def filled_in(text: str, values: Mapping[str, str | None], *, quotes: bool = True) -> str:
    """Return ``text`` with the names in braces replaced by values; in a path, each is quoted as a single part.

    Raises:
        ResourceFailure: a value is unknown.
    """

    def value_of(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if value is None:
            raise ResourceFailure(f"nobody knows yet what {match[0]} is in the path {text!r}")
        return quote(value, safe="") if quotes else value

    return _PLACE.sub(value_of, text)


def with_token(body: Mapping[str, Any], field_path: str, token: str) -> dict[str, Any]:
    """Return a body with the token at a path such as ``metadata.token``.

    Raises:
        ResourceFailure: a part of the path exists and is no map.
    """
    marked = deepcopy(dict(body))
    *way, last = field_path.split(".")
    inner: Any = marked
    for step in way:
        inner = inner.setdefault(step, {})
        if not isinstance(inner, dict):
            raise ResourceFailure(f"the body has no room for the field {field_path!r}: {step!r} is no map")
    inner[last] = token
    return marked


class Requests:
    """The requests of one object."""

    def __init__(self, properties: Mapping[str, Any], *, token: str) -> None:
        self._properties = properties
        self._create: Mapping[str, Any] = properties["create"]
        self._token = token

    @property
    def fixed_id(self) -> str | None:
        """The id in the template, or at the end of a PUT's path; None where the API assigns one."""
        given: str | None = (self._properties["id"] or {}).get("value")
        if given or self._create["method"] != PUT or self._finds_id:
            return given or None
        return unquote(self._create_path.partition("?")[0].rstrip("/").rpartition("/")[2])

    @property
    def _finds_id(self) -> bool:
        id_places = self._properties["id"] or {}
        return bool(id_places.get("json") or id_places.get("header"))

    @property
    def recognizes_token(self) -> bool:
        """Whether the API itself recognizes a repeated create."""
        return bool(self._create["token_header"]) or self._create["method"] == PUT

    @property
    def _create_path(self) -> str:
        values = {"token": self._token, "id": (self._properties["id"] or {}).get("value")}
        return filled_in(self._create["path"], values)

    def create(self) -> HttpRequest:
        """Return the request that creates the object."""
        header = self._create["token_header"]
        return self._request(
            self._create["method"],
            self._create_path,
            body=self._body(),
            headers={header: self._token} if header else {},
            repeatable=self.recognizes_token,
        )

    def find(self) -> tuple[HttpRequest, str] | None:
        """Return the search for the token, and the place of the id in its answer; None: there is none."""
        find = self._properties["find"]
        if not find:
            return None
        values = {"token": self._token}
        request = self._request("GET", filled_in(find["path"], values))
        return request, filled_in(find["json"], values, quotes=False)

    def read(self, physical_id: str | None) -> HttpRequest:
        """Return the request that reads the object."""
        return self._request("GET", self._object_path("read", physical_id))

    def update(self, physical_id: str | None) -> HttpRequest | None:
        """Return the request that changes the object to its definition; None: there is none."""
        update = self._properties["update"]
        if not update:
            return None
        body = self._body() if update["body"] is None else update["body"]
        path = self._object_path("update", physical_id)
        called = update["content_type"]
        headers = {"Content-Type": called} if called else {}
        return self._request(update["method"], path, body=body, headers=headers, repeatable=True)

    def delete(self, physical_id: str | None) -> HttpRequest:
        """Return the request that deletes the object."""
        delete = self._properties["delete"]
        path = self._object_path("delete", physical_id)
        return self._request(delete["method"], path, body=delete["body"], repeatable=True)

    def _body(self) -> dict[str, Any]:
        body, field_path = self._properties["body"], self._create["token_field"]
        return with_token(body, field_path, self._token) if field_path else dict(body)

    def _object_path(self, name: str, physical_id: str | None) -> str:
        given = (self._properties[name] or {}).get("path") or (self._properties["read"] or {}).get("path")
        if given:
            return filled_in(given, {"id": physical_id, "token": self._token})
        made_at = self._create_path
        if self._create["method"] == PUT:
            return made_at
        way, question, query = made_at.partition("?")
        return f"{way.rstrip('/')}/{filled_in('{id}', {'id': physical_id})}{question}{query}"

    def _request(self, method: str, path: str, **more: Any) -> HttpRequest:
        own = more.pop("headers", {})
        taken = {plain_header(name) for name in own}
        given = {
            name: value
            for name, value in self._properties["headers"].items()
            if plain_header(name) not in taken
        }
        headers = {**given, **own}
        return HttpRequest(method=method, path=path, headers=headers, **more)


def texts_that_were_sent(properties: Mapping[str, Any]) -> Collection[Any]:
    """Return the property parts whose texts an API may repeat, and which must not be shown."""
    bodies = [(properties[name] or {}).get("body") for name in ("update", "delete")]
    return [properties["body"], properties["headers"], *bodies]
