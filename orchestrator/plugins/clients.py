"""Client plugins: how Isotherm speaks to one external system, for resource types and for constraints.

A package adds one by an entry point in the group ``isotherm.clients``. A client is built once for each process and
context, when it is first needed, from what the settings say under ``[clients.NAME]``.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Final, Protocol

from hooks.loading.overrides import override_mistakes, place_of
from hooks.values.nearest import SOMEWHAT_ALIKE, Nearest, did_you_mean
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotFound, PluginMistake, Problem
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.constraint_caches import ConstraintCaches
from orchestrator.plugins.constraints import shown
from orchestrator.plugins.loading import load_classes
from orchestrator.plugins.mistakes import property_mistakes, refuse_mistakes
from orchestrator.plugins.properties import (
    Property,
    PropertyError,
    UnknownProperty,
    check_properties,
    convert_properties,
    dotted,
)
from orchestrator.sandbox.budget import outside

#: The entry point group of client plugins.
NAMESPACE = "isotherm.clients"
#: The key, among a client's settings, of those that hold for single projects.
PROJECTS: Final = "projects"


class ClientMisconfigured(InvalidInput):
    """A client cannot be built: a setting is wrong or missing, or its library is not installed."""


@dataclass(frozen=True, slots=True)
class ClientContext:
    """Whose eyes a client sees with."""

    project: str
    #: Those of the process, for clients whose system is part of the installation itself; None: those it has anyway.
    settings: Settings | None = field(default=None, repr=False, compare=False)


class RemembersYes(Protocol):
    """What a client asks before the system itself: :class:`cache.constraints.cache.ConstraintCache`."""

    def get(self, entity: str, name: str, scope: tuple[str, ...], ask: Callable[[], str]) -> str:
        """Return what is remembered, else what ``ask`` answers."""

    def refresh(self, entity: str, name: str, scope: tuple[str, ...], ask: Callable[[], str]) -> str:
        """Return what ``ask`` answers, and remember that."""

    def forget(self, entity: str, name: str, scope: tuple[str, ...]) -> None:
        """Remember nothing of this name."""


class ClientPlugin(ABC):
    """Base of client plugins; one serves all threads of a process."""

    name: ClassVar[str]
    #: One sentence for people.
    description: ClassVar[str] = ""
    #: What the settings may say; ``options`` is converted by it, and every name of it is a key there.
    options_schema: ClassVar[Mapping[str, Property]] = {}
    #: The client plugin whose settings it has; empty: its own.
    settings_of: ClassVar[str] = ""
    #: The kinds of things that can be looked up, by the names that sentences use; empty: it looks nothing up.
    entities: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Hold a client to its contract, and its options to their schema, as soon as its class is there.

        Raises:
            PluginMistake: with everything that is wrong.
        """
        super().__init_subclass__(**kwargs)
        mistakes = (
            *override_mistakes(cls, ClientPlugin),
            *property_mistakes(cls.options_schema, "options_schema"),
        )
        refuse_mistakes(f"{cls.__module__}:{cls.__qualname__}", mistakes)

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: RemembersYes | None = None
    ) -> None:
        """Keep what is needed; do not connect yet.

        Raises:
            ClientMisconfigured: the options contradict each other; see :meth:`misconfigured`.
        """
        self.context, self.options = context, options
        self._cache = cache

    @property
    def api_version(self) -> str:
        """The version of the interface that is spoken now, such as ``2.1``; empty where there are none.

        May ask the system; what it raises is judged by the predicates below.
        """
        return ""

    def scope(self, entity: str) -> tuple[str, ...]:  # noqa: ARG002  # for those who override it
        """Return what an answer depends on besides the project: the address, the region, the user.

        Askers whose project or scope differs never share an answer.
        """
        return ()

    def find(self, entity: str, name: str, *, use_cache: bool = False) -> str:
        """Return the id of what has this id or name; the cache may answer only if ``use_cache``.

        Without ``use_cache`` what is remembered is brought up to date.

        Raises:
            EntityNotFound: there is none.
            AmbiguousName: there are several.
            PluginMistake: this client knows no such things, or :meth:`look_up` returned no id.
            Exception: the system could not be asked.
        """
        if entity not in self.entities:
            raise PluginMistake(f"client {self.name!r} was asked for {entity!r}, which it does not know")

        def ask() -> str:
            with outside():
                found: object = self.look_up(entity, name)
            if not isinstance(found, str) or not found:
                kind = type(self)
                method = f"{kind.__module__}:{kind.__qualname__}.look_up{place_of(kind.look_up)}"
                rule = "it must return the id, as text, or raise EntityNotFound"
                raise PluginMistake(f"{method} returned {shown(found)} for {entity} {shown(name)}: {rule}")
            return found

        if self._cache is None:
            return ask()
        scope = (self.context.project, *self.scope(entity))
        with outside():
            answer = self._cache.get if use_cache else self._cache.refresh
            return answer(entity, name, scope, ask)

    def forget(self, entity: str, name: str) -> None:
        """Let nobody be told any more what the cache remembers of this id or name.

        Whoever has just made, renamed or deleted something says so by this.
        """
        if self._cache is not None:
            self._cache.forget(entity, name, (self.context.project, *self.scope(entity)))

    @abstractmethod
    def look_up(self, entity: str, name: str) -> str:
        """Ask the system, each time, and return the id of what has this id or name.

        Raises:
            EntityNotFound: there is none.
            AmbiguousName: there are several.
            Exception: the system could not be asked.
        """

    def probe(self) -> str:
        """Ask the system, as cheaply as can be, whether it answers; return what was found, for people.

        Empty where that cannot be told. No secret may be in it.

        Raises:
            Exception: it does not answer, or does not let this client in.
        """
        return ""

    def is_not_found(self, error: Exception) -> bool:
        """Tell whether an error says that something does not exist."""
        return isinstance(error, EntityNotFound)

    def is_conflict(self, error: Exception) -> bool:  # noqa: ARG002  # as above
        """Tell whether an error says that something exists already, or is in no state for what was asked."""
        return False

    def is_over_limit(self, error: Exception) -> bool:  # noqa: ARG002  # as above
        """Tell whether an error says that a quota, or a rate of requests, is used up."""
        return False

    def is_retryable(self, error: Exception) -> bool:  # noqa: ARG002  # as above
        """Tell whether the same request may succeed later."""
        return False

    def close(self) -> None:  # noqa: B027  # most have nothing to let go of
        """Let go of connections."""

    @classmethod
    def section(cls) -> str:
        """Return under which name the settings have its options."""
        return cls.settings_of or cls.name

    @classmethod
    def misconfigured(cls, option: str, message: str, hint: str = "") -> ClientMisconfigured:
        """Return the error that an option is wrong."""
        return ClientMisconfigured(
            [Problem(message=message, path=f"settings.clients.{cls.section()}.{option}", hint=hint)]
        )


class ClientPlugins(Mapping[str, type[ClientPlugin]]):
    """The client plugins there are, by name; immutable."""

    def __init__(self, plugins: Mapping[str, type[ClientPlugin]]) -> None:
        self._plugins = dict(plugins)

    @classmethod
    def load(cls, namespace: str = NAMESPACE) -> "ClientPlugins":
        """Return the installed client plugins; they are looked for once per process.

        Raises:
            PluginMistake: one cannot be imported, is no client plugin, has another name than its entry point, or its
                name is taken.
        """
        return _load(namespace)

    def find(self, name: str) -> type[ClientPlugin]:
        """Return the client plugin called ``name``.

        Raises:
            NotFound: there is none; the sentence names the nearest.
        """
        try:
            return self._plugins[name]
        except KeyError:
            hint = did_you_mean(name, self._plugins, alike=SOMEWHAT_ALIKE)
            raise NotFound(f"there is no client plugin {name!r} here{hint}") from None

    def __getitem__(self, name: str) -> type[ClientPlugin]:
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)


class ProjectClients:
    """The clients of one project in one process; safe for threads."""

    def __init__(self, context: ClientContext, build: Callable[[ClientContext, str], ClientPlugin]) -> None:
        self.context = context
        self._build = build
        self._built: dict[str, ClientPlugin] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> ClientPlugin:
        """Return the client called ``name``, built when it is first asked for.

        Raises:
            NotFound: there is no such client plugin.
            ClientMisconfigured: it cannot be built from the settings.
        """
        with self._lock:
            if name not in self._built:
                self._built[name] = self._build(self.context, name)
            return self._built[name]

    def is_retryable(self, error: Exception) -> bool:
        """Tell whether one of the clients that were built says that the same request may succeed later."""
        return any(client.is_retryable(error) for client in list(self._built.values()))

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            for client in self._built.values():
                client.close()
            self._built.clear()


class Clients:
    """The clients of one process, by project; safe for threads. Make it after a fork, not before."""

    def __init__(
        self,
        settings: Settings,
        plugins: Mapping[str, type[ClientPlugin]] | None = None,
        caches: Callable[[str], RemembersYes | None] | None = None,
    ) -> None:
        """Keep what is needed.

        Args:
            settings: What clients are built from.
            plugins: Those there are, instead of those installed.
            caches: Returns the cache of a client by its name, or None if nothing is to be remembered; those that the
                settings describe, if not given.
        """
        self._settings = settings
        self._plugins = None if plugins is None else ClientPlugins(plugins)
        self._caches = caches or ConstraintCaches(settings).of
        self._projects: dict[str, ProjectClients] = {}
        self._lock = threading.Lock()

    def of(self, project: str) -> ProjectClients:
        """Return the clients of a project."""
        with self._lock:
            if project not in self._projects:
                self._projects[project] = ProjectClients(ClientContext(project, self._settings), self._build)
            return self._projects[project]

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            for clients in self._projects.values():
                clients.close()
            self._projects.clear()

    def _build(self, context: ClientContext, name: str) -> ClientPlugin:
        plugins = self._plugins if self._plugins is not None else ClientPlugins.load()
        kind = plugins.find(name)
        section, said = kind.section(), self._settings.clients
        try:
            options = options_of(kind, said.get(section, {}), context.project)
            return kind(context, options, self._caches(name) if kind.entities else None)
        except ClientMisconfigured as error:
            if section in said:
                raise
            # Nothing is said of it, at least not under this name.
            near = Nearest().among(section, [other for other in said if other not in plugins])
            slip = f"there is settings.clients.{near}: is it meant?" if near else ""
            hint = slip or f"nothing is said of it under [clients.{section}], see docs/clients.md"
            raise ClientMisconfigured([replace(problem, hint=hint) for problem in error.problems]) from error


def options_of(kind: type[ClientPlugin], said: Mapping[str, Any], project: str) -> dict[str, Any]:
    """Return a client's options for a project: what the settings say for it, else what they say for all.

    Raises:
        ClientMisconfigured: with everything that is wrong.
    """
    projects = said.get(PROJECTS, {})
    if not isinstance(projects, Mapping) or not isinstance(projects.get(project, {}), Mapping):
        raise kind.misconfigured(PROJECTS, "expected a table of tables: the options of each project")
    given = {name: value for name, value in said.items() if name != PROJECTS} | projects.get(project, {})
    if faults := check_properties(kind.options_schema, given):
        own = projects.get(project, {})
        raise ClientMisconfigured([_problem(kind, fault, project, own) for fault in faults])
    return convert_properties(kind.options_schema, given)


def _problem(kind: type[ClientPlugin], fault: PropertyError, project: str, own: Mapping[str, Any]) -> Problem:
    within = (PROJECTS, project) if fault.path and fault.path[0] in own else ()
    path = dotted(("settings", "clients", kind.section(), *within, *fault.path))
    message, hint = option_fault(fault)
    return Problem(message=message, path=path, hint=hint)


def option_fault(fault: PropertyError) -> tuple[str, str]:
    """Return what people are told of a wrong option, and the hint; never its value, which may be a password."""
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


def refuse_unfit(name: str, kind: type[ClientPlugin]) -> None:
    """Refuse a client plugin that is not called as its entry point is, or that nothing can be made of.

    Raises:
        PluginMistake: it is one.
    """
    described = f"client plugin {name!r} ({kind.__module__}:{kind.__qualname__})"
    said = getattr(kind, "name", None)
    if said != name:
        raise PluginMistake(f"{described} must have the name of its entry point, not {said!r}")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise PluginMistake(f"{described} must have the methods: {', '.join(missing)}")
