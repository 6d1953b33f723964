"""The clients of a process: the installed client plugins, and those built for its projects from the settings."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import NotFound, PluginMistake, Problem
from orchestrator.plugins.client_plugin import (
    NAMESPACE,
    ClientContext,
    ClientMisconfigured,
    ClientPlugin,
    LookupCache,
)
from orchestrator.plugins.loading import PluginsByName, PluginsOnDemand, load_classes
from orchestrator.plugins.properties import (
    PropertyError,
    UnknownProperty,
    check_properties,
    convert_properties,
    dotted,
)
from orchestrator.plugins.request_rates import RequestRates

log = get_logger()

#: The key, among a client's settings, of those that hold for single projects.
PROJECTS: Final = "projects"
#: Returns, for a project and the id of a credential, the client plugin that this is for, and the options in place of
#: those of the settings; raises NotFound.
Delegated = Callable[[str, str], tuple[str, Mapping[str, Any]]]
#: How many delegated credentials a process has clients for at once.
MOST_DELEGATED: Final = 256


class ClientPlugins(PluginsByName[type[ClientPlugin]]):
    """Client plugins by name; immutable."""

    missing = "there is no client plugin {!r} here"

    @classmethod
    def load(cls, namespace: str = NAMESPACE) -> "ClientPlugins":
        """Return the installed client plugins, which are loaded once per process.

        Raises:
            PluginMistake: one cannot be imported, is no client plugin, has another name than its entry point, or its
                name is taken.
        """
        return _load(namespace)

    @classmethod
    def on_demand(cls, namespace: str = NAMESPACE) -> "ClientPlugins":
        """Return the installed client plugins, each of which is loaded when it is looked up.

        Raises:
            PluginMistake: there are none; or later, as for :meth:`load`.
        """
        return _on_demand(namespace)


class ProjectClients:
    """The clients of one project in one process; safe for threads."""

    def __init__(self, context: ClientContext, build: Callable[[ClientContext, str], ClientPlugin]) -> None:
        self.context = context
        self._build = build
        self._built: dict[str, ClientPlugin] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> ClientPlugin:
        """Return the client called ``name``, built when first needed.

        Raises:
            NotFound: there is no such client plugin.
            ClientMisconfigured: it cannot be built from the settings.
        """
        with self._lock:
            if name not in self._built:
                self._built[name] = self._build(self.context, name)
            return self._built[name]

    def is_retryable(self, error: Exception) -> bool:
        """Return whether one of the clients built so far classifies an error as retryable."""
        return any(client.is_retryable(error) for client in list(self._built.values()))

    def busy_seconds(self, error: Exception) -> float | None:
        """Return the longest pause that one of the clients built so far requires after an error; None if none does."""
        found = [client.busy_seconds(error) for client in list(self._built.values())]
        return max((seconds for seconds in found if seconds is not None), default=None)

    def is_over_limit(self, error: Exception) -> bool:
        """Return whether one of the clients built so far reads an error as an exceeded quota or rate limit."""
        return any(client.is_over_limit(error) for client in list(self._built.values()))

    def request_id_of(self, error: Exception) -> str:
        """Return the id of a failed request from the first client built so far that knows it; empty if none does."""
        return next(filter(None, (client.request_id_of(error) for client in list(self._built.values()))), "")

    def secrets(self) -> frozenset[str]:
        """Return the credentials of the clients built so far; one that fails to name its own is left out."""
        found: set[str] = set()
        for client in list(self._built.values()):
            try:
                found.update(client.secrets())
            except Exception as error:  # noqa: BLE001  # the boundary to plugins
                log.warning(
                    "a client does not name its secrets", client=client.name, error=type(error).__name__
                )
        return frozenset(found)

    def close(self) -> None:
        """Close all clients' connections."""
        with self._lock:
            for client in self._built.values():
                client.close()
            self._built.clear()


class Clients:
    """The clients of one process, by project; safe for threads. Create it after a fork, not before."""

    def __init__(
        self,
        settings: Settings,
        plugins: Mapping[str, type[ClientPlugin]] | None = None,
        caches: Callable[[str], LookupCache | None] | None = None,
        delegated: Delegated | None = None,
    ) -> None:
        """Keep the arguments. By default: the installed plugins, and the caches that the settings define, by client.

        ``delegated`` reads the credentials that callers have delegated; without it, there are none.
        """
        self._delegated = delegated
        self._settings = settings
        self._plugins = None if plugins is None else ClientPlugins(plugins)
        self._given_caches = caches
        self._rates = RequestRates(settings)
        self._projects: dict[tuple[str, str], ProjectClients] = {}
        self._lock = threading.Lock()

    @cached_property
    def _caches(self) -> Callable[[str], LookupCache | None]:
        if self._given_caches is not None:
            return self._given_caches
        # Slow to import, and most steps look nothing up.
        from orchestrator.plugins.constraint_caches import ConstraintCaches

        return ConstraintCaches(self._settings).of

    def of(self, project: str, credential: str = "") -> ProjectClients:
        """Return the clients of a project; with the id of a delegated ``credential``, those that act by it.

        The clients of the credentials that were used last are kept.
        """
        key = (project, credential)
        with self._lock:
            found = self._projects.pop(key, None)
            is_new = found is None
            if found is None:
                found = ProjectClients(
                    ClientContext(project, self._settings, credential, self._rates), self._build
                )
            # The last is that which was used last.
            self._projects[key] = found
            delegated = [each for each in self._projects if each[1]] if is_new and credential else []
            closed = [self._projects.pop(each) for each in delegated[:-MOST_DELEGATED]]
        for clients in closed:
            clients.close()
        return found

    def drop(self, project: str, credential: str) -> None:
        """Close the clients that act by a delegated credential."""
        with self._lock:
            clients = self._projects.pop((project, credential), None)
        if clients is not None:
            clients.close()

    def _options_of(self, section: str, context: ClientContext) -> Mapping[str, Any]:
        """Return the options of the credential that clients act by, if it is for this section."""
        for_client, options = (self._delegated or _unreadable)(context.project, context.credential)
        return options if for_client == section else {}

    def close(self) -> None:
        """Close all clients' connections."""
        with self._lock:
            for clients in self._projects.values():
                clients.close()
            self._projects.clear()

    def _build(self, context: ClientContext, name: str) -> ClientPlugin:
        plugins = self._plugins if self._plugins is not None else ClientPlugins.on_demand()
        kind = plugins.find(name)
        section, configured = kind.section(), self._settings.clients
        try:
            options = options_of(kind, configured.get(section, {}), context.project)
            if context.credential:
                options |= self._options_of(section, context)
            return kind(context, options, self._caches(name) if kind.entities else None)
        except ClientMisconfigured as error:
            if section in configured:
                raise
            # It has no settings, at least not under this name.
            near = Nearest().among(section, [other for other in configured if other not in plugins])
            slip = f"there is settings.clients.{near}: is it meant?" if near else ""
            hint = slip or f"it has no settings under [clients.{section}], see docs/clients.md"
            raise ClientMisconfigured([replace(problem, hint=hint) for problem in error.problems]) from error


def _unreadable(_project: str, _credential: str) -> tuple[str, Mapping[str, Any]]:
    raise NotFound("this process reads no delegated credentials")


def options_of(kind: type[ClientPlugin], section: Mapping[str, object], project: str) -> dict[str, Any]:
    """Return a client's options for a project: those of the project, else those for all.

    Raises:
        ClientMisconfigured: options are wrong or missing; with all of them.
    """
    projects = section.get(PROJECTS, {})
    if not isinstance(projects, Mapping) or not isinstance(projects.get(project, {}), Mapping):
        raise kind.misconfigured(PROJECTS, "expected a table of tables: the options of each project")
    given = {name: value for name, value in section.items() if name != PROJECTS} | projects.get(project, {})
    if faults := check_properties(kind.options_schema, given):
        own = projects.get(project, {})
        raise ClientMisconfigured([_problem(kind, fault, project, own) for fault in faults])
    return convert_properties(kind.options_schema, given)


def _problem(
    kind: type[ClientPlugin], fault: PropertyError, project: str, own: Mapping[str, object]
) -> Problem:
    within = (PROJECTS, project) if fault.path and fault.path[0] in own else ()
    path = dotted(("settings", "clients", kind.section(), *within, *fault.path))
    message, hint = option_fault(fault)
    return Problem(message=message, path=path, hint=hint)


def option_fault(fault: PropertyError) -> tuple[str, str]:
    """Return the message and the hint about a wrong option, without its value, which may be a password."""
    if isinstance(fault, UnknownProperty):
        return "there is no such option", fault.hint
    veiled = fault.veil(fault.path)
    return veiled.message, veiled.hint


@cache
def _load(namespace: str) -> ClientPlugins:
    kinds = load_classes(namespace, ClientPlugin, "client plugin")  # type: ignore[type-abstract]  # a base
    for name, kind in kinds.items():
        refuse_unfit(name, kind)
    return ClientPlugins(kinds)


@cache
def _on_demand(namespace: str) -> ClientPlugins:
    def fit(name: str, kind: type[ClientPlugin]) -> type[ClientPlugin]:
        refuse_unfit(name, kind)
        return kind

    return ClientPlugins(PluginsOnDemand(namespace, ClientPlugin, "client plugin", fit))


def refuse_unfit(name: str, kind: type[ClientPlugin]) -> None:
    """Check that a client plugin has the name of its entry point, and no abstract methods.

    Raises:
        PluginMistake: it has another name, or lacks methods.
    """
    described = f"client plugin {name!r} ({kind.__module__}:{kind.__qualname__})"
    own_name = getattr(kind, "name", None)
    if own_name != name:
        raise PluginMistake(f"{described} must have the name of its entry point, not {own_name!r}")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise PluginMistake(f"{described} must have the methods: {', '.join(missing)}")
