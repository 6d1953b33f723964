"""Demands of rules on stacks, and breaches of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hooks.builtin.policy.conditions import Condition, Not
from hooks.builtin.policy.truth import opposite, some
from hooks.builtin.policy.view import StackView
from hooks.builtin.wildcards import matches_any
from hooks.stack import FrozenResource

#: The most resources that are named in a sentence.
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A demand that is not met, or perhaps not."""

    #: What is wrong, as a clause that follows a subject.
    words: str
    #: The resources in breach; empty if it is the stack itself.
    names: tuple[str, ...] = ()
    #: Whether it is unknown, because values are.
    perhaps: bool = False

    def sentence(self, rule: str) -> str:
        """Return what is wrong as a sentence; ``rule`` names the rule."""
        who, one = (_named(self.names), len(self.names) == 1) if self.names else ("the stack", True)
        if self.perhaps:
            return (
                f"{who} may break {rule}, which cannot be told because of values that are hidden, or unknown until "
                f"resources exist: {self.words}"
            )
        return f"{who} {'breaks' if one else 'break'} {rule}: {self.words}"


#: Returns the breaches of a demand on a stack.
Demand = Callable[[StackView], Iterable[Breach]]


def required_tags(patterns: Sequence[str], view: StackView) -> Iterator[Breach]:
    """Yield the breaches of the demand that the stack has a tag for each of these patterns."""
    for pattern in patterns:
        if not any(matches_any(tag, (pattern,)) for tag in view.stack.tags):
            yield Breach(words=f"it has no tag {pattern!r}")


def forbidden_tags(patterns: Sequence[str], view: StackView) -> Iterator[Breach]:
    """Yield the breaches of the demand that the stack has none of these tags."""
    for tag in view.stack.tags:
        if matches_any(tag, patterns):
            yield Breach(words=f"the tag {tag!r} is forbidden")


def forbidden_types(patterns: Sequence[str], view: StackView) -> Iterator[Breach]:
    """Yield the breaches of the demand that no resource is of one of these types."""
    for type_, resources in view.by_type.items():
        if matches_any(type_, patterns):
            yield Breach(names=_names(resources), words=f"the type {type_} is forbidden")


def allowed_types(patterns: Sequence[str], view: StackView) -> Iterator[Breach]:
    """Yield the breaches of the demand that no resource is of any other type."""
    for type_, resources in view.by_type.items():
        if not matches_any(type_, patterns):
            words = f"the type {type_} is none of those allowed, {', '.join(patterns)}"
            yield Breach(names=_names(resources), words=words)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDemand:
    """Every resource of some types meets a condition, or none does."""

    types: tuple[str, ...]
    except_types: tuple[str, ...] = ()
    condition: Condition
    forbidden: bool = False
    #: Restricts the demand to resources that meet this.
    when: Condition | None = None

    def __call__(self, view: StackView) -> Iterator[Breach]:
        """Yield the breaches."""
        broken: list[FrozenResource] = []
        untold: list[FrozenResource] = []
        demanded = Not(self.condition) if self.forbidden else self.condition
        for resource in view.of_types(self.types, self.except_types):
            kept = demanded.holds(resource, view)
            if kept is not True and self.when is not None:
                # If the rule may not apply to a resource, it may be kept.
                kept = some((kept, opposite(self.when.holds(resource, view))))
            if kept is not True:
                (broken if kept is False else untold).append(resource)
        words = f"it {'forbids' if self.forbidden else 'requires'} that {self.condition}"
        if self.when is not None:
            words += f", where {self.when}"
        if broken:
            yield Breach(names=_names(broken), words=words)
        if untold:
            yield Breach(names=_names(untold), words=words, perhaps=True)


def _names(resources: Iterable[FrozenResource]) -> tuple[str, ...]:
    return tuple(resource.name for resource in resources)


def _named(names: Sequence[str]) -> str:
    shown = [repr(name) for name in names[:_MOST_NAMED]]
    if len(names) > _MOST_NAMED:
        shown.append(f"{len(names) - _MOST_NAMED} more")
    listed = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
    return f"{'resource' if len(names) == 1 else 'resources'} {listed}"
