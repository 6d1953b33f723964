"""The client plugin ``http``: any REST API configured in ``[clients.http]``, or several by name.

A *path* is looked up by a GET: it exists if the answer is one of success. ``/images/cirros`` is a path of the API that
``[clients.http]`` itself configures, ``images:/cirros`` one of ``[clients.http.apis.images]``.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from http import HTTPStatus
from typing import Any, ClassVar, Final

import jmespath
from jmespath.exceptions import JMESPathError

from hooks.values.nearest import Nearest
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin, LookupCache
from orchestrator.plugins.clients import PROJECTS
from orchestrator.plugins.properties import Property
from orchestrator.plugins.request_rates import RATE_OPTIONS
from workers.clients.http_failures import HttpError, HttpUnavailable, fault_of_path
from workers.clients.http_options import DEFAULT, OPTIONS_SCHEMA, ApiOptions, apis_of, misconfigured
from workers.clients.rest import RestApi

#: The kinds of look-ups: a path of an API, and an API by its name in the settings, which needs no request.
PATH: Final = "path"
API: Final = "HTTP API"
_GONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
_NOT_LET_IN: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def split_path(text: str) -> tuple[str, str]:
    """Return the name of the API in ``text``, and the path there."""
    api, colon, path = text.partition(":")
    return (api, path) if colon and "/" not in api else (DEFAULT, text)


class HttpClient(ClientPlugin):
    """Calls REST APIs."""

    name = "http"
    description = "Any REST API: where it is, who we are to it, and how much patience we have with it."
    options_schema: ClassVar[Mapping[str, Property]] = OPTIONS_SCHEMA
    entities = frozenset({PATH, API})

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: LookupCache | None = None
    ) -> None:
        """Keep the options; nothing is sent yet.

        Raises:
            ClientMisconfigured: they are inconsistent.
        """
        super().__init__(context, options, cache)
        self._options = apis_of(options)
        configured = context.settings.clients if context.settings else {}
        #: The options that hold for this project alone.
        self._own = frozenset(configured.get(self.section(), {}).get(PROJECTS, {}).get(context.project, {}))
        self._has_tenants = context.settings is not None and not context.settings.embedded
        self._lock = threading.Lock()
        self._apis: dict[str, RestApi] = {}
        self._version: str | None = None

    def api(self, name: str = DEFAULT) -> RestApi:
        """Return one of the APIs; each is made once.

        Raises:
            ClientMisconfigured: there is none of that name, it lacks a secret or a certificate, or its credentials
                would serve projects that it cannot tell apart.
        """
        with self._lock:
            if name not in self._apis:
                options = self._options.get(name)
                if options is None:
                    known = f"[clients.http] has {', '.join(map(repr, sorted(self._options)))}"
                    hint = Nearest().hint(name, self._options, known)
                    raise misconfigured("apis", f"the settings know no HTTP API {name!r}", hint)
                self._refuse_shared(options)
                rate = self.request_rate(str(options.base_url), options.model_dump(include={*RATE_OPTIONS}))
                self._apis[name] = RestApi(options, self.context.project, rate.take)
            return self._apis[name]

    def _refuse_shared(self, options: ApiOptions) -> None:
        """Refuse credentials with which one project could change the objects of another, or take them to its server."""
        has_own_server = options.name == DEFAULT and "base_url" in self._own
        is_apart = not has_own_server and (options.shared or options.project_header)
        is_own = ("auth" if options.name == DEFAULT else "apis") in self._own
        if not self._has_tenants or not options.identity.has_secret or is_apart or is_own:
            return
        place = "auth" if options.name == DEFAULT else f"apis.{options.name}.auth"
        project = self.context.project
        raise misconfigured(
            place,
            f"the credentials of the API {options.name!r} are not those of the project {project!r} alone",
            f"give it its own in [clients.http.projects.{project}], or let the API tell projects apart "
            "(project_header), or say that all may do everything there (shared = true)",
        )

    @property
    def api_version(self) -> str:
        """The version of the API in ``[clients.http]`` itself: as configured, or as it reports it; or empty.

        It is read once, and kept as long as the client lives.

        Raises:
            HttpError: it cannot be read, or has another form.
        """
        options = self._options.get(DEFAULT)
        if options is None or options.api_version or not options.api_version_path:
            return options.api_version if options else ""
        if self._version is None:
            answer = self.api().ask("GET", options.api_version_path)
            try:
                found = jmespath.search(options.api_version_json, answer.document())
            except JMESPathError:
                found = None
            if not isinstance(found, (str, int, float)) or isinstance(found, bool):
                raise HttpError(f"{answer.asked}: it tells no version at {options.api_version_json!r}")
            self._version = str(found)
        return self._version

    def scope(self, entity: str) -> tuple[str, ...]:  # noqa: ARG002  # there is one kind of thing
        """Return the addresses and identities that answers depend on."""
        known = sorted(self._options.values(), key=lambda each: each.name)
        return tuple(
            part for each in known for part in (each.name, str(each.base_url), *astuple(each.identity))
        )

    def look_up(self, entity: str, name: str) -> str:
        """Return a path in its full form if it answers a GET with success; an API, if it is configured.

        Raises:
            EntityNotFound: it does not exist, or is invalid.
            ClientMisconfigured: the API lacks a secret or a certificate.
            HttpError: its existence is unknown: the API refused or failed.
        """
        api, path = (name, "/") if entity == API else split_path(name)
        if api not in self._options:
            raise EntityNotFound(API, api)
        if entity == API:
            return api
        if fault_of_path(path):
            raise EntityNotFound(entity, name)
        try:
            self.api(api).ask("GET", path, keeps_body=False)
        except HttpError as error:
            if self.is_not_found(error):
                raise EntityNotFound(entity, name) from error
            raise
        return f"{api}:{path}"

    def probe(self) -> str:
        """Request every API's version, or its root; any answer but an authentication failure will do."""
        return ", ".join(self._probed(name) for name in self._options)

    def _probed(self, name: str) -> str:
        options = self._options[name]
        try:
            self.api(name).ask("GET", options.api_version_path or "/", keeps_body=False)
        except HttpError as error:
            if error.retryable or error.status in _NOT_LET_IN or not error.status:
                raise
        return f"{name}: {options.base_url}"

    def secrets(self) -> Iterable[str]:
        """Return the credentials of the APIs, as they were read last."""
        with self._lock:
            apis = list(self._apis.values())
        return [secret for api in apis for secret in api.secrets()]

    def is_not_found(self, error: Exception) -> bool:
        """Return whether an API reported that there is no such thing (404, 410)."""
        gone = isinstance(error, HttpError) and error.status in _GONE
        return gone or super().is_not_found(error)

    def is_conflict(self, error: Exception) -> bool:
        """Return whether an API reported a conflict with its state (409)."""
        return isinstance(error, HttpError) and error.status == HTTPStatus.CONFLICT

    def is_over_limit(self, error: Exception) -> bool:
        """Return whether an API reported that its rate limit is exceeded (429)."""
        return isinstance(error, HttpError) and error.status == HTTPStatus.TOO_MANY_REQUESTS

    def is_retryable(self, error: Exception) -> bool:
        """Return whether a retry may succeed."""
        return isinstance(error, HttpUnavailable)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for api in self._apis.values():
                api.close()
            self._apis.clear()
