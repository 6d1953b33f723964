"""What events say happened. Faces need the words, and nothing else of sinks."""

from typing import Final

#: Every action that an event may have.
ACTIONS: Final = (
    *("CREATE", "ADOPT", "UPDATE", "REPLACE", "ROLLBACK", "DELETE", "CHECK", "SUSPEND", "RESUME"),
    *("SNAPSHOT", "RESTORE", "SIGNAL", "HOOK"),
)
#: Every status that an event may have.
STATUSES: Final = ("IN_PROGRESS", "COMPLETE", "FAILED")
