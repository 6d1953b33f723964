"""A keystone whose catalogue administrators may write: services, endpoints and regions.

As the real one, it narrows endpoints down by what it is asked for, takes no endpoint of an unknown region or service,
and keeps what a change does not name.
"""

import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from tests.services.http_api import Asked, _Answer
from tests.services.openstack_api import REGION, OpenStackApi, User

_ONE: Mapping[str, str] = {"services": "service", "endpoints": "endpoint", "regions": "region"}


class KeystoneApi(OpenStackApi):
    """The catalogue that is written is not that of tokens."""

    def __init__(self) -> None:
        self.catalogue: dict[str, dict[str, dict[str, Any]]] = {each: {} for each in _ONE}
        self.catalogue["regions"][REGION] = {"id": REGION}
        super().__init__(User(name="admin", project="admin", admin=True), User(name="demo", project="demo"))

    def enter(self, collection: str, **fields: Any) -> dict[str, Any]:
        """Let an entry be there."""
        made = {"id": uuid.uuid4().hex, "enabled": True, **fields}
        self.catalogue[collection][made["id"]] = made
        return made

    def entries(self, collection: str, *fields: str) -> set[tuple[Any, ...]]:
        """Return fields of all entries."""
        return {tuple(each.get(field) for field in fields) for each in self.catalogue[collection].values()}

    def writes(self) -> list[str]:
        """Return the requests that would change the catalogue."""
        return [
            f"{each.method} {each.path}"
            for each in self.requests
            if each.method != "GET" and not each.path.endswith("/auth/tokens")
        ]

    def _answer(self, asked: Asked) -> _Answer:
        parts = asked.path.removeprefix("/identity/v3/").split("/")
        if not asked.path.startswith("/identity/v3/") or parts[0] not in _ONE or asked.tenant is None:
            return super()._answer(asked)
        if not self.users[asked.tenant].admin:
            error = {"code": 403, "title": "Forbidden", "message": "You are not authorized: admin required."}
            return _Answer(HTTPStatus.FORBIDDEN, {"error": error})
        kept, one = self.catalogue[parts[0]], _ONE[parts[0]]
        match asked.method, len(parts):
            case "GET", 1:
                found = [
                    each
                    for each in kept.values()
                    if all(each.get(name) == value for name, value in asked.query.items())
                ]
                return _Answer(HTTPStatus.OK, {parts[0]: found, "links": {"next": None}})
            case "POST", 1:
                given = asked.body[one]
                if one == "endpoint" and not (
                    given["region_id"] in self.catalogue["regions"]
                    and given["service_id"] in self.catalogue["services"]
                ):
                    return _Answer(
                        HTTPStatus.BAD_REQUEST, {"error": {"code": 400, "message": "no such region"}}
                    )
                return _Answer(HTTPStatus.CREATED, {one: self.enter(parts[0], **given)})
            case "PATCH", 2:
                kept[parts[1]] |= asked.body[one]
                return _Answer(HTTPStatus.OK, {one: kept[parts[1]]})
        return _Answer(HTTPStatus.NOT_FOUND, {"error": {"code": 404, "message": "It is not there."}})
