"""Custom constraints: their contract, their registry, and the constraint that refers to one by name.

A package adds a constraint by an entry point in the group ``isotherm.constraints``; templates refer to it by the
class's ``name``.
"""

from abc import ABC, abstractmethod
from functools import cache
from typing import Any, ClassVar

from hooks.loading.overrides import override_mistakes
from hooks.values.dataclass import dataclass
from orchestrator.errors import IsothermError, NotFound, NotVerified, PluginMistake, message_of
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound, NamedClients
from orchestrator.plugins.constraints import CannotEvaluate, Constraint, shown
from orchestrator.plugins.loading import PluginsByName, PluginsOnDemand, load_classes
from orchestrator.plugins.mistakes import refuse_mistakes

#: The entry point group of custom constraints.
NAMESPACE = "isotherm.constraints"


class CustomConstraint(ABC):
    """Base of custom constraints; instantiated once per process, without arguments, and called by several threads."""

    name: ClassVar[str]
    #: Whether :meth:`fault_by` queries another system.
    asks_outside: ClassVar[bool] = False

    @abstractmethod
    def fault(self, value: Any) -> str | None:
        """Return a sentence about what is wrong with a value, beginning with it, or None; query no other system.

        The value is text, a number or a boolean; the items of a list are checked one by one. The sentence is not shown
        if the value is a secret.
        """

    def fault_by(self, value: Any, clients: NamedClients) -> str | None:  # noqa: ARG002  # for overrides
        """Return the same as :meth:`fault`, with queries of other systems by the clients of the stack's project.

        Raises:
            NotVerified: the other system could not be queried.
        """
        return self.fault(value)


class ClientConstraint(CustomConstraint):
    """Base of constraints that require an entity with this id or name to exist in another system."""

    asks_outside = True
    #: The client plugin that looks it up, and the kind of entity.
    client: ClassVar[str]
    entity: ClassVar[str]

    def fault(self, value: Any) -> str | None:
        """Return what is wrong with a value, without querying the other system."""
        named = (isinstance(value, str) and value) or (isinstance(value, int) and not isinstance(value, bool))
        return None if named else f"{shown(value)} names no {self.entity}"

    def fault_by(self, value: Any, clients: NamedClients) -> str | None:
        """Return what is wrong with a value, after a look-up in the other system or the cache.

        Raises:
            NotVerified: the other system could not be queried.
            PluginMistake: the client plugin does not look up such entities.
        """
        if (found := self.fault(value)) is not None:
            return found
        try:
            clients.get(self.client).find(self.entity, str(value), use_cache=True)
        except (EntityNotFound, AmbiguousName) as error:
            return str(error)
        except (NotVerified, PluginMistake):
            raise
        except Exception as error:
            # Whatever the error is, the value may be valid.
            message = f"cannot check whether the {self.entity} {shown(value)} exists: {message_of(error)}"
            raise NotVerified(message) from error
        return None


class CustomConstraints(PluginsByName[CustomConstraint]):
    """Custom constraints by name; immutable."""

    missing = "there is no custom constraint {!r} here"

    @classmethod
    def load(cls, namespace: str = NAMESPACE) -> "CustomConstraints":
        """Return the installed constraints, which are loaded once per process.

        Raises:
            PluginMistake: there are none (a source tree that is not installed), one cannot be imported or
                instantiated, is no custom constraint, has another name than its entry point, or its name is taken.
        """
        return _load(namespace)

    @classmethod
    def on_demand(cls, namespace: str = NAMESPACE) -> "CustomConstraints":
        """Return the installed constraints, each of which is loaded when it is looked up.

        Raises:
            PluginMistake: there are none; or later, as for :meth:`load`.
        """
        return _on_demand(namespace)


@dataclass(frozen=True)
class Custom(Constraint):
    """A value, or every item of a list, satisfies the custom constraint called ``name``.

    If no such constraint is installed, no value satisfies it.
    """

    name: str

    valid_for = frozenset({"string", "number", "boolean", "list"})
    is_custom = True

    @property
    def is_available(self) -> bool:
        """Whether the plugin is installed here."""
        return self.name in CustomConstraints.on_demand()

    def unknown(self) -> str:
        """Return the message that the plugin is not installed, with the nearest name; empty if it is."""
        try:
            CustomConstraints.on_demand().find(self.name)
        except NotFound as error:
            return str(error)
        return ""

    def rule(self) -> str:
        """Return the rule in words."""
        return f"must satisfy the custom constraint {self.name!r}"

    def fault(self, value: object) -> str | None:
        """Return the plugin's verdict on the value without querying other systems; see :meth:`fault_by`."""
        return self.fault_by(value, None)

    def fault_by(self, value: object, clients: NamedClients | None) -> str | None:
        """Return the plugin's verdict on the value, or on the first item of a list that it refuses.

        Raises:
            CannotEvaluate: there is no such plugin.
            NotVerified: another system could not be queried.
            PluginMistake: the plugin failed, or returned neither text nor None.
        """
        try:
            plugin = CustomConstraints.on_demand().find(self.name)
        except NotFound as error:
            raise CannotEvaluate(str(error)) from error
        items = value if isinstance(value, (list, tuple)) else (value,)
        return next((found for item in items if (found := _verdict(plugin, item, clients)) is not None), None)


def _verdict(plugin: CustomConstraint, value: object, clients: NamedClients | None) -> str | None:
    try:
        found: object = plugin.fault(value) if clients is None else plugin.fault_by(value, clients)
    except IsothermError:
        raise
    except Exception as error:
        message = (
            f"custom constraint {plugin.name!r} ({type(plugin).__module__}) failed: {type(error).__name__}"
        )
        raise PluginMistake(message) from error
    if found is not None and not isinstance(found, str):
        kind = type(found).__name__
        raise PluginMistake(f"custom constraint {plugin.name!r} returned a {kind}, not a sentence or None")
    return found


@cache
def _load(namespace: str) -> CustomConstraints:
    kinds = load_classes(namespace, CustomConstraint, "custom constraint")  # type: ignore[type-abstract]  # a base
    return CustomConstraints({name: make_constraint(name, kind) for name, kind in kinds.items()})


@cache
def _on_demand(namespace: str) -> CustomConstraints:
    return CustomConstraints(
        PluginsOnDemand(namespace, CustomConstraint, "custom constraint", make_constraint)
    )


def make_constraint(name: str, kind: type[CustomConstraint]) -> CustomConstraint:
    """Return the constraint of an entry point.

    Raises:
        PluginMistake: it cannot be instantiated or called, or has another name than its entry point.
    """
    described = f"custom constraint {name!r} ({kind.__module__}:{kind.__qualname__})"
    refuse_mistakes(described, override_mistakes(kind, CustomConstraint))
    try:
        made = kind()
    except Exception as error:
        raise PluginMistake(f"{described} cannot be made: {error}") from error
    if getattr(made, "name", None) != name:
        raise PluginMistake(
            f"{described} must have the name of its entry point, not {getattr(made, 'name', None)!r}"
        )
    return made
