"""Rules, and what they make of a stack: what is refused, and of what people are warned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hooks.builtin.actions import DEFINING_ACTIONS, is_among
from hooks.builtin.policy.demands import Breach, Demand
from hooks.builtin.policy.view import StackView
from hooks.builtin.wildcards import matches_any
from hooks.lifecycle import LifecycleContext
from hooks.stack import FrozenStack

#: So many breaches are told of one operation, and how many more there are.
MOST_TOLD: Final = 19


class Effect(Enum):
    """What follows from a breach."""

    REFUSE = "refuse"
    WARN = "warn"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Demands that belong together, whom they concern, and what follows if they are not met."""

    name: str
    demands: tuple[Demand, ...]
    #: What people read after what is wrong.
    message: str = ""
    effect: Effect = Effect.REFUSE
    #: What follows where it cannot be told.
    when_unknown: Effect = Effect.REFUSE
    projects: tuple[str, ...] = ("*",)
    except_projects: tuple[str, ...] = ()
    actions: frozenset[str] = DEFINING_ACTIONS

    def concerns(self, context: LifecycleContext, action: str) -> bool:
        """Tell whether an operation must keep it."""
        return (
            is_among(self.actions, context, action)
            and matches_any(context.project, self.projects)
            and not matches_any(context.project, self.except_projects)
        )

    def effect_of(self, breach: Breach) -> Effect:
        """Return what follows from a breach."""
        return self.when_unknown if breach.perhaps else self.effect

    def sentence(self, breach: Breach) -> str:
        """Return for people what is wrong."""
        said = breach.told(f"rule {self.name!r}")
        return f"{said} - {self.message}" if self.message else said


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What rules make of a stack, in sentences."""

    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def judge(rules: Iterable[Rule], stack: FrozenStack) -> Judgement:
    """Return what rules make of a stack; those that do not concern it are not among them."""
    view = StackView(stack)
    told: dict[Effect, list[str]] = {effect: [] for effect in Effect}
    for rule in rules:
        for demand in rule.demands:
            for breach in demand.breaches(view):
                told[rule.effect_of(breach)].append(rule.sentence(breach))
    return Judgement(refusals=_bounded(told[Effect.REFUSE]), warnings=_bounded(told[Effect.WARN]))


def _bounded(sentences: Sequence[str]) -> tuple[str, ...]:
    if len(sentences) <= MOST_TOLD:
        return tuple(sentences)
    return (*sentences[:MOST_TOLD], f"and {len(sentences) - MOST_TOLD} more")
