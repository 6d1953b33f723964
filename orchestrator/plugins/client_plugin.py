"""Client plugin: the contract of a client of another system, for resource types and constraints.

A package adds one by an entry point in the group ``isotherm.clients``. A client is built once for each process and
project, when first needed, from the settings under ``[clients.NAME]``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Protocol

from hooks.loading.overrides import override_mistakes, place_of
from hooks.values.dataclass import dataclass
from hooks.values.secret_texts import texts_in
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, PluginMistake, Problem
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.constraints import shown
from orchestrator.plugins.mistakes import property_mistakes, refuse_mistakes
from orchestrator.plugins.properties import Property
from orchestrator.plugins.request_rates import RequestRates, SystemRate
from orchestrator.plugins.sensitive import sensitive_values
from orchestrator.sandbox.budget import outside

#: The entry point group of client plugins.
NAMESPACE = "isotherm.clients"


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
