"""What can be looked up in an OpenStack cloud, and how an id or a name becomes an id.

The id comes first: a name that is another's id means that other. An id is asked for by itself, and counts only if the
answer is about it: some paths below a collection are other things, and one service answers ``default`` with its
default. "There is none" is said only after the services listed what there is, never because one address was not
found, which may mean that something between here and there is broken.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from orchestrator.plugins.asking import AmbiguousName, EntityNotFound

_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
#: ``name{domain}``: the way to say which domain's user, project or role is meant.
_WITH_DOMAIN: Final = re.compile(r"(?P<name>.+)\{(?P<domain>[^{}]+)\}", re.DOTALL)
_NO_NAME: Final = re.compile(r"Invalid input for (?:field/attribute|query parameters) name\b")
_LONGEST_ID: Final = 255
#: What services answer that know nothing of an id, or find it no id, or do not tell strangers whether it is one.
_NOT_THIS: Final = frozenset({400, 403, 404})


def _exactly(name: str) -> str:
    return name


def _as_pattern(name: str) -> str:
    """Nova takes a regular expression."""
    return f"^{re.escape(name)}$"


def _as_operand(name: str) -> str:
    """Glance takes what is before a colon for an operator."""
    return f"eq:{name}" if ":" in name else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of thing: which service has it, and how that is asked."""

    service: str
    #: Of the collection, and the key of a single one in an answer.
    path: str
    key: str
    #: The method of the service's proxy that lists them, and what it is told, again and again until something is found.
    lists: str
    queries: tuple[Mapping[str, Any], ...] = ({},)
    #: Returns what a listing is told to have it narrowed down to a name; None: it cannot be.
    narrowed: Callable[[str], str] | None = _exactly
    #: Whether ids are UUIDs; otherwise any text may be one.
    uuids: bool = True
    #: What an id is called in an answer.
    id_key: str = "id"
    #: Whether names are told apart by domains.
    domains: bool = False

    def may_be_id(self, text: str) -> bool:
        """Tell whether it is worth asking for a thing with this id; nothing else ever becomes part of an address."""
        if self.uuids:
            return bool(_UUID.fullmatch(text))
        return text.isprintable() and "/" not in text and bool(text.strip(".")) and len(text) <= _LONGEST_ID


#: By the names that sentences use.
KINDS: Final[Mapping[str, Kind]] = {
    "flavor": Kind(
        service="compute",
        path="/flavors",
        key="flavor",
        lists="flavors",
        queries=({"details": False},),
        narrowed=None,
        uuids=False,
    ),
    "keypair": Kind(
        service="compute",
        path="/os-keypairs",
        key="keypair",
        lists="keypairs",
        narrowed=None,
        uuids=False,
        id_key="name",
    ),
    "server": Kind(
        service="compute",
        path="/servers",
        key="server",
        lists="servers",
        queries=({"details": False},),
        narrowed=_as_pattern,
    ),
    # Hidden ones have been superseded, mostly by one of the same name.
    "image": Kind(
        service="image",
        path="/images",
        key="",
        lists="images",
        queries=({}, {"is_hidden": True}),
        narrowed=_as_operand,
    ),
    "network": Kind(service="network", path="/networks", key="network", lists="networks"),
    "subnet": Kind(service="network", path="/subnets", key="subnet", lists="subnets"),
    "port": Kind(service="network", path="/ports", key="port", lists="ports"),
    "router": Kind(service="network", path="/routers", key="router", lists="routers"),
    "security group": Kind(
        service="network", path="/security-groups", key="security_group", lists="security_groups"
    ),
    "volume": Kind(
        service="block_storage",
        path="/volumes",
        key="volume",
        lists="volumes",
        queries=({"details": False},),
    ),
    "volume snapshot": Kind(
        service="block_storage",
        path="/snapshots",
        key="snapshot",
        lists="snapshots",
        queries=({"details": False},),
    ),
    # An administrator is shown those that are not public only if he asks for it; of flavors openstacksdk does.
    "volume type": Kind(
        service="block_storage",
        path="/types",
        key="volume_type",
        lists="types",
        queries=({"is_public": "none"},),
        narrowed=None,
    ),
    "project": Kind(
        service="identity", path="/projects", key="project", lists="projects", uuids=False, domains=True
    ),
    "user": Kind(service="identity", path="/users", key="user", lists="users", uuids=False, domains=True),
    "role": Kind(service="identity", path="/roles", key="role", lists="roles", uuids=False, domains=True),
}

_DOMAIN: Final = Kind(service="identity", path="/domains", key="domain", lists="domains", uuids=False)


def look_up(proxy: Any, entity: str, text: str) -> str:
    """Return the id of what has this id or name.

    Args:
        proxy: openstacksdk's proxy of the service that has such things.
        entity: A key of ``KINDS``.
        text: The id; or the name, of a project, user or role perhaps with its domain: ``name{domain}``.

    Raises:
        EntityNotFound: there is none that may be seen.
        AmbiguousName: there are several.
        Exception: the cloud could not be asked.
    """
    kind = KINDS[entity]
    if kind.domains and (parts := _WITH_DOMAIN.fullmatch(text)):
        domain = _look_up(proxy, "domain", _DOMAIN, parts["domain"], {})
        return _look_up(proxy, entity, kind, parts["name"], {"domain_id": domain})
    return _look_up(proxy, entity, kind, text, {})


def _look_up(proxy: Any, entity: str, kind: Kind, text: str, within: Mapping[str, str]) -> str:
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
    # Databases that do not tell upper from lower case find both; the answer has it as it is.
    return found if isinstance(found, str) and found.casefold() == text.casefold() else None


def _by_name(proxy: Any, kind: Kind, name: str, within: Mapping[str, str]) -> tuple[str, ...]:
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
        # Keystone refuses to look for what it would not take for a name.
        if _NO_NAME.search(str(error)):
            return ()
        raise
