"""The actions and statuses of events, in a module of their own because faces need no more of sinks."""

from typing import Final

#: The actions of protection, which change no state.
PROTECT: Final = "PROTECT"
UNPROTECT: Final = "UNPROTECT"
#: The actions of events that record no work of an operation: a resource waits for an operator, was signalled, was
#: observed, or was protected. They may come at any time.
ASIDE: Final = frozenset({"HOOK", "SIGNAL", "DRIFT", PROTECT, UNPROTECT})
#: Every action that an event may have.
ACTIONS: Final = (
    *("CREATE", "ADOPT", "UPDATE", "REPLACE", "ROLLBACK", "DELETE", "CHECK", "SUSPEND", "RESUME"),
    *("SNAPSHOT", "RESTORE", "SIGNAL", "HOOK", "DRIFT", PROTECT, UNPROTECT),
)
#: The statuses of actions.
OF_ACTIONS: Final = ("IN_PROGRESS", "COMPLETE", "FAILED")
#: Every status that an event may have; the last two are those of ``DRIFT`` alone.
STATUSES: Final = (*OF_ACTIONS, "DETECTED", "RESOLVED")
