"""The head of every page about one stack: which operation it is about, and how far that is."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.observation.facts import NodeFact
from orchestrator.observation.states import state_of
from orchestrator.observation.views import DONE, STATES, UNCHANGED, OperationView
from orchestrator.observation.wiring import is_counter
from orchestrator.views import View


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


def counted(tally: Iterable[tuple[NodeFact, int]], operation: OperationView) -> dict[str, int]:
    """Return how many resources of an operation are in each state, in the order of their life.

    ``tally`` has nodes that stand for others that are like them, with how many those are.
    """
    counts: Counter[str] = Counter()
    for node, count in tally:
        if not is_counter(node):
            counts[state_of(node, operation, ())] += count
    return {state: counts[state] for state in STATES if counts[state]}


def head_of(
    operation: OperationView,
    tally: Iterable[tuple[NodeFact, int]],
    *,
    tags: tuple[str, ...],
    deleted_at: float | None,
    cursor: int,
    as_of: float,
) -> HeadView:
    """Return the head of pages about an operation; ``tally`` as of :func:`counted`."""
    counts = counted(tally, operation)
    return HeadView(
        operation=operation,
        total=sum(counts.values()),
        done=counts.get(DONE, 0) + counts.get(UNCHANGED, 0),
        counts=counts,
        tags=tags,
        deleted_at=deleted_at,
        cursor=cursor,
        as_of=as_of,
    )
