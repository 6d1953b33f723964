"""What is done with resources as they are, and what state a resource must be in for it.

Pure: the store asks it in SQL, where a claim decides what becomes of a row, and a step asks it in Python.
"""

from dataclasses import dataclass
from typing import Final

CHECK: Final = "CHECK"
SUSPEND: Final = "SUSPEND"
RESUME: Final = "RESUME"
SNAPSHOT: Final = "SNAPSHOT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitness:
    """What state a resource must be in for an operation: what is COMPLETE is, with exceptions; else it is not."""

    #: The actions after which it is not, however they ended.
    never: frozenset[str]
    #: The actions after which it is although they failed, or were never finished.
    unfinished: frozenset[str]


#: By operation. What was left half-way by another action stays what it is: whoever finds it later must still be able to
#: tell what became of it.
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
    """Whether the operation can be done with a resource whose last action is ``action``, and ended like that."""
    fitness = OPERATIONS[operation]
    if action in fitness.never:
        return False
    return status == "COMPLETE" or action in fitness.unfinished


def is_suspended(action: str, status: str) -> bool:
    """Whether a resource was suspended, as a whole or in part, and has not been resumed."""
    return action == SUSPEND or (action == RESUME and status != "COMPLETE")
