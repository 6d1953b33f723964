"""Look-ups in an OpenStack cloud: the id of an entity that is given by its id or name.

The id comes first: a name that is another's id means that other. An id is requested by itself, and counts only if the
answer is about it: some paths below a collection are other things, and one service answers ``default`` with its
default. An entity counts as missing only after the services listed what exists, never because one address was not
found, which may be a fault between client and service.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from hooks.values.dataclass import dataclass
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound

_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
#: ``name{domain}``: names the domain of a user, project or role.
_WITH_DOMAIN: Final = re.compile(r"(?P<name>.+)\{(?P<domain>[^{}]+)\}", re.DOTALL)
_NO_NAME: Final = re.compile(r"Invalid input for (?:field/attribute|query parameters) name\b")
_LONGEST_ID: Final = 255
#: Answers to an unknown or malformed id, or one that the user may not see.
_NOT_THIS: Final = frozenset({400, 403, 404})


def _exactly(name: str) -> str:
    return name


def _as_pattern(name: str) -> str:
    """Return a regular expression, as Nova expects."""
    return f"^{re.escape(name)}$"


def _as_operand(name: str) -> str:
    """Return a quoted operand: Glance takes what precedes a colon for an operator."""
    return f"eq:{name}" if ":" in name else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of entity: its service, and how that is queried."""

    service: str
    #: The path of the collection, and the key of a single one in an answer.
    path: str
    key: str
    #: The listing method of the service's proxy, and its arguments, tried in turn until something is found.
    lists: str
    queries: tuple[Mapping[str, Any], ...] = ({},)
    #: Returns the value that narrows a listing down to a name; None: it cannot be narrowed.
    narrowed: Callable[[str], str] | None = _exactly
    #: Whether ids are UUIDs; otherwise any text may be one.
    uuids: bool = True
    #: The key of the id in an answer.
    id_key: str = "id"
    #: Whether names are unique within domains only.
    domains: bool = False

    def may_be_id(self, text: str) -> bool:
        """Return whether a request for an entity with this id makes sense; no other text becomes part of an address."""
        if self.uuids:
            return bool(_UUID.fullmatch(text))
        return text.isprintable() and "/" not in text and bool(text.strip(".")) and len(text) <= _LONGEST_ID


_BRIEFLY: Final = ({"details": False},)


def _kind(service: str, key: str, **others: Any) -> Kind:
    """Return a kind with the usual names: ``network``, listed by ``networks`` at ``/networks``."""
    return Kind(**{"service": service, "key": key, "path": f"/{key}s", "lists": f"{key}s", **others})


#: By their names in messages.
KINDS: Final[Mapping[str, Kind]] = {
    "flavor": _kind("compute", "flavor", queries=_BRIEFLY, narrowed=None, uuids=False),
    "keypair": _kind("compute", "keypair", path="/os-keypairs", narrowed=None, uuids=False, id_key="name"),
    "server": _kind("compute", "server", queries=_BRIEFLY, narrowed=_as_pattern),
    # Hidden ones have been superseded, mostly by one of the same name. The answer is the image itself, without a key.
    "image": _kind(
        "image",
        "",
        path="/images",
        lists="images",
        queries=({}, {"is_hidden": True}),
        narrowed=_as_operand,
    ),
    "network": _kind("network", "network"),
    "subnet": _kind("network", "subnet"),
    "port": _kind("network", "port"),
    "router": _kind("network", "router"),
    "security group": _kind("network", "security_group", path="/security-groups"),
    "subnet pool": _kind("network", "subnetpool", lists="subnet_pools"),
    "address scope": _kind("network", "address_scope", path="/address-scopes"),
    "segment": _kind("network", "segment"),
    "QoS policy": _kind("network", "policy", path="/qos/policies", lists="qos_policies"),
    "volume": _kind("block_storage", "volume", queries=_BRIEFLY),
    "volume snapshot": _kind("block_storage", "snapshot", queries=_BRIEFLY),
    "volume backup": _kind("block_storage", "backup", queries=_BRIEFLY),
    "QoS specification": _kind(
        "block_storage", "qos_specs", path="/qos-specs", lists="qos_specs", narrowed=None
    ),
    # Private ones are listed for an administrator on request only; for flavors openstacksdk requests it.
    "volume type": _kind(
        "block_storage",
        "volume_type",
        path="/types",
        lists="types",
        queries=({"is_public": "none"},),
        narrowed=None,
    ),
    "project": _kind("identity", "project", uuids=False, domains=True),
    "user": _kind("identity", "user", uuids=False, domains=True),
    "role": _kind("identity", "role", uuids=False, domains=True),
    "group": _kind("identity", "group", uuids=False, domains=True),
    "domain": _kind("identity", "domain", uuids=False),
    "service": _kind("identity", "service", uuids=False),
    # Regions have no name besides their id.
    "region": _kind("identity", "region", uuids=False, narrowed=None),
}


def look_up(proxy: object, entity: str, text: str) -> str:
    """Return the id of the entity with this id or name, which may end with its domain: ``name{domain}``.

    Raises:
        EntityNotFound: no such entity is visible.
        AmbiguousName: there are several.
        Exception: the cloud could not be reached.
    """
    kind = KINDS[entity]
    if kind.domains and (parts := _WITH_DOMAIN.fullmatch(text)):
        domain = _look_up(proxy, "domain", KINDS["domain"], parts["domain"], {})
        return _look_up(proxy, entity, kind, parts["name"], {"domain_id": domain})
    return _look_up(proxy, entity, kind, text, {})


def _look_up(proxy: object, entity: str, kind: Kind, text: str, within: Mapping[str, str]) -> str:
    if not within and kind.may_be_id(text) and (found := _by_id(proxy, kind, text)) is not None:
        return found
    ids = _by_name(proxy, kind, text, within)
    if not ids:
        raise EntityNotFound(entity, text)
    if len(ids) > 1:
        raise AmbiguousName(entity, text, ids)
    return ids[0]


def _by_id(proxy: Any, kind: Kind, text: str) -> str | None:
    from openstack.exceptions import raise_from_response

    response = proxy.get(f"{kind.path}/{quote(text, safe='')}")
    if response.status_code in _NOT_THIS:
        return None
    raise_from_response(response)
    body = response.json()
    thing = body.get(kind.key) if kind.key else body
    found = thing.get(kind.id_key) if isinstance(thing, dict) else None
    # Databases with case-insensitive collation find both; the answer has the real spelling.
    return found if isinstance(found, str) and found.casefold() == text.casefold() else None


def _by_name(proxy: object, kind: Kind, name: str, within: Mapping[str, str]) -> tuple[str, ...]:
    narrowed = {} if kind.narrowed is None else {"name": kind.narrowed(name)}
    for query in kind.queries:
        if ids := _named(getattr(proxy, kind.lists)(**query, **narrowed, **within), name):
            return ids
    return ()


def _named(listed: Iterable[Any], name: str) -> tuple[str, ...]:
    from openstack.exceptions import BadRequestException

    try:
        return tuple(sorted({str(thing.id) for thing in listed if thing.name == name}))
    except BadRequestException as error:
        # Keystone refuses to search for an invalid name.
        if _NO_NAME.search(str(error)):
            return ()
        raise
