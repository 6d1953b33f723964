"""One connection to an OpenStack cloud, shared by all clients of a process with the same access.

openstacksdk is imported here, and only when a cloud is configured: Isotherm runs without it. Its thread safety is
undocumented. keystoneauth, below it, guards the login by a lock so that threads may share a session, and the pool
of requests is thread-safe.

No lock is held while the cloud is called: the login and the discovery of each service are made once for all threads
that need them (:mod:`cache.stores.shared_calls`), so that a service that hangs holds up nothing but itself.
"""

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet, WeakValueDictionary

from cache.stores.shared_calls import SharedCalls
from hooks.values.dataclass import dataclass
from hooks.values.nearest import SOMEWHAT_ALIKE, Nearest
from orchestrator.config.logger import get_logger

if TYPE_CHECKING:
    from openstack.config.cloud_region import CloudRegion
    from openstack.connection import Connection
    from openstack.proxy import Proxy

log = get_logger()

#: Options of a login that identify the user; where none is given, only the cloud knows.
_WHO: Final = frozenset({"username", "user_id", "application_credential_id"})
#: The key of the login among the shared calls; the others are services.
_LOGIN: Final = "login"
#: Makes a call, in one attempt or several.
Patiently = Callable[[Callable[[], Any]], Any]
#: Returns, for the address and the region of a cloud, what is called before each request to it.
Rate = Callable[[str], Callable[[], None]]
#: The number of connections kept for further requests; any above are closed after their answer.
_MOST_AT_ONCE: Final = 64
# keystoneauth's warnings are raised as errors too, or do not matter. Where a process keeps logs they are there; they
# do not concern the user of a command.
logging.getLogger("keystoneauth").addHandler(logging.NullHandler())


class BadAccess(Exception):
    """A cloud is inaccessible by its settings: ``option`` is wrong, for the reason ``message``."""

    def __init__(self, option: str, message: str, hint: str = "") -> None:
        super().__init__(option, message, hint)
        self.option, self.message, self.hint = option, message, hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The access to a cloud: its entry in a clouds.yaml."""

    cloud: str
    #: Empty: openstacksdk's own search for ``clouds.yaml``.
    config_file: str = ""
    #: Empty: the file's.
    region: str = ""
    #: Logs in with this application credential; empty: as the entry says.
    application_credential_id: str = ""
    application_credential_secret: str = field(default="", repr=False)
    #: For each request: to connect, and for each part of the answer.
    timeout_seconds: float = 10.0
    #: How long the outcome of a login or a discovery, a failure included, serves those who ask later.
    shared_seconds: float = 1.0
    #: The limit of requests, without which clients would share a connection whose limits differ.
    requests_per_second: float = 0.0
    burst: int = 0


def unlimited(_target: str) -> Callable[[], None]:
    """Return what limits no requests."""
    return lambda: None


def once(call: Callable[[], Any]) -> Any:
    """Make a call in one attempt.

    Raises:
        Exception: what it raised.
    """
    from workers.clients.openstack_attempts import attempted

    return attempted(call)


class Cloud:
    """A cloud as one user sees it; connected on first use, once per process. Safe for threads and forks."""

    def __init__(self, access: Access, rate: Rate = unlimited) -> None:
        """Read the file; nothing is connected.

        Raises:
            BadAccess: openstacksdk is not installed, or the file does not define how to reach the cloud.
        """
        self._access, self._rate = access, rate
        #: Held for a moment only, never while the cloud is called.
        self._lock = threading.Lock()
        self._region: CloudRegion | None = _load(access)
        self._connection: Connection | None = None
        self._proxies: dict[str, Proxy] = {}
        #: What answers of services depend on, by service.
        self._scopes: dict[str, tuple[str, ...]] = {}
        self._calls: SharedCalls[Any] = SharedCalls(access.shared_seconds)
        #: How often it has begun with another login.
        self.logins = 0
        _ALL.add(self)

    @classmethod
    def shared(cls, access: Access, rate: Rate = unlimited) -> "Cloud":
        """Return the cloud that all callers with this access share, and with it the ``rate`` of the first.

        Raises:
            BadAccess: see ``__init__``.
        """
        with _SHARING:
            if (cloud := _SHARED.get(access)) is None:
                cloud = _SHARED[access] = cls(access, rate)
            return cloud

    def proxy(self, service: str, patiently: Patiently = once) -> Any:
        """Return openstacksdk's proxy of a service (``compute``, ``block_storage`` ...); discovers its versions first.

        The login and the discovery are made with ``patiently``, each once for all who need them at the time.

        Raises:
            Exception: the cloud could not be reached.
        """
        connection, calls = self._connected()
        self._log_in(connection, calls, patiently)
        if (proxy := self._proxies.get(service)) is not None:
            return proxy
        return calls.call(service, lambda: patiently(lambda: self._discovered(connection, service)))

    def jointly(self, what: str, call: Callable[[], Any], patiently: Patiently = once) -> Any:
        """Return what ``call`` returns, made once for all who need ``what`` at the time.

        Raises:
            Exception: what ``call`` raised.
        """
        _, calls = self._connected()
        return calls.call(what, lambda: patiently(call))

    def seen_as(self, service: str) -> tuple[str, ...]:
        """Return what a service's answers depend on: its address, and the user; never a secret.

        The cloud is called only where the options of the login do not identify the user, as with a token, and only
        until it answered once.
        """
        if (known := self._scopes.get(service)) is not None:
            return known
        region = self._loaded()
        place = (region.get_region_name(service), region.get_interface(service), region.get_endpoint(service))
        scope = (*(part or "" for part in place), region.config["auth_type"], *self._identity(region))
        with self._lock:
            if self._region is region:
                self._scopes[service] = scope
        return scope

    def secrets(self) -> frozenset[str]:
        """Return the secret options of the login, and the token if there is one; the cloud is not called."""
        from keystoneauth1.loading import get_plugin_loader

        with self._lock:
            region, connection = self._region, self._connection
        if region is None:
            return frozenset()
        given = region.get_auth_args()
        options = get_plugin_loader(region.config["auth_type"]).get_options()
        found = {str(given[each.dest]) for each in options if each.secret and given.get(each.dest)}
        access = getattr(connection and connection.session.auth, "auth_ref", None)
        return frozenset(found | ({access.auth_token} if access is not None else set()))

    def _identity(self, region: "CloudRegion") -> list[str]:
        from keystoneauth1.loading import get_plugin_loader

        given = region.get_auth_args()
        kind = region.config["auth_type"]
        options = [option.dest for option in get_plugin_loader(kind).get_options() if not option.secret]
        identity = [f"{name}={given[name]}" for name in sorted(options) if given.get(name)]
        if _WHO & {name for name in options if given.get(name)}:
            return identity
        connection, calls = self._connected()
        self._log_in(connection, calls, once)
        session = connection.session
        return [*identity, f"user={session.get_user_id()}", f"project={session.get_project_id()}"]

    @property
    def region(self) -> str:
        """The region in which its services are called; empty if neither the file nor the settings name one."""
        return str(self._loaded().get_region_name() or "")

    def regions(self, patiently: Patiently = once) -> frozenset[str]:
        """Return the regions of the user's catalogue.

        Raises:
            Exception: the cloud does not answer, or refuses the user.
        """
        connection, calls = self._connected()
        self._log_in(connection, calls, patiently)
        login: Any = connection.session.auth
        catalogue = login.get_access(connection.session).service_catalog
        found = [each for endpoints in catalogue.get_endpoints().values() for each in endpoints]
        return frozenset(str(each["region_id"]) for each in found if each.get("region_id"))

    def log_in(self) -> str:
        """Log in, unless that was done already; return the cloud and the user, for display.

        Raises:
            Exception: the cloud does not answer, or refuses the user.
        """
        connection, calls = self._connected()
        self._log_in(connection, calls, once)
        given = self._loaded().get_auth_args()
        identity = ", ".join(
            f"{name} {given[name]}" for name in ("username", "project_name") if given.get(name)
        )
        where = given.get("auth_url") or self._access.cloud
        return f"{where} lets in {identity or connection.session.get_user_id()}"

    def has_other_login(self, logins: int) -> bool:
        """Return whether there is another login than after so many, as the file has changed; it is read again for that.

        A file that cannot be read leaves all as it is: it may be in the middle of a change.
        """
        if self.logins != logins:
            # Another thread has read it.
            return True
        try:
            region = _load(self._access)
        except BadAccess as error:
            log.warning("the new clouds.yaml is not read", cloud=self._access.cloud, reason=error.message)
            return False
        with self._lock:
            if self.logins != logins:
                return True
            if self._region is not None and self._region.config == region.config:
                return False
            # Requests under way end over the old connection.
            self._forget()
            self._region = region
            self.logins += 1
        log.info("clouds.yaml has another login", cloud=self._access.cloud)
        return True

    def close(self) -> None:
        """Close the connections; what is needed later is made anew."""
        with self._lock:
            connection = self._connection
            self._forget()
        if connection is not None:
            connection.close()

    def _loaded(self) -> "CloudRegion":
        with self._lock:
            if self._region is None:
                self._region = _load(self._access)
            return self._region

    def _connected(self) -> "tuple[Connection, SharedCalls[Any]]":
        """Return the connection, which calls nothing by itself, and the calls made over it."""
        from openstack.connection import Connection

        from workers.clients.openstack_attempts import AttemptAdapter

        region = self._loaded()
        with self._lock:
            if self._connection is None:
                self._connection = Connection(config=region)
                address = region.get_auth_args().get("auth_url") or self._access.cloud
                before = self._rate(f"{address} {region.get_region_name() or ''}".rstrip())
                for scheme in ("http://", "https://"):
                    adapter = AttemptAdapter(before, pool_maxsize=_MOST_AT_ONCE)
                    self._connection.session.mount(scheme, adapter)
                # The file may have openstacksdk cache answers; callers here need the present state.
                self._connection.cache_enabled = False
            return self._connection, self._calls

    def _log_in(self, connection: "Connection", calls: SharedCalls[Any], patiently: Patiently) -> None:
        calls.call(_LOGIN, lambda: patiently(connection.session.get_token))

    def _discovered(self, connection: "Connection", service: str) -> Any:
        proxy = getattr(connection, service)
        # Callers retry themselves; openstacksdk would too, for some services for half a minute.
        proxy.connect_retries = proxy.status_code_retries = 0
        with self._lock:
            # Unless it was closed meanwhile.
            if self._connection is connection:
                self._proxies[service] = proxy
        return proxy

    def _forget(self) -> None:
        self._region, self._connection, self._proxies, self._scopes = None, None, {}, {}
        self._calls = SharedCalls(self._access.shared_seconds)

    def after_fork(self) -> None:
        """Drop, in a forked process, the parent's state: sockets, and locks that its threads may hold."""
        self._lock = threading.Lock()
        self._forget()


_ALL: Final[WeakSet[Cloud]] = WeakSet()
_SHARED: Final[WeakValueDictionary[Access, Cloud]] = WeakValueDictionary()
_SHARING: Final = threading.Lock()


def _after_fork() -> None:
    _SHARING.release()
    for cloud in list(_ALL):
        cloud.after_fork()


os.register_at_fork(before=_SHARING.acquire, after_in_parent=_SHARING.release, after_in_child=_after_fork)


def _load(access: Access) -> "CloudRegion":
    try:
        from keystoneauth1.exceptions import ClientException
        from openstack.config import OpenStackConfig
        from openstack.exceptions import SDKException
    except ImportError as error:
        hint = "pip install 'isotherm[openstack]'"
        raise BadAccess("cloud", f"openstacksdk is not installed ({error})", hint) from error

    file = access.config_file
    if file and not Path(file).is_file():
        raise BadAccess("config_file", "there is no such file")
    try:
        # OS_* variables belong to a user's shell: mixed in, they would change the user of a service.
        config = OpenStackConfig(config_files=[file] if file else None, load_envvars=False)
        if file and not config.config_filename:
            raise BadAccess("config_file", "the file may not be read, or is no YAML")
        known = config.get_cloud_names() if config.config_filename else []
        if access.cloud not in known:
            raise _unknown(access.cloud, known, config.config_filename)
        if access.application_credential_id:
            _log_in_with(config.cloud_config["clouds"][access.cloud], access)
        return config.get_one(
            cloud=access.cloud, region_name=access.region or None, api_timeout=access.timeout_seconds
        )
    except (SDKException, ClientException) as error:
        raise BadAccess(
            "region" if access.region and "Region" in str(error) else "cloud", str(error)
        ) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # The message of the error may quote a part of the file.
        message = f"openstacksdk cannot make sense of what the file says ({type(error).__name__})"
        raise BadAccess("cloud", message) from error


def _log_in_with(entry: dict[str, Any], access: Access) -> None:
    """Change an entry of a clouds.yaml, as it was read, so that it logs in with an application credential."""
    entry["auth_type"] = "v3applicationcredential"
    entry["auth"] = {
        "auth_url": entry["auth"]["auth_url"],
        "application_credential_id": access.application_credential_id,
        "application_credential_secret": access.application_credential_secret,
    }


def _unknown(cloud: str, known: list[str], file: str | None) -> BadAccess:
    if file is None:
        hint = "write one, or set config_file to where it is"
        return BadAccess("cloud", "there is no clouds.yaml where openstacksdk looks for it", hint)
    names = ", ".join(repr(name) for name in sorted(known)) or "none"
    hint = Nearest(alike=SOMEWHAT_ALIKE).hint(cloud, known, f"it has {names}")
    return BadAccess("cloud", f"{file} has no cloud {cloud!r}", hint)
