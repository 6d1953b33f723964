"""Rules, and their judgement of a stack: what is refused, and what is warned of."""

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

#: The most breaches that are named for one operation; of the others, the number.
MOST_NAMED: Final = 19


class Effect(Enum):
    """The effect of a breach."""

    REFUSE = "refuse"
    WARN = "warn"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Demands that belong together, the operations they apply to, and the effect of a breach."""

    name: str
    demands: tuple[Demand, ...]
    #: The operator's explanation, appended to messages.
    message: str = ""
    effect: Effect = Effect.REFUSE
    #: The effect where it is unknown whether the rule is kept.
    when_unknown: Effect = Effect.REFUSE
    projects: tuple[str, ...] = ("*",)
    except_projects: tuple[str, ...] = ()
    actions: frozenset[str] = DEFINING_ACTIONS

    def concerns(self, context: LifecycleContext, action: str) -> bool:
        """Return whether the rule applies to an operation."""
        return (
            is_among(self.actions, context, action)
            and matches_any(context.project, self.projects)
            and not matches_any(context.project, self.except_projects)
        )

    def effect_of(self, breach: Breach) -> Effect:
        """Return the effect of a breach."""
        return self.when_unknown if breach.perhaps else self.effect

    def sentence(self, breach: Breach) -> str:
        """Return a breach as a sentence."""
        problem = breach.sentence(f"rule {self.name!r}")
        return f"{problem} - {self.message}" if self.message else problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The judgement of a stack, in sentences."""

    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def judge(rules: Iterable[Rule], stack: FrozenStack) -> Judgement:
    """Return the judgement of a stack by those rules that apply to it."""
    view = StackView(stack)
    sentences: dict[Effect, list[str]] = {effect: [] for effect in Effect}
    for rule in rules:
        for demand in rule.demands:
            for breach in demand(view):
                sentences[rule.effect_of(breach)].append(rule.sentence(breach))
    return Judgement(refusals=_bounded(sentences[Effect.REFUSE]), warnings=_bounded(sentences[Effect.WARN]))


def _bounded(sentences: Sequence[str]) -> tuple[str, ...]:
    if len(sentences) <= MOST_NAMED:
        return tuple(sentences)
    return (*sentences[:MOST_NAMED], f"and {len(sentences) - MOST_NAMED} more")
