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
    """A condition on the value to which a path leads; on every value or some value if it leads to several."""

    path: Path
    operator: Operator
    #: Whether it holds where no value is given.
    optional: bool = False
    #: ``every`` (which holds if there is no value) or ``some``; empty for a path to one value.
    which: str = ""

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:  # noqa: ARG002  # one for all
        """Return whether it holds."""
        truths = (
            True if self.optional and value is NOTHING else self.operator.holds(value)
            for value in self.path.values(resource.properties)
        )
        return some(truths) if self.which == "some" else every(truths)

    def __str__(self) -> str:
        which = f"{self.which} " if self.which else ""
        return f"{which}{self.path.text} {self.operator}{' (or is not given)' if self.optional else ''}"


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
class Together:
    """The conjunction of conditions, or if ``any_will_do`` their disjunction."""

    conditions: Sequence[Condition]
    any_will_do: bool = False

    def holds(self, resource: FrozenResource, view: StackView) -> Truth:
        """Return whether it holds."""
        truths = (condition.holds(resource, view) for condition in self.conditions)
        return some(truths) if self.any_will_do else every(truths)

    def __str__(self) -> str:
        return (" or " if self.any_will_do else " and ").join(f"({each})" for each in self.conditions)
