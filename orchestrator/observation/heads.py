"""The head of every page about one stack: which operation it is about, and how far that is."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.observation.views import BLOCKED, DONE, STATES, UNREACHED, OperationView
from orchestrator.views import View


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadView(View):
    """One operation on a stack, how far it is, and what else there is to know of the stack at a glance."""

    operation: OperationView
    #: How many resources it works on, those that are as they are to be already among them, and how many of them are.
    total: int
    done: int
    #: By state of a node in the store; what can be begun no more is counted as unreached.
    counts: Mapping[str, int]
    tags: tuple[str, ...]
    #: When the stack was deleted; None if it was not.
    deleted_at: float | None
    #: As of a graph's picture.
    cursor: int
    as_of: float


def counted(stored: Mapping[str, int], operation: OperationView) -> dict[str, int]:
    """Return how many resources are in each state, in the order of their life; states in which none is are left out.

    Args:
        stored: By state of a node in the store.
        operation: What they are nodes of. Once it is over, what is still blocked is never begun.
    """
    told = dict(stored)
    if operation.status != "IN_PROGRESS" and BLOCKED in told:
        told[UNREACHED] = told.pop(BLOCKED)
    return {state: told[state] for state in STATES if told.get(state)}


def head_of(
    operation: OperationView,
    stored: Mapping[str, int],
    *,
    tags: tuple[str, ...],
    deleted_at: float | None,
    cursor: int,
    as_of: float,
) -> HeadView:
    """Return the head of pages about an operation; ``stored`` as of :func:`counted`."""
    return HeadView(
        operation=operation,
        total=sum(stored.values()),
        done=stored.get(DONE, 0),
        counts=counted(stored, operation),
        tags=tags,
        deleted_at=deleted_at,
        cursor=cursor,
        as_of=as_of,
    )
