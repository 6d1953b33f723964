"""One round of observations: all that are due now, and the repairs that they decide, until none is left.

For embedded mode, in which nothing runs between two commands.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import Unavailable
from orchestrator.store.stacks.observation_turns import PendingTurn
from orchestrator.store.store import Store
from orchestrator.views.drift import RoundView

#: A repair that has begun is observed once more, so many seconds later at most; the round waits for that.
_AFTER_REPAIR_SECONDS: Final = 10.0
#: How long a round waits while nothing changes, in seconds.
PATIENCE_SECONDS: Final = 600.0
_PAUSE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundState:
    """How far a round is, as numbers of stacks."""

    stacks: int
    done: int
    #: How many have resources under repair.
    repairing: int


class ObservationRound:
    """The stacks of a project whose observation is due as the round begins; not thread-safe."""

    def __init__(self, store: Store, project: str) -> None:
        """Look for them; observations that an earlier process began and did not end are due, too."""
        self._store, self._project = store, project
        self._begun_at = store.database.time()
        turns = self._read()
        self._first = {each.stack_id: each for each in turns.values() if _is_due(each)}
        store.observation_turns.begin_again(list(self._first))

    def state(self) -> RoundState:
        """Return how far it is by now."""
        turns = self._read()
        waiting = [
            turns[each] for each in self._first if each in turns and _waits(self._first[each], turns[each])
        ]
        return RoundState(
            stacks=len(self._first),
            done=len(self._first) - len(waiting),
            repairing=sum(each.under_repair > 0 for each in waiting),
        )

    def views(self) -> list[RoundView]:
        """Return what came of it, by the names of stacks; an operation in progress has left its stack out."""
        found = []
        for stack_id, first in self._first.items():
            turn = self._store.observation_turns.read(stack_id)
            assert turn is not None  # noqa: S101  # it is never deleted before its stack is purged
            drift = {row.resource_id for row in self._store.drifts.of_tree(stack_id)}
            is_observed = turn.observed_at is not None and turn.observed_at >= self._begun_at
            found.append(
                RoundView(
                    stack=first.name,
                    observed=is_observed,
                    drifted=len(drift),
                    repaired=sum(at >= self._begun_at for _, at in turn.repairs),
                    trouble=turn.trouble or ("" if is_observed else "an operation is in progress"),
                )
            )
        return sorted(found, key=lambda each: each.stack)

    def _read(self) -> Mapping[str, PendingTurn]:
        return {each.stack_id: each for each in self._store.observation_turns.pending(self._project)}


def _is_due(turn: PendingTurn) -> bool:
    is_due = turn.due_at is not None and turn.due_at <= turn.now
    return is_due or turn.is_begun or turn.repair_is_due


def _waits(first: PendingTurn, turn: PendingTurn) -> bool:
    """Whether a stack is not done: it is not observed since the round began, or a repair of it goes on."""
    if turn.repair_is_due:
        return True
    if turn.under_repair:
        soon = turn.due_at is not None and turn.due_at <= turn.now + _AFTER_REPAIR_SECONDS
        return turn.is_busy or turn.is_begun or soon
    if turn.is_busy:
        return False
    return turn.is_begun or turn.attempt == first.attempt


def carry_out(
    observations: ObservationRound,
    report: Callable[[RoundState], None],
    *,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[RoundView]:
    """Wait until a round is done; ``report`` is called with how far it is.

    ``pause`` waits between two looks, and ``clock`` returns seconds that never go backwards.

    Raises:
        Unavailable: no observation has ended for long, and no repair is under way.
    """
    state, changed_at = observations.state(), clock()
    while state.done < state.stacks:
        report(state)
        pause(_PAUSE_SECONDS)
        before, state = state, observations.state()
        if state != before or state.repairing:
            changed_at = clock()
        elif clock() >= changed_at + PATIENCE_SECONDS:
            left = state.stacks - state.done
            raise Unavailable(
                f"{left} of {state.stacks} stacks were not observed: nothing has changed for {PATIENCE_SECONDS:g} "
                "seconds"
            )
    return observations.views()
