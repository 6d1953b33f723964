"""Constraints that packages bring: the contract, where they are found, and how a template asks for one.

A package adds a constraint by an entry point in the group ``isotherm.constraints``; the class's ``name`` is what
templates call it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from hooks.loading.overrides import override_mistakes
from hooks.values.nearest import SOMEWHAT_ALIKE, did_you_mean
from orchestrator.errors import IsothermError, NotFound, NotVerified, PluginMistake
from orchestrator.plugins.asking import AmbiguousName, AskedClients, EntityNotFound
from orchestrator.plugins.constraints import Constraint, Unanswered, shown
from orchestrator.plugins.loading import load_classes
from orchestrator.plugins.mistakes import refuse_mistakes

#: The entry point group of custom constraints.
NAMESPACE = "isotherm.constraints"


class CustomConstraint(ABC):
    """Base of custom constraints; made once for each process, without arguments, and asked by several threads."""

    name: ClassVar[str]
    #: Whether it asks another system, by :meth:`fault_by`.
    asks_outside: ClassVar[bool] = False

    @abstractmethod
    def fault(self, value: Any) -> str | None:
        """Return what is wrong with a value, in a sentence that begins with it, or None if nothing is; ask nobody.

        The value is text, a number or a boolean; of a list, each item comes by itself. Of a secret, the sentence is
        never shown.
        """

    def fault_by(self, value: Any, clients: AskedClients) -> str | None:  # noqa: ARG002  # for those who ask
        """Return the same where other systems may be asked, by the clients of the stack's project.

        Raises:
            NotVerified: the other system does not tell.
        """
        return self.fault(value)


class ClientConstraint(CustomConstraint):
    """Base of constraints that demand that something exists in another system, by its id or name."""

    asks_outside = True
    #: The client plugin that knows, and the kind of thing that is looked up.
    client: ClassVar[str]
    entity: ClassVar[str]

    def fault(self, value: Any) -> str | None:
        """Return what is wrong with a value whatever the other system knows."""
        named = (isinstance(value, str) and value) or (isinstance(value, int) and not isinstance(value, bool))
        return None if named else f"{shown(value)} names no {self.entity}"

    def fault_by(self, value: Any, clients: AskedClients) -> str | None:
        """Return what is wrong with a value by what the other system knows; the cache may answer in its place."""
        if (found := self.fault(value)) is not None:
            return found
        try:
            clients.get(self.client).find(self.entity, str(value), use_cache=True)
        except (EntityNotFound, AmbiguousName) as error:
            return str(error)
        except (NotVerified, PluginMistake):
            raise
        except Exception as error:
            # Whatever it is, the value may be right.
            message = f"nobody can tell whether the {self.entity} {shown(value)} exists: {_in_words(error)}"
            raise NotVerified(message) from error
        return None


class CustomConstraints(Mapping[str, CustomConstraint]):
    """The custom constraints there are, by name; immutable."""

    def __init__(self, constraints: Mapping[str, CustomConstraint]) -> None:
        self._constraints = dict(constraints)

    @classmethod
    def load(cls, namespace: str = NAMESPACE) -> "CustomConstraints":
        """Return the installed constraints; they are looked for once per process.

        Raises:
            PluginMistake: there are none (a source tree that is not installed), one cannot be imported or made, is no
                custom constraint, has another name than its entry point, or its name is taken.
        """
        return _load(namespace)

    def find(self, name: str) -> CustomConstraint:
        """Return the constraint called ``name``.

        Raises:
            NotFound: there is none; the sentence names the nearest.
        """
        try:
            return self._constraints[name]
        except KeyError:
            hint = did_you_mean(name, self._constraints, alike=SOMEWHAT_ALIKE)
            raise NotFound(f"there is no custom constraint {name!r} here{hint}") from None

    def __getitem__(self, name: str) -> CustomConstraint:
        return self._constraints[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._constraints)

    def __len__(self) -> int:
        return len(self._constraints)


@dataclass(frozen=True)
class Custom(Constraint):
    """A value satisfies the custom constraint called ``name``; of a list, every item does.

    Where no such constraint is installed, no value does.
    """

    name: str

    valid_for = frozenset({"string", "number", "boolean", "list"})
    is_custom = True

    @property
    def needs_nothing(self) -> bool:
        """Whether the plugin is installed here."""
        return self.name in CustomConstraints.load()

    def unknown(self) -> str:
        """Return the sentence that there is no such plugin here, with the nearest; empty if there is."""
        try:
            CustomConstraints.load().find(self.name)
        except NotFound as error:
            return str(error)
        return ""

    def rule(self) -> str:
        """Return the rule in words."""
        return f"must satisfy the custom constraint {self.name!r}"

    def fault(self, value: Any) -> str | None:
        """Return what the plugin says of the value without asking anybody; see :meth:`fault_by`."""
        return self.fault_by(value, None)

    def fault_by(self, value: Any, clients: AskedClients | None) -> str | None:
        """Return what the plugin says of the value, or of the first item of a list that it refuses.

        Raises:
            Unanswered: there is no such plugin.
            NotVerified: it was to ask another system, which does not tell.
            PluginMistake: it failed, or returned something else.
        """
        try:
            plugin = CustomConstraints.load().find(self.name)
        except NotFound as error:
            raise Unanswered(str(error)) from error
        items = value if isinstance(value, (list, tuple)) else (value,)
        return next((found for item in items if (found := _said(plugin, item, clients)) is not None), None)


def _said(plugin: CustomConstraint, value: Any, clients: AskedClients | None) -> str | None:
    """Return what a plugin says, held to its contract."""
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


def _in_words(error: Exception) -> str:
    return str(error) if isinstance(error, IsothermError) else f"{type(error).__name__}: {error}"


@cache
def _load(namespace: str) -> CustomConstraints:
    kinds = load_classes(namespace, CustomConstraint, "custom constraint")  # type: ignore[type-abstract]  # a base
    return CustomConstraints({name: make_constraint(name, kind) for name, kind in kinds.items()})


def make_constraint(name: str, kind: type[CustomConstraint]) -> CustomConstraint:
    """Return the constraint of an entry point.

    Raises:
        PluginMistake: it cannot be made or called, or has another name than its entry point.
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
