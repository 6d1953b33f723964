"""What a rule may ask of a resource. Whether it is so may not be known yet: then nobody answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hooks.builtin.policy.operators import Operator
from hooks.builtin.policy.paths import Path
from hooks.builtin.policy.truth import Truth, every, opposite, some
from hooks.builtin.policy.values import NOTHING
from hooks.builtin.policy.view import Related, StackView, reached
from hooks.stack import FrozenResource


class Condition(Protocol):
    """A question about a resource in its stack; as text, what is so if the answer is yes."""

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Answer it."""


@dataclass(frozen=True, slots=True, eq=False)
class Property:
    """Something is so of the value to which a path leads."""

    path: Path
    operator: Operator
    #: Whether it is so, too, where nothing is given.
    optional: bool = False

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:  # noqa: ARG002  # one for all
        """Answer it."""
        value = self.path.value(resource.properties)
        return True if self.optional and value is NOTHING else self.operator.holds(value)

    def __str__(self) -> str:
        return f"{self.path.text} {self.operator}{' (or is not given)' if self.optional else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """Something is so of all values to which a path leads; if it leads to none, it is so."""

    path: Path
    operator: Operator
    optional: bool = False

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:  # noqa: ARG002  # one for all
        """Answer it."""
        values = self.path.values(resource.properties)
        return every(
            True if self.optional and value is NOTHING else self.operator.holds(value) for value in values
        )

    def __str__(self) -> str:
        return f"every {self.path.text} {self.operator}{' (or is not given)' if self.optional else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """Something is so of at least one value to which a path leads."""

    path: Path
    operator: Operator

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:  # noqa: ARG002  # one for all
        """Answer it."""
        return some(map(self.operator.holds, self.path.values(resource.properties)))

    def __str__(self) -> str:
        return f"some {self.path.text} {self.operator}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relation:
    """The resource needs another one, or another one needs it: by a function, or by depends_on."""

    #: Which types the other is of.
    types: tuple[str, ...]
    #: Whether the other needs this one.
    backwards: bool = False
    #: Whether others may be between them.
    indirectly: bool = False
    #: What is so of the other.
    where: Condition | None = None

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Answer it."""
        return view.related(self, self._related).holds(resource.name)

    def _related(self, view: StackView) -> Related:
        neighbours = view.requirements if self.backwards else view.dependents
        told: dict[Truth, list[str]] = {True: [], False: [], None: []}
        for other in view.of_types(self.types):
            told[True if self.where is None else self.where.holds(other, view)].append(other.name)
        return Related(
            reached(told[True], neighbours, far=self.indirectly),
            reached(told[None], neighbours, far=self.indirectly),
        )

    def __str__(self) -> str:
        verb = "is required by" if self.backwards else "requires"
        how = " (directly or not)" if self.indirectly else ""
        where = f" of which {self.where}" if self.where else ""
        return f"the resource {verb} one of type {' or '.join(self.types)}{how}{where}"


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """Something is not so."""

    condition: Condition

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Answer it."""
        return opposite(self.condition.holds(resource, view))

    def __str__(self) -> str:
        return f"not ({self.condition})"


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """All of these are so."""

    conditions: Sequence[Condition]

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Answer it."""
        return every(condition.holds(resource, view) for condition in self.conditions)

    def __str__(self) -> str:
        return " and ".join(f"({condition})" for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """At least one of these is so."""

    conditions: Sequence[Condition]

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Answer it."""
        return some(condition.holds(resource, view) for condition in self.conditions)

    def __str__(self) -> str:
        return " or ".join(f"({condition})" for condition in self.conditions)
