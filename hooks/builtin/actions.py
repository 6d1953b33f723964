"""The operations on stacks, and which of them give a stack a definition: those are what limits and rules are about."""

from typing import Final

ACTIONS: Final = (
    *("CREATE", "UPDATE", "ADOPT", "RESTORE", "DELETE", "ROLLBACK"),
    *("CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "ABANDON"),
)
#: What people ask for, and may have to ask for differently. A rollback brings back what was allowed before, and what
#: takes away or leaves as it is must always be possible.
DEFINING_ACTIONS: Final = frozenset({"CREATE", "UPDATE", "ADOPT", "RESTORE"})
