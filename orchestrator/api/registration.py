"""Registration of the API in keystone's catalogue, where clients look for it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from orchestrator.errors import Conflict, InvalidInput, NotAllowed, Problem, Unavailable

Made = TypeVar("Made")

#: In the order in which keystone's own tools have them.
INTERFACES: Final = ("public", "internal", "admin")
ORCHESTRATION: Final = "orchestration"
CLOUDFORMATION: Final = "cloudformation"
CREATED: Final = "created"
CHANGED: Final = "changed"
LEFT: Final = "left"
#: What keystone puts the caller's project in the place of.
_PROJECT: Final = "%(project_id)s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A service as it is to be in the catalogue of a region; ``urls`` are those of its endpoints by interface."""

    type: str
    name: str
    description: str
    urls: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the catalogue, and what became of it: :data:`CREATED`, :data:`CHANGED` or :data:`LEFT`."""

    what: str
    #: The type of the service; empty for a region.
    type: str
    #: The interface of an endpoint, the name of a service or of a region.
    name: str
    #: Empty unless it is an endpoint.
    url: str
    outcome: str
    #: What was changed, as it was before.
    before: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON types."""
        return asdict(self)


def services(name: str, addresses: Mapping[str, str], *, cfn: bool) -> tuple[Wanted, ...]:
    """Return what is to be registered for an API at these addresses, each as the setting ``api_url`` has it.

    Raises:
        InvalidInput: one of them is no address of the API.
    """
    problems = [
        Problem(path=f"--{each}", message=f"{address!r} is no address of the API", hint=_HINT)
        for each, address in addresses.items()
        if not _is_address(address)
    ]
    if not addresses:
        problems = [Problem(path="--public", message="there is no address to register", hint=_HINT)]
    if problems:
        raise InvalidInput(problems)
    bases = {each: address.rstrip("/") for each, address in addresses.items()}
    stacks = Wanted(
        type=ORCHESTRATION,
        name=name,
        description="Orchestration of stacks",
        urls={each: f"{base}/{_PROJECT}" for each, base in bases.items()},
    )
    machines = Wanted(
        type=CLOUDFORMATION,
        name=f"{name}-cfn",
        description="Signals and metadata for machines of stacks",
        urls=bases,
    )
    return (stacks, machines) if cfn else (stacks,)


_HINT: Final = "as the setting api_url: https://heat.example.com:8004/v1, without a project"


def _is_address(address: str) -> bool:
    try:
        found = urlsplit(address)
        is_whole = bool(found.hostname) and (found.port is None or found.port > 0)
    except ValueError:
        return False
    is_bare = not (found.query or found.fragment) and "%" not in address and "$" not in address
    return (
        is_whole and is_bare and found.scheme in ("http", "https") and found.path.rstrip("/").endswith("/v1")
    )


def connect(cloud: str | None) -> Any:
    """Return openstacksdk's connection, from clouds.yaml and the variables ``OS_*``; nothing is called.

    Raises:
        InvalidInput: openstacksdk is not installed, or they do not say how to log in.
    """
    try:
        import openstack
    except ImportError as error:
        message = f"openstacksdk is not installed ({error})"
        raise InvalidInput([Problem(message=message, hint="pip install 'isotherm[openstack]'")]) from error
    from keystoneauth1.exceptions import ClientException

    try:
        return openstack.connect(cloud=cloud)
    except (openstack.exceptions.SDKException, ClientException) as error:
        hint = "give --os-cloud, or set OS_CLOUD, or OS_AUTH_URL, OS_USERNAME and the others"
        raise InvalidInput([Problem(path="--os-cloud", message=str(error), hint=hint)]) from error


def register(connection: Any, wanted: Sequence[Wanted], *, region: str, dry_run: bool) -> list[Entry]:
    """Create what is missing in keystone's catalogue, and change what differs; a dry run only reports it.

    To repeat it changes nothing more. Endpoints of other regions, and of interfaces that are not wanted, are left.

    Raises:
        InvalidInput: there is no region.
        Conflict: there are several services of the type, or endpoints of the interface.
        NotAllowed: the user may not do it.
        Unavailable: keystone does not answer, or with an error.
    """
    region = region or connection.config.get_region_name("identity") or ""
    if not region:
        raise InvalidInput([Problem(path="--region", message="there is no region", hint="give --region")])
    with _as_ours():
        return list(_Catalogue(connection.identity, region, dry_run=dry_run).written(wanted))


class _Catalogue:
    def __init__(self, identity: Any, region: str, *, dry_run: bool) -> None:
        self._identity, self._region, self._dry_run = identity, region, dry_run

    def written(self, wanted: Sequence[Wanted]) -> Iterator[Entry]:
        known = {each.id for each in self._identity.regions()}
        if self._region not in known:
            self._unless_dry(lambda: self._identity.create_region(id=self._region))
            yield Entry(what="region", type="", name=self._region, url="", outcome=CREATED)
        for each in wanted:
            service, entry = self._service(each)
            yield entry
            for interface, url in each.urls.items():
                yield self._endpoint(each, service, interface, url)

    def _service(self, wanted: Wanted) -> tuple[Any, Entry]:
        found = _one(
            [each for each in self._identity.services(type=wanted.type) if each.type == wanted.type],
            f"services of the type {wanted.type}",
        )
        entry = {"what": "service", "type": wanted.type, "name": wanted.name, "url": ""}
        fields = {"name": wanted.name, "description": wanted.description, "is_enabled": True}
        if found is None:
            made = self._unless_dry(lambda: self._identity.create_service(type=wanted.type, **fields))
            return made, Entry(**entry, outcome=CREATED)
        if found.name == wanted.name and found.is_enabled:
            return found, Entry(**entry, outcome=LEFT)
        # An update changes what was found, too.
        before = _state(found.name, found)
        self._unless_dry(lambda: self._identity.update_service(found, **fields))
        return found, Entry(**entry, outcome=CHANGED, before=before)

    def _endpoint(self, wanted: Wanted, service: Any, interface: str, url: str) -> Entry:
        entry = {"what": "endpoint", "type": wanted.type, "name": interface, "url": url}
        # In a dry run there may be no service yet.
        found = None if service is None else self._found(service, interface)
        if found is None:
            self._unless_dry(
                lambda: self._identity.create_endpoint(
                    service_id=service.id, interface=interface, url=url, region_id=self._region
                )
            )
            return Entry(**entry, outcome=CREATED)
        if found.url == url and found.is_enabled:
            return Entry(**entry, outcome=LEFT)
        before = _state(found.url, found)
        self._unless_dry(lambda: self._identity.update_endpoint(found, url=url, is_enabled=True))
        return Entry(**entry, outcome=CHANGED, before=before)

    def _found(self, service: Any, interface: str) -> Any:
        # Keystone narrows down by all of it; what it knows by other names is left out here.
        listed = self._identity.endpoints(service_id=service.id, interface=interface, region_id=self._region)
        mine = (service.id, interface, self._region)
        return _one(
            [each for each in listed if (each.service_id, each.interface, each.region_id) == mine],
            f"{interface} endpoints of the service {service.name!r} in the region {self._region!r}",
        )

    def _unless_dry(self, make: Callable[[], Made]) -> Made | None:
        return None if self._dry_run else make()


def _one(found: Sequence[Any], what: str) -> Any:
    if len(found) > 1:
        ids = ", ".join(each.id for each in found)
        raise Conflict(f"there are {len(found)} {what}, expected one at most: {ids}; delete the others")
    return found[0] if found else None


def _state(words: str, found: Any) -> str:
    return words if found.is_enabled else f"{words} (disabled)"


@contextmanager
def _as_ours() -> Iterator[None]:
    """Raise errors of keystone and of its clients as ours."""
    from keystoneauth1.exceptions import ClientException, Forbidden, Unauthorized
    from openstack.exceptions import ForbiddenException, HttpException, SDKException

    try:
        yield
    except (Unauthorized, Forbidden, ForbiddenException) as error:
        raise NotAllowed(f"keystone refused it, which needs the role admin: {error}") from error
    except HttpException as error:
        if error.status_code == _UNAUTHORIZED:
            raise NotAllowed(f"keystone refused the login: {error}") from error
        raise Unavailable(f"keystone answered with an error: {error}") from error
    except (SDKException, ClientException) as error:
        raise Unavailable(f"keystone cannot be used: {error}") from error


_UNAUTHORIZED: Final = 401
