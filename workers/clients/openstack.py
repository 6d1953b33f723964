"""Client plugins of OpenStack: one for constraints' look-ups, and one per service whose version types depend on.

All of them share the settings of ``[clients.openstack]`` and one connection. ``openstack`` looks things up;
``nova``, ``glance``, ``neutron``, ``cinder`` and ``keystone`` report the version of their service.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin, LookupCache
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.request_rates import RATE_OPTIONS
from workers.clients import openstack_errors
from workers.clients.openstack_cloud import Access, BadAccess, Cloud
from workers.clients.openstack_entities import KINDS, look_up

Answer = TypeVar("Answer")

#: The longest pause between two attempts.
_LONGEST_PAUSE_SECONDS: Final = 10.0


class OpenStack(ClientPlugin):
    """An OpenStack cloud, as openstacksdk and its ``clouds.yaml`` know it."""

    name = "openstack"
    description = "An OpenStack cloud: looks up what its services have, by id or name."
    options_schema: ClassVar[Mapping[str, Property]] = {
        "cloud": Property(
            type=PropertyType.STRING,
            description="The name of the cloud in clouds.yaml, which has its address and credentials.",
            required=True,
        ),
        "config_file": Property(
            type=PropertyType.STRING,
            description="The path of clouds.yaml; by default in the working directory, the user's "
            "configuration directory or /etc/openstack. The variables OS_* are never read.",
        ),
        "region": Property(
            type=PropertyType.STRING,
            description="The region; by default the one that clouds.yaml names, or its first.",
        ),
        "application_credential_id": Property(
            type=PropertyType.STRING,
            description="The id of an application credential to log in with, in place of the login in clouds.yaml.",
        ),
        "application_credential_secret": Property(
            type=PropertyType.STRING, description="Its secret.", sensitive=True
        ),
        "timeout_seconds": Property(
            type=PropertyType.NUMBER,
            description="How long a request may take to connect, and the cloud to answer.",
            default=10,
            constraints=(Range(min=0.1, max=600),),
        ),
        "retries": Property(
            type=PropertyType.INTEGER,
            description="How often a look-up is tried again if the cloud does not answer, or answers 408, "
            "429, 500, 502, 503 or 504. The pauses are random and growing, or as long as the cloud requests; "
            "a request for more than 10 seconds ends the attempts.",
            default=2,
            constraints=(Range(min=0, max=10),),
        ),
        "volume_backups": Property(
            type=PropertyType.BOOLEAN,
            description="Whether the cloud has a service for backups of volumes. Without one, snapshots of stacks have "
            "snapshots of their volumes, and volumes cannot have the deletion policy Snapshot.",
            default=True,
        ),
        **RATE_OPTIONS,
    }
    entities = frozenset(KINDS)
    #: The service whose version is reported, by openstacksdk's name.
    service: ClassVar[str] = "identity"
    #: Whether it has version discovery for openstacksdk; otherwise its address has its version.
    tells_versions: ClassVar[bool] = True
    #: The maximum of the first pause between two attempts; doubled for each further one.
    first_pause_seconds: ClassVar[float] = 0.5
    #: How long a failure of the login, or to find a service's versions, serves those who ask later.
    shared_seconds: ClassVar[float] = 1.0

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: LookupCache | None = None
    ) -> None:
        """Read ``clouds.yaml``; nothing is connected."""
        super().__init__(context, options, cache)
        access = Access(
            cloud=options["cloud"],
            config_file=options.get("config_file") or "",
            region=options.get("region") or "",
            application_credential_id=options.get("application_credential_id") or "",
            application_credential_secret=options.get("application_credential_secret") or "",
            timeout_seconds=float(options["timeout_seconds"]),
            shared_seconds=self.shared_seconds,
            requests_per_second=float(options["requests_per_second"]),
            burst=int(options["burst"]),
        )
        try:
            self._cloud = Cloud.shared(access, lambda target: self.request_rate(target).take)
        except BadAccess as error:
            raise self.misconfigured(error.option, error.message, error.hint) from error
        self._version: str | None = None
        self._extensions: frozenset[str] | None = None

    @property
    def api_version(self) -> str:
        """The newest version of the service, such as ``2.96`` of Nova, or the one in clouds.yaml.

        Of services with microversions it is a microversion. It is read once.
        """
        if self._version is None:
            what = f"version of {self.service}"
            self._version = str(
                self._let_in(
                    lambda proxy: self._cloud.jointly(what, lambda: self._api_version(proxy), self._patiently)
                )
            )
        return self._version

    def proxy(self) -> Any:
        """Return openstacksdk's proxy of the service, which is thread-safe.

        Raises:
            Exception: the cloud could not be reached.
        """
        return self._cloud.proxy(self.service, self._patiently)

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        microversion: str | None = None,
        headers: Mapping[str, str] | None = None,
        token: str = "",
    ) -> Any:
        """Send a request to the service, and return the JSON of the answer; None if that has none.

        ``path`` is below the address of the service's version, such as ``/networks``. Reading (GET) is tried again, as
        often as the settings say; nothing else is. With a ``token``, the request is that of the token's user.

        Raises:
            Exception: the service did not answer, or refused; the predicates of this client classify it.
        """
        from openstack.exceptions import raise_from_response

        from workers.clients.openstack_attempts import attempted

        own = {"X-Auth-Token": token} if token else {}

        def send(proxy: Any) -> Any:
            response = proxy.request(
                path,
                method,
                json=body,
                params=dict(query or {}),
                microversion=microversion,
                headers={"Accept": "application/json", **own, **(headers or {})},
                authenticated=not token,
            )
            raise_from_response(response)
            return response.json() if response.content else None

        in_attempts = self._patiently if method == "GET" else attempted
        if token:
            # If that is not let in, no other login will help.
            proxy = self.proxy()
            return in_attempts(lambda: send(proxy))
        return self._let_in(lambda proxy: in_attempts(lambda: send(proxy)))

    def listed(
        self, path: str, plural: str, query: Mapping[str, Any], *, microversion: str | None = None
    ) -> list[Any]:
        """Return the whole of a list, with all of its pages.

        Raises:
            Exception: as for :meth:`ask`.
        """
        found: list[Any] = []
        while True:
            answer = self.ask("GET", path, query=query, microversion=microversion)
            page = answer[plural]
            found += page
            if not page or not _has_more(answer, plural):
                return found
            query = {**query, "marker": page[-1]["id"]}

    @property
    def region(self) -> str:
        """The region in which services are called; empty if neither clouds.yaml nor the settings name one."""
        return self._cloud.region

    def regions(self) -> frozenset[str]:
        """Return the regions that the user's catalogue has.

        Raises:
            Exception: the cloud could not be reached.
        """
        return self._cloud.regions(self._patiently)

    def scope(self, entity: str) -> tuple[str, ...]:
        """Return the cloud, its region, and the user: the visible entities depend on the user's roles."""
        return self._cloud.seen_as(KINDS[entity].service)

    def look_up(self, entity: str, name: str) -> str:
        """Return the id of an entity, from the cloud."""
        return self._let_in(
            lambda proxy: self._patiently(lambda: look_up(proxy, entity, name)), KINDS[entity].service
        )

    def secrets(self) -> Iterable[str]:
        """Return the secret options of the login in clouds.yaml, and the token."""
        return self._cloud.secrets()

    def extensions(self) -> frozenset[str]:
        """Return the aliases of the extensions that the service has; they are read once.

        Raises:
            Exception: the service did not answer.
        """
        if self._extensions is None:
            listed = self.ask("GET", "/extensions")["extensions"]
            self._extensions = frozenset(str(each["alias"]) for each in listed)
        return self._extensions

    def delegate(self, token: str, name: str) -> Mapping[str, Any]:
        """Make an application credential of the user, in the project and with the roles of the token.

        It is unrestricted: it may make and delete application credentials, and so be revoked by itself.
        """
        shown = self.ask("GET", "/auth/tokens", token=token, headers={"X-Subject-Token": token})
        path = f"/users/{shown['token']['user']['id']}/application_credentials"
        wanted = {"name": name, "unrestricted": True, "description": "Made for a stack, and deleted with it."}
        made = self.ask("POST", path, token=token, body={"application_credential": wanted})
        found = made["application_credential"]
        return {
            "application_credential_id": found["id"],
            "application_credential_secret": found["secret"],
        }

    def revoke(self) -> None:
        """Delete the application credential that it logs in with; one that does not let in any more is fine."""
        from keystoneauth1.exceptions import NotFound, Unauthorized

        try:
            user = self.proxy().session.get_user_id()
            credential = self.options["application_credential_id"]
            self.ask("DELETE", f"/users/{user}/application_credentials/{credential}")
        except (NotFound, Unauthorized):
            return
        except Exception as error:
            if not self.is_not_found(error):
                raise

    def probe(self) -> str:
        """Log in; return the cloud and the user."""
        return self._cloud.log_in()

    def is_not_found(self, error: Exception) -> bool:
        """Return whether the cloud reported that something does not exist."""
        return super().is_not_found(error) or openstack_errors.is_not_found(error)

    def is_conflict(self, error: Exception) -> bool:
        """Return whether the cloud reported that something exists already, or is in the wrong state."""
        return openstack_errors.is_conflict(error)

    def is_forbidden(self, error: Exception) -> bool:
        """Return whether the cloud reported that the user may not do something, other than for a quota."""
        return openstack_errors.is_forbidden(error)

    def is_over_limit(self, error: Exception) -> bool:
        """Return whether the cloud reported that a quota, or a rate limit, is exceeded."""
        return openstack_errors.is_over_limit(error)

    def busy_seconds(self, error: Exception) -> float | None:
        """Return how long to wait if the cloud limits the rate of requests, or asks to come back later."""
        return openstack_errors.busy_seconds(error)

    def request_id_of(self, error: Exception) -> str:
        """Return the id that the service gave to the request that failed."""
        return openstack_errors.request_id_of(error)

    def is_retryable(self, error: Exception) -> bool:
        """Return whether a retry may succeed."""
        return openstack_errors.is_retryable(error)

    def close(self) -> None:
        """Close the connections, also those of other clients that share them: they connect again."""
        self._cloud.close()

    def _let_in(self, call: Callable[[Any], Answer], service: str = "") -> Answer:
        """Return what ``call`` returns, given the proxy of a service; again if the login in clouds.yaml is another now.

        keystoneauth has logged in anew by then, where a token had expired: the login itself is not valid any more.

        Raises:
            Exception: what ``call`` raised.
        """
        logins = self._cloud.logins
        try:
            return call(self._cloud.proxy(service or self.service, self._patiently))
        except Exception as error:
            if not openstack_errors.is_unauthorized(error) or not self._cloud.has_other_login(logins):
                raise
        return call(self._cloud.proxy(service or self.service, self._patiently))

    def _api_version(self, proxy: Any) -> str:
        from openstack.exceptions import ServiceDiscoveryException

        default = proxy.default_microversion
        if default and default != "latest":
            return str(default)
        data = proxy.get_endpoint_data()
        if data is None or (data.status is None and self.tells_versions):
            # The service's address was then taken for its version.
            raise ServiceDiscoveryException(f"service {self.service} does not tell its versions")
        return ".".join(map(str, data.max_microversion or data.api_version))

    def _patiently(self, call: Callable[[], Answer]) -> Answer:
        # Imports a library that may not be installed.
        from workers.clients.openstack_attempts import attempted

        attempts = stop_after_attempt(1 + self.options["retries"])
        backoff = wait_random_exponential(multiplier=self.first_pause_seconds, max=_LONGEST_PAUSE_SECONDS)

        def requested_wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            seconds = openstack_errors.retry_after_seconds(error) if isinstance(error, Exception) else None
            return seconds or 0.0

        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, Exception) and self.is_retryable(error)),
            stop=lambda state: attempts(state) or requested_wait(state) > _LONGEST_PAUSE_SECONDS,
            wait=lambda state: max(backoff(state), requested_wait(state)),
            reraise=True,
        )
        answer: Answer = retrying(attempted, call)
        return answer


def _has_more(answer: Mapping[str, Any], plural: str) -> bool:
    """Return whether a page of a list says that another follows, in the form of any of the services."""
    links = answer.get(f"{plural}_links") or ()
    others = answer.get("links")
    return (
        any(link.get("rel") == "next" for link in links)
        or bool(answer.get("next"))
        or bool(isinstance(others, Mapping) and others.get("next"))
    )


class _Service(OpenStack):
    """A client of one service: its version, and its proxy for resource types.

    Look-ups go through ``openstack`` alone, so that one cache holds their answers.
    """

    settings_of = OpenStack.name
    entities = frozenset()

    def probe(self) -> str:
        """Read the version."""
        return f"speaks version {self.api_version}"


def _service(name: str, service: str, title: str, **others: Any) -> type[_Service]:
    description = f"OpenStack's {title} service; its settings are those of openstack."
    facts = {"name": name, "service": service, "description": description, "__doc__": f"The {title} service."}
    return type(name, (_Service,), {**facts, **others})


Nova = _service("nova", "compute", "compute")
Glance = _service("glance", "image", "image")
# It has had this one version ever since; clouds differ in their extensions.
Neutron = _service("neutron", "network", "network", tells_versions=False)
Cinder = _service("cinder", "block_storage", "block storage")
Keystone = _service("keystone", "identity", "identity")
