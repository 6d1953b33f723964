"""Operations on resources as they are (check, suspend, resume, snapshot), and the states that allow each.

The rules are data, because claims apply them in SQL, and steps in Python.
"""

from typing import Final

from hooks.values.dataclass import dataclass

CHECK: Final = "CHECK"
SUSPEND: Final = "SUSPEND"
RESUME: Final = "RESUME"
SNAPSHOT: Final = "SNAPSHOT"
#: The actions on stacks that an update with the same definition tries again.
RETRIED: Final = ("CREATE", "UPDATE", "ROLLBACK", "ADOPT", "RESTORE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitness:
    """The states in which a resource is fit for an operation: those that are COMPLETE, with exceptions."""

    #: The last actions that make it unfit, whatever their status.
    never: frozenset[str]
    #: The last actions that leave it fit although they failed or are not finished.
    unfinished: frozenset[str]


#: The fitness for each operation. A resource with another unfinished action is not fit, so that its state still shows
#: what happened to it.
OPERATIONS: Final = {
    CHECK: Fitness(
        never=frozenset({"INIT", "DELETE", SUSPEND}),
        unfinished=frozenset({CHECK, SNAPSHOT}),
    ),
    SUSPEND: Fitness(
        never=frozenset({"INIT", "DELETE"}),
        unfinished=frozenset({SUSPEND, RESUME, SNAPSHOT}),
    ),
    RESUME: Fitness(
        never=frozenset({"INIT", "DELETE"}),
        unfinished=frozenset({SUSPEND, RESUME}),
    ),
    SNAPSHOT: Fitness(
        never=frozenset({"INIT", "DELETE", SUSPEND}),
        unfinished=frozenset({SNAPSHOT}),
    ),
}


def is_fit(operation: str, action: str, status: str) -> bool:
    """Return whether a resource with this last action and status is fit for an operation."""
    fitness = OPERATIONS[operation]
    if action in fitness.never:
        return False
    return status == "COMPLETE" or action in fitness.unfinished


def is_suspended(action: str, status: str) -> bool:
    """Return whether a resource was suspended, at least in part, and has not been resumed."""
    return action == SUSPEND or (action == RESUME and status != "COMPLETE")
