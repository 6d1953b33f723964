"""The actions and statuses of events, in a module of their own because faces need no more of sinks."""

from typing import Final

#: The actions of protection, which change no state.
PROTECT: Final = "PROTECT"
UNPROTECT: Final = "UNPROTECT"
#: The action of a move: a resource has another name from now on. It changes no state.
MOVE: Final = "MOVE"
#: The actions of events that record no work of an operation: a resource waits for an operator, was signalled, was
#: observed, was protected, or was moved. They may come at any time.
ASIDE: Final = frozenset({"HOOK", "SIGNAL", "DRIFT", PROTECT, UNPROTECT, MOVE})
#: Every action that an event may have.
ACTIONS: Final = (
    *("CREATE", "ADOPT", "UPDATE", "REPLACE", "ROLLBACK", "DELETE", "CHECK", "SUSPEND", "RESUME"),
    *("SNAPSHOT", "RESTORE", "SIGNAL", "HOOK", "DRIFT", PROTECT, UNPROTECT, MOVE),
)
#: The statuses of actions.
OF_ACTIONS: Final = ("IN_PROGRESS", "COMPLETE", "FAILED")
#: Every status that an event may have; the last two are those of ``DRIFT`` alone.
STATUSES: Final = (*OF_ACTIONS, "DETECTED", "RESOLVED")
