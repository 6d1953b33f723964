"""A small OpenStack cloud on loopback: enough of five services for openstacksdk to log in, find them and look up.

It counts and fails as :class:`tests.services.http_api.HttpApi` does. What each service answers, and where it differs
from the others, is what the real ones of release 2026.2 do:

- Nova narrows servers down by a regular expression, flavors and key pairs not at all; key pairs are the user's.
- Glance takes what is before a colon for an operator, refuses those it does not know, and leaves out hidden images.
- Neutron and Cinder find exact names; Cinder answers ``/types/default`` with its default type.
- Keystone lets only administrators list, and others look only at what they are or have; it refuses to look for what
  could be nobody's name.
- Only Nova and Keystone tell strangers their versions at the address of one of them.
- Databases take upper and lower case for the same, ``/flavors/detail`` and its like are lists, and lists have pages.

Paths begin with the service's name: ``/compute/v2.1/flavors``.
"""

import itertools
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.services.http_api import Asked, HttpApi, _Answer

REGION = "north"
#: How many things a list has at once.
_PAGE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who may log in, and to which project."""

    name: str
    project: str
    admin: bool = False

    @property
    def id(self) -> str:
        """Always the same for a name."""
        return uuid.uuid5(uuid.NAMESPACE_DNS, self.name).hex

    @property
    def project_id(self) -> str:
        """Always the same for a project."""
        return uuid.uuid5(uuid.NAMESPACE_DNS, f"project {self.project}").hex


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collection:
    one: str
    many: str
    #: Whose things are seen: ``project``, ``user``, or ``all``.
    owned: str = "project"
    lists_names: bool = True
    id_key: str = "id"


_COLLECTIONS: Mapping[tuple[str, str], _Collection] = {
    ("compute", "flavors"): _Collection(one="flavor", many="flavors", owned="all", lists_names=False),
    ("compute", "os-keypairs"): _Collection(
        one="keypair", many="keypairs", owned="user", lists_names=False, id_key="name"
    ),
    ("compute", "servers"): _Collection(one="server", many="servers"),
    ("image", "images"): _Collection(one="", many="images"),
    ("network", "networks"): _Collection(one="network", many="networks"),
    ("network", "subnets"): _Collection(one="subnet", many="subnets"),
    ("network", "ports"): _Collection(one="port", many="ports"),
    ("network", "routers"): _Collection(one="router", many="routers"),
    ("network", "security-groups"): _Collection(one="security_group", many="security_groups"),
    ("network", "subnetpools"): _Collection(one="subnetpool", many="subnetpools"),
    ("network", "address-scopes"): _Collection(one="address_scope", many="address_scopes"),
    ("network", "segments"): _Collection(one="segment", many="segments"),
    ("network", "qos-policies"): _Collection(one="policy", many="policies"),
    ("volume", "volumes"): _Collection(one="volume", many="volumes"),
    ("volume", "snapshots"): _Collection(one="snapshot", many="snapshots"),
    ("volume", "backups"): _Collection(one="backup", many="backups"),
    ("volume", "qos-specs"): _Collection(one="qos_specs", many="qos_specs", owned="all", lists_names=False),
    ("volume", "types"): _Collection(one="volume_type", many="volume_types", owned="all", lists_names=False),
    ("identity", "projects"): _Collection(one="project", many="projects", owned="all"),
    ("identity", "users"): _Collection(one="user", many="users", owned="all"),
    ("identity", "roles"): _Collection(one="role", many="roles", owned="all"),
    ("identity", "domains"): _Collection(one="domain", many="domains", owned="all"),
    ("identity", "groups"): _Collection(one="group", many="groups", owned="all"),
    ("identity", "services"): _Collection(one="service", many="services", owned="all"),
    ("identity", "regions"): _Collection(one="region", many="regions", owned="all", lists_names=False),
}
_VERSIONS: Mapping[str, tuple[str, str, str]] = {
    # Service: the path of its version, its greatest microversion, its least.
    "compute": ("v2.1", "2.104", "2.1"),
    "image": ("v2", "", ""),
    "network": ("v2.0", "", ""),
    "volume": ("v3", "3.71", "3.0"),
    "identity": ("v3", "", ""),
}
_IDS: Mapping[str, str] = {
    "compute": "v2.1",
    "image": "v2.17",
    "network": "v2.0",
    "volume": "v3.0",
    "identity": "v3.14",
}
_TYPES: Mapping[str, str] = {"volume": "block-storage"}


class OpenStackApi(HttpApi):
    """The cloud; users log in with their own name as the password, or another."""

    def __init__(self, *users: User) -> None:
        super().__init__()
        self.users = {user.name: user for user in users or (User(name="demo", project="demo"),)}
        #: By user, another password than the name.
        self.passwords: dict[str, str] = {}
        self.left_out: set[str] = set()
        self._logins: dict[str, User] = {}
        self._things: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in _COLLECTIONS}
        self._tokens = itertools.count(1)
        self.begin_anew()

    # -- what a test says --------------------------------------------------------------------------------------

    def begin_anew(self) -> None:
        """Let only users, their projects and the domain be there; who is logged in stays so, and nothing fails."""
        self.heal()
        self.forget_requests()
        self.left_out.clear()
        self.passwords.clear()
        for things in self._things.values():
            things.clear()
        for user in self.users.values():
            self.have("identity", "users", name=user.name, id=user.id)
        for project, its_id in {user.project: user.project_id for user in self.users.values()}.items():
            self.have("identity", "projects", name=project, id=its_id)
        self.have("identity", "domains", name="Default", id="default")

    def have(self, service: str, collection: str, *, name: str, of: str = "demo", **fields: Any) -> str:
        """Let something be there, of the user ``of``; return its id."""
        thing = {"id": str(uuid.uuid4()), "name": name, "_of": of, **fields}
        with self._lock:
            self._things[service, collection].append(thing)
        return str(thing["id"])

    def lose(self, service: str, collection: str, *, name: str) -> None:
        """Let nothing of this name be there any more."""
        with self._lock:
            things = self._things[service, collection]
            things[:] = [thing for thing in things if thing["name"] != name]

    def revoke_tokens(self) -> None:
        """Let every token be invalid from now on."""
        with self._lock:
            self._logins.clear()

    def write_clouds(self, directory: Path) -> Path:
        """Write a clouds.yaml with a cloud for each user, and return where."""
        clouds = {user.name: {"auth": self.auth(user), "region_name": REGION} for user in self.users.values()}
        path = directory / "clouds.yaml"
        # JSON is YAML.
        path.write_text(json.dumps({"clouds": clouds}))
        return path

    def auth(self, user: User) -> dict[str, str]:
        """Return how a user logs in."""
        return {
            "auth_url": f"{self.url}/identity/v3",
            "username": user.name,
            "password": self.passwords.get(user.name, user.name),
            "project_name": user.project,
            "user_domain_id": "default",
            "project_domain_id": "default",
        }

    def looked(self) -> list[str]:
        """Return what was asked besides logins and versions, as ``GET /compute/v2.1/flavors``."""
        with self._lock:
            asked = [f"{each.method} {each.path}" for each in self.requests]
        return [each for each in asked if each.count("/") > 2 and not each.endswith("/auth/tokens")]

    @property
    def logins(self) -> int:
        """How often anybody tried to log in."""
        return self.count("POST", "*/auth/tokens")

    # -- what the handler asks ---------------------------------------------------------------------------------

    def _tenant(self, headers: Mapping[str, str]) -> str | None:
        user = self._logins.get(headers.get("x-auth-token", ""))
        return user.name if user else None

    def _answer(self, asked: Asked) -> _Answer:
        _, service, *rest = asked.path.split("/", 2)
        below = rest[0] if rest else ""
        if service not in _VERSIONS:
            return _NOT_FOUND
        version = _VERSIONS[service][0]
        if below == "" or (below == version and service in ("compute", "identity")):
            return self._version(service, whole=below == "")
        if (service, asked.method, below) == ("identity", "POST", "v3/auth/tokens"):
            return self._log_in(asked.body)
        if asked.tenant is None:
            return _Answer(HTTPStatus.UNAUTHORIZED, {"error": {"code": 401, "message": "who are you?"}})
        user = self.users[asked.tenant]
        # The one collection of these that is below another path.
        parts = below.removeprefix(f"{version}/").replace("qos/policies", "qos-policies").split("/")
        collection = _COLLECTIONS.get((service, parts[0]))
        if not below.startswith(f"{version}/") or collection is None or len(parts) > 2:
            return _NOT_FOUND
        with self._lock:
            things = list(self._things[service, parts[0]])
        if len(parts) == 1 or parts[1] == "detail":
            return self._list(service, collection, user, things, asked)
        return self._get(service, collection, user, things, unquote(parts[1]))

    def _version(self, service: str, *, whole: bool) -> _Answer:
        path, newest, oldest = _VERSIONS[service]
        link = {"rel": "self", "href": f"{self.url}/{service}/{path}/"}
        shown = {"id": _IDS[service], "status": "CURRENT", "links": [link]}
        if newest:
            shown |= {"version": newest, "min_version": oldest}
        if not whole:
            return _Answer(HTTPStatus.OK, {"version": shown})
        versions = {"values": [shown]} if service == "identity" else [shown]
        return _Answer(HTTPStatus.MULTIPLE_CHOICES, {"versions": versions})

    def _log_in(self, body: Any) -> _Answer:
        identity = body["auth"]["identity"]
        given = identity.get("password", {}).get("user", {})
        user = self.users.get(given.get("name", ""))
        if "token" in identity["methods"]:
            user = self._logins.get(identity["token"]["id"])
        elif user is None or given.get("password") != self.passwords.get(user.name, user.name):
            user = None
        if user is None:
            return _Answer(HTTPStatus.UNAUTHORIZED, {"error": {"code": 401, "message": "no"}})
        token = f"token-{next(self._tokens)}"
        with self._lock:
            self._logins[token] = user
        return _Answer(HTTPStatus.CREATED, {"token": self._token(user)}, {"X-Subject-Token": token})

    def _token(self, user: User) -> dict[str, Any]:
        def endpoint(service: str) -> dict[str, str]:
            path = "" if service in ("image", "network") else f"/{_VERSIONS[service][0]}"
            url = f"{self.url}/{service}{path}"
            return {"interface": "public", "region_id": REGION, "region": REGION, "url": url, "id": service}

        domain = {"id": "default", "name": "Default"}
        now = datetime.now(UTC)
        return {
            "methods": ["password"],
            "user": {"domain": domain, "id": user.id, "name": user.name},
            "project": {"domain": domain, "id": user.project_id, "name": user.project},
            "roles": [{"id": "1", "name": "admin" if user.admin else "member"}],
            "issued_at": now.strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
            "expires_at": (now + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
            "catalog": [
                {
                    "id": service,
                    "name": service,
                    "type": _TYPES.get(service, service),
                    "endpoints": [endpoint(service)],
                }
                for service in _VERSIONS
                if service not in self.left_out
            ],
        }

    def _seen(self, collection: _Collection, user: User, thing: Mapping[str, Any], *, alone: bool) -> bool:
        owner = self.users.get(thing["_of"], user)
        match collection.owned:
            case "user":
                return owner == user
            case "project":
                return owner.project == user.project or thing.get("shared", False) or (alone and user.admin)
        return True

    def _list(
        self, service: str, collection: _Collection, user: User, things: list[dict[str, Any]], asked: Asked
    ) -> _Answer:
        if service == "identity" and not user.admin:
            return _FORBIDDEN
        seen = [thing for thing in things if self._seen(collection, user, thing, alone=False)]
        try:
            found = [thing for thing in seen if _fits(service, collection, thing, asked.query)]
        except ValueError as error:
            return _Answer(HTTPStatus.BAD_REQUEST, {"badRequest": {"code": 400, "message": str(error)}})
        ids = [thing[collection.id_key] for thing in found]
        start = ids.index(asked.query["marker"]) + 1 if "marker" in asked.query else 0
        page = found[start : start + _PAGE]
        items = [_told(thing) for thing in page]
        body: dict[str, Any] = {
            collection.many: [{"keypair": item} for item in items] if collection.many == "keypairs" else items
        }
        if start + _PAGE < len(found):
            query = "&".join(f"{key}={value}" for key, value in asked.query.items() if key != "marker")
            more = f"{asked.path}?marker={page[-1][collection.id_key]}&{query}"
            if service == "image":
                body["next"] = more.removeprefix("/image")
            else:
                body[f"{collection.many}_links"] = [{"rel": "next", "href": f"{self.url}{more}"}]
        return _Answer(HTTPStatus.OK, body)

    def _get(
        self, service: str, collection: _Collection, user: User, things: list[dict[str, Any]], name: str
    ) -> _Answer:
        if (collection.one, name) == ("volume_type", "default"):
            return _Answer(HTTPStatus.OK, {"volume_type": _told(things[0])})
        found = [
            thing
            for thing in things
            if thing[collection.id_key].casefold() == name.casefold()
            and self._seen(collection, user, thing, alone=True)
        ]
        if service == "identity" and not user.admin and name not in (user.id, user.project_id):
            return _FORBIDDEN
        if not found:
            return _NOT_FOUND
        return _Answer(
            HTTPStatus.OK, {collection.one: _told(found[0])} if collection.one else _told(found[0])
        )


_NOT_FOUND = _Answer(HTTPStatus.NOT_FOUND, {"itemNotFound": {"code": 404, "message": "It is not there."}})
_FORBIDDEN = _Answer(HTTPStatus.FORBIDDEN, {"error": {"code": 403, "message": "You are not authorized."}})


def _told(thing: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in thing.items() if not key.startswith("_")}


def _fits(service: str, collection: _Collection, thing: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    # Administrators are shown what is not public only if they ask for that.
    if not thing.get("is_public", True) and query.get("is_public", "").lower() != "none":
        return False
    if "domain_id" in query and thing.get("domain_id", "default") != query["domain_id"]:
        return False
    if service == "image" and bool(thing.get("os_hidden")) != (query.get("os_hidden", "").lower() == "true"):
        return False
    wanted = query.get("name")
    if service == "identity" and wanted is not None and not may_be_called(wanted):
        message = f"Invalid input for field/attribute name. Value: {wanted}."
        raise ValueError(message)
    if wanted is None or not collection.lists_names:
        return True
    if collection.many == "servers":
        return bool(re.search(wanted, thing["name"], re.IGNORECASE))
    if service == "image" and ":" in wanted:
        operator, _, wanted = wanted.partition(":")
        if operator != "eq":
            message = f"Unable to filter by unknown operator '{operator}'."
            raise ValueError(message)
    return bool(thing["name"].casefold() == wanted.casefold())


def may_be_called(name: str) -> bool:
    """Tell whether Keystone takes a name."""
    return bool(name.strip()) and len(name) <= 64


@contextmanager
def openstack_api(*users: User) -> Iterator[OpenStackApi]:
    """Run a cloud."""
    with OpenStackApi(*users) as api:
        yield api
