"""Client plugins: clients of other systems, for resource types and constraints.

A package adds one by an entry point in the group ``isotherm.clients``. A client is built once for each process and
project, when first needed, from the settings under ``[clients.NAME]``.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Final, Protocol

import structlog

from hooks.loading.overrides import override_mistakes, place_of
from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from hooks.values.secret_texts import texts_in
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotFound, PluginMistake, Problem
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.constraints import shown
from orchestrator.plugins.loading import PluginsByName, PluginsOnDemand, load_classes
from orchestrator.plugins.mistakes import property_mistakes, refuse_mistakes
from orchestrator.plugins.properties import (
    Property,
    PropertyError,
    UnknownProperty,
    check_properties,
    convert_properties,
    dotted,
)
from orchestrator.plugins.request_rates import RequestRates, SystemRate
from orchestrator.plugins.sensitive import sensitive_values
from orchestrator.sandbox.budget import outside

log = structlog.get_logger()

#: The entry point group of client plugins.
NAMESPACE = "isotherm.clients"
#: The key, among a client's settings, of those that hold for single projects.
PROJECTS: Final = "projects"


#: Returns, for a project and the id of a credential, the client plugin that this is for, and the options in place of
#: those of the settings; raises NotFound.
Delegated = Callable[[str, str], tuple[str, Mapping[str, Any]]]
#: How many delegated credentials a process has clients for at once.
MOST_DELEGATED: Final = 256


class ClientMisconfigured(InvalidInput):
    """A client cannot be built: a setting is wrong or missing, or its library is not installed."""


@dataclass(frozen=True, slots=True)
class ClientContext:
    """The project that a client works for, and the process's settings."""

    project: str
    #: The settings of the process, for clients whose system is part of the installation itself; may be None.
    settings: Settings | None = field(default=None, repr=False, compare=False)
    #: The id of the delegated credential that it acts by; empty: it acts as the settings say.
    credential: str = ""
    #: The limits of requests of the process.
    rates: RequestRates = field(default_factory=lambda: RequestRates(None), repr=False, compare=False)


class LookupCache(Protocol):
    """A cache of successful look-ups; implemented by :class:`cache.constraints.cache.ConstraintCache`."""

    def get(self, entity: str, name: str, scope: tuple[str, ...], ask: Callable[[], str]) -> str:
        """Return the cached id, else the result of ``ask``."""

    def refresh(self, entity: str, name: str, scope: tuple[str, ...], ask: Callable[[], str]) -> str:
        """Return the result of ``ask``, and cache it."""

    def forget(self, entity: str, name: str, scope: tuple[str, ...]) -> None:
        """Remove the entry of this name."""


class ClientPlugin(ABC):
    """Base of client plugins; one serves all threads of a process."""

    name: ClassVar[str]
    #: One sentence for users.
    description: ClassVar[str] = ""
    #: The schema of the settings; ``options`` is converted by it and has all its names as keys.
    options_schema: ClassVar[Mapping[str, Property]] = {}
    #: The client plugin whose settings it uses; empty: its own.
    settings_of: ClassVar[str] = ""
    #: The kinds of entities that can be looked up, by their names in messages; empty: none.
    entities: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check the contract, and the schema of the options, when the class is defined.

        Raises:
            PluginMistake: it has mistakes; with all of them.
        """
        super().__init_subclass__(**kwargs)
        mistakes = (
            *override_mistakes(cls, ClientPlugin),
            *property_mistakes(cls.options_schema, "options_schema"),
        )
        refuse_mistakes(f"{cls.__module__}:{cls.__qualname__}", mistakes)

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: LookupCache | None = None
    ) -> None:
        """Keep the arguments; must not connect yet.

        Raises:
            ClientMisconfigured: the options contradict each other; see :meth:`misconfigured`.
        """
        self.context, self.options = context, options
        self._cache = cache

    @property
    def api_version(self) -> str:
        """The API version that the client uses, such as ``2.1``; empty for systems without versions.

        May query the system; its exceptions are classified by the predicates below.
        """
        return ""

    def scope(self, entity: str) -> tuple[str, ...]:  # noqa: ARG002  # for overrides
        """Return what look-ups depend on besides the project: the address, the region, the user.

        Cache entries are shared only within one project and scope.
        """
        return ()

    def find(self, entity: str, name: str, *, use_cache: bool = False) -> str:
        """Return the id of the entity with this id or name, with ``use_cache`` perhaps from the cache.

        Without ``use_cache`` the system is queried, and the cache refreshed.

        Raises:
            EntityNotFound: there is none.
            AmbiguousName: there are several.
            PluginMistake: the client does not look up entities of this kind, or :meth:`look_up` returned no id.
            Exception: the system could not be queried.
        """
        if entity not in self.entities:
            raise PluginMistake(f"client {self.name!r} looks up no {entity!r}")

        def query() -> str:
            with outside():
                found: object = self.look_up(entity, name)
            if not isinstance(found, str) or not found:
                kind = type(self)
                method = f"{kind.__module__}:{kind.__qualname__}.look_up{place_of(kind.look_up)}"
                rule = "it must return the id, as text, or raise EntityNotFound"
                raise PluginMistake(f"{method} returned {shown(found)} for {entity} {shown(name)}: {rule}")
            return found

        if self._cache is None:
            return query()
        scope = (self.context.project, *self.scope(entity))
        with outside():
            look_up = self._cache.get if use_cache else self._cache.refresh
            return look_up(entity, name, scope, query)

    def forget(self, entity: str, name: str) -> None:
        """Remove the cache's entry of this id or name.

        Resource types call this after they created, renamed or deleted an entity.
        """
        if self._cache is not None:
            self._cache.forget(entity, name, (self.context.project, *self.scope(entity)))

    def request_rate(self, target: str, options: Mapping[str, Any] | None = None) -> SystemRate:
        """Return the limit of requests to one of its systems; ``target`` tells them apart, such as by their addresses.

        Before each request, the client calls its ``take``. The limit is in ``options``, by default those of the client,
        whose schema then has those of :data:`orchestrator.plugins.request_rates.RATE_OPTIONS`.
        """
        return self.context.rates.of(self.section(), target, self.options if options is None else options)

    @abstractmethod
    def look_up(self, entity: str, name: str) -> str:
        """Query the system and return the id of the entity with this id or name; nothing is cached here.

        Raises:
            EntityNotFound: there is none.
            AmbiguousName: there are several.
            Exception: the system could not be queried.
        """

    def delegate(self, token: str, name: str) -> Mapping[str, Any]:  # noqa: ARG002  # as above
        """Make a lasting credential of the user with this token, called ``name``; return the options that stand for it.

        A client with these options, in place of those of the settings, acts for the user in the project of the token.

        Raises:
            ClientMisconfigured: the system has no such credentials.
            Exception: it refused, or did not answer.
        """
        raise self.misconfigured("delegation", "this client cannot act for the users of the API")

    def revoke(self) -> None:  # noqa: B027  # most have nothing to revoke
        """Delete the credential that :meth:`delegate` made and that this client acts by; again is fine.

        Raises:
            Exception: the system refused, or did not answer.
        """

    def probe(self) -> str:
        """Check, as cheaply as possible, that the system responds; return a text for operators, without secrets.

        Empty if the client cannot check it.

        Raises:
            Exception: the system does not respond, or refuses this client.
        """
        return ""

    def is_not_found(self, error: Exception) -> bool:
        """Return whether an error means that an object does not exist."""
        return isinstance(error, EntityNotFound)

    def is_conflict(self, error: Exception) -> bool:  # noqa: ARG002  # as above
        """Return whether an error means that an object exists already, or that its state does not allow the request."""
        return False

    def is_over_limit(self, error: Exception) -> bool:  # noqa: ARG002  # as above
        """Return whether an error means that a quota or a rate limit is exceeded."""
        return False

    def request_id_of(self, error: Exception) -> str:  # noqa: ARG002  # as above
        """Return the id by which the system's operators find the request that failed; empty if it is not known."""
        return ""

    def is_retryable(self, error: Exception) -> bool:  # noqa: ARG002  # as above
        """Return whether the same request may succeed later."""
        return False

    def busy_seconds(self, error: Exception) -> float | None:  # noqa: ARG002  # as above
        """Return how long to wait if an error means that the system is busy; 0 if that is unknown, None if it is not.

        The step is then run again, as often as needed: see :class:`orchestrator.plugins.steps.Busy`.
        """
        return None

    def secrets(self) -> Iterable[str]:
        """Return the credentials that no reason, event or log may show, as they are at present.

        By default the options that are declared as ``sensitive``. Must not call the system.
        """
        return (
            text for value in sensitive_values(self.options_schema, self.options) for text in texts_in(value)
        )

    def close(self) -> None:  # noqa: B027  # most have nothing to close
        """Close connections."""

    @classmethod
    def section(cls) -> str:
        """Return the name of its section in the settings."""
        return cls.settings_of or cls.name

    @classmethod
    def misconfigured(cls, option: str, message: str, hint: str = "") -> ClientMisconfigured:
        """Return an error about a wrong option."""
        return ClientMisconfigured(
            [Problem(message=message, path=f"settings.clients.{cls.section()}.{option}", hint=hint)]
        )


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
