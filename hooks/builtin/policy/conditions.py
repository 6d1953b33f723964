"""Conditions on resources, in three-valued logic: the result is unknown where a value is."""

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
    """A condition on a resource in its stack; as text, the statement that it makes."""

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Return whether it holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Property:
    """A condition on the value to which a path leads."""

    path: Path
    operator: Operator
    #: Whether it holds where no value is given.
    optional: bool = False

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:  # noqa: ARG002  # one for all
        """Return whether it holds."""
        value = self.path.value(resource.properties)
        return True if self.optional and value is NOTHING else self.operator.holds(value)

    def __str__(self) -> str:
        return f"{self.path.text} {self.operator}{' (or is not given)' if self.optional else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """A condition on all values to which a path leads; holds if there is none."""

    path: Path
    operator: Operator
    optional: bool = False

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:  # noqa: ARG002  # one for all
        """Return whether it holds."""
        values = self.path.values(resource.properties)
        return every(
            True if self.optional and value is NOTHING else self.operator.holds(value) for value in values
        )

    def __str__(self) -> str:
        return f"every {self.path.text} {self.operator}{' (or is not given)' if self.optional else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """A condition on at least one value to which a path leads."""

    path: Path
    operator: Operator

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:  # noqa: ARG002  # one for all
        """Return whether it holds."""
        return some(map(self.operator.holds, self.path.values(resource.properties)))

    def __str__(self) -> str:
        return f"some {self.path.text} {self.operator}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relation:
    """The resource requires another one, or another requires it: by a function, or by depends_on."""

    #: The types of the other.
    types: tuple[str, ...]
    #: Whether the other requires this one.
    backwards: bool = False
    #: Whether further resources may be between them.
    indirectly: bool = False
    #: A condition on the other.
    where: Condition | None = None

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Return whether it holds."""
        return view.related(self, self._related).holds(resource.name)

    def _related(self, view: StackView) -> Related:
        neighbours = view.requirements if self.backwards else view.dependents
        by_truth: dict[Truth, list[str]] = {True: [], False: [], None: []}
        for other in view.of_types(self.types):
            by_truth[True if self.where is None else self.where.holds(other, view)].append(other.name)
        return Related(
            reached(by_truth[True], neighbours, far=self.indirectly),
            reached(by_truth[None], neighbours, far=self.indirectly),
        )

    def __str__(self) -> str:
        verb = "is required by" if self.backwards else "requires"
        how = " (directly or not)" if self.indirectly else ""
        where = f" of which {self.where}" if self.where else ""
        return f"the resource {verb} one of type {' or '.join(self.types)}{how}{where}"


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """The negation of a condition."""

    condition: Condition

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Return whether it holds."""
        return opposite(self.condition.holds(resource, view))

    def __str__(self) -> str:
        return f"not ({self.condition})"


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """The conjunction of conditions."""

    conditions: Sequence[Condition]

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Return whether it holds."""
        return every(condition.holds(resource, view) for condition in self.conditions)

    def __str__(self) -> str:
        return " and ".join(f"({condition})" for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """The disjunction of conditions."""

    conditions: Sequence[Condition]

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Return whether it holds."""
        return some(condition.holds(resource, view) for condition in self.conditions)

    def __str__(self) -> str:
        return " or ".join(f"({condition})" for condition in self.conditions)
