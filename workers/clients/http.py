"""The client plugin ``http``: any REST API, as ``[clients.http]`` in the settings describes it, or several by name.

A *path* is looked up by asking for it: one that answers with success exists. ``/images/cirros`` is one of the API that
``[clients.http]`` itself describes, ``images:/cirros`` one of ``[clients.http.apis.images]``.
"""

import threading
from collections.abc import Mapping
from dataclasses import astuple
from http import HTTPStatus
from typing import Any, ClassVar, Final

import jmespath
from jmespath.exceptions import JMESPathError

from hooks.values.nearest import Nearest
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.clients import ClientContext, ClientPlugin, RemembersYes
from orchestrator.plugins.properties import Property
from workers.clients.http_failures import HttpError, HttpUnavailable, fault_of_path
from workers.clients.http_options import DEFAULT, OPTIONS_SCHEMA, apis_of, misconfigured
from workers.clients.rest import RestApi

#: What can be looked up: what is there in an API, and an API by its name in the settings, which asks nobody.
PATH: Final = "path"
API: Final = "HTTP API"
_GONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
_NOT_LET_IN: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def split_path(text: str) -> tuple[str, str]:
    """Return the name of the API that ``text`` speaks of, and the path there."""
    api, colon, path = text.partition(":")
    return (api, path) if colon and "/" not in api else (DEFAULT, text)


class HttpClient(ClientPlugin):
    """Asks REST APIs."""

    name = "http"
    description = "Any REST API: where it is, who we are to it, and how much patience we have with it."
    options_schema: ClassVar[Mapping[str, Property]] = OPTIONS_SCHEMA
    entities = frozenset({PATH, API})

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: RemembersYes | None = None
    ) -> None:
        """Take the options; nothing is asked yet.

        Raises:
            ClientMisconfigured: they do not fit together.
        """
        super().__init__(context, options, cache)
        self._options = apis_of(options)
        self._lock = threading.Lock()
        self._apis: dict[str, RestApi] = {}
        self._version: str | None = None

    def api(self, name: str = DEFAULT) -> RestApi:
        """Return one of the APIs; each is built once.

        Raises:
            ClientMisconfigured: there is none of that name, or it lacks a secret or a certificate.
        """
        with self._lock:
            if name not in self._apis:
                options = self._options.get(name)
                if options is None:
                    known = f"[clients.http] has {', '.join(map(repr, sorted(self._options)))}"
                    hint = Nearest().hint(name, self._options, known)
                    raise misconfigured("apis", f"the settings know no HTTP API {name!r}", hint)
                self._apis[name] = RestApi(options, self.context.project)
            return self._apis[name]

    @property
    def api_version(self) -> str:
        """The version of the API that ``[clients.http]`` itself describes: as given there, or as it tells; or empty.

        It is asked once, and remembered as long as the client lives.

        Raises:
            HttpError: it cannot be asked, or says something else.
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
        """Return where the APIs are, and who we are to them."""
        known = sorted(self._options.values(), key=lambda each: each.name)
        return tuple(
            part for each in known for part in (each.name, str(each.base_url), *astuple(each.identity))
        )

    def look_up(self, entity: str, name: str) -> str:
        """Return a path in its full form if it answers a GET with success; an API, if the settings know it.

        Raises:
            EntityNotFound: it does not exist, or can be none.
            ClientMisconfigured: the API lacks a secret or a certificate.
            HttpError: nobody can tell: the API refused or failed.
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
        """Ask every API for its version, or for what is at its root; any answer but a refusal of ours will do."""
        return ", ".join(self._probed(name) for name in self._options)

    def _probed(self, name: str) -> str:
        options = self._options[name]
        try:
            self.api(name).ask("GET", options.api_version_path or "/", keeps_body=False)
        except HttpError as error:
            if error.retryable or error.status in _NOT_LET_IN or not error.status:
                raise
        return f"{name}: {options.base_url}"

    def is_not_found(self, error: Exception) -> bool:
        """Whether an API said that there is no such thing (404, 410)."""
        gone = isinstance(error, HttpError) and error.status in _GONE
        return gone or super().is_not_found(error)

    def is_conflict(self, error: Exception) -> bool:
        """Whether an API said that its state does not allow it (409)."""
        return isinstance(error, HttpError) and error.status == HTTPStatus.CONFLICT

    def is_over_limit(self, error: Exception) -> bool:
        """Whether an API said that it was asked too often (429)."""
        return isinstance(error, HttpError) and error.status == HTTPStatus.TOO_MANY_REQUESTS

    def is_retryable(self, error: Exception) -> bool:
        """Whether the same may succeed later."""
        return isinstance(error, HttpUnavailable)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for api in self._apis.values():
                api.close()
            self._apis.clear()
