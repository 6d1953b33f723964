"""The head of every page about one stack: its operation, and counts of resources by state."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.views.facts import NodeFact
from orchestrator.views.operations import STATES, OperationView
from orchestrator.views.stacks import View
from orchestrator.views.states import state_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadView(View):
    """One operation on a stack with its progress, and the stack's tags."""

    operation: OperationView
    #: The number of its resources, unchanged ones included, and how many of them are done or unchanged.
    total: int
    done: int
    #: The number of resources in each of ``STATES``, without states that none is in.
    counts: Mapping[str, int]
    tags: tuple[str, ...]
    #: When the stack was deleted; None if it is not.
    deleted_at: float | None
    #: As in ``GraphPicture``.
    cursor: int
    as_of: float


def counted(alike: Iterable[tuple[NodeFact, int]], *, is_over: bool) -> dict[str, int]:
    """Return the number of an operation's resources in each state, in the order of ``STATES``.

    ``alike`` has nodes that each stand for a number of equal ones.
    """
    counts: Counter[str] = Counter()
    for node, count in alike:
        counts[state_of(node, (), is_over=is_over)] += count
    return {state: counts[state] for state in STATES if counts[state]}
