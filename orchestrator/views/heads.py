"""The head of every page about one stack: which operation it is about, and how far that is."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.views.facts import NodeFact
from orchestrator.views.operations import STATES, OperationView
from orchestrator.views.stacks import View
from orchestrator.views.states import state_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadView(View):
    """One operation on a stack, how far it is, and what else there is to know of the stack at a glance."""

    operation: OperationView
    #: How many resources it works on, those that are as they are to be already among them, and how many of them are.
    total: int
    done: int
    #: How many are in each of ``STATES``; those in which none is are left out.
    counts: Mapping[str, int]
    tags: tuple[str, ...]
    #: When the stack was deleted; None if it was not.
    deleted_at: float | None
    #: As of a graph's picture.
    cursor: int
    as_of: float


def counted(alike: Iterable[tuple[NodeFact, int]], *, is_over: bool) -> dict[str, int]:
    """Return how many resources of an operation are in each state, in the order of their life.

    ``alike`` has resources that stand for others that are like them, with how many those are.
    """
    counts: Counter[str] = Counter()
    for node, count in alike:
        counts[state_of(node, (), is_over=is_over)] += count
    return {state: counts[state] for state in STATES if counts[state]}
