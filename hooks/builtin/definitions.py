"""Which operations give a stack a definition: those are what limits and rules are about."""

from typing import Final

#: What people ask for, and may have to ask for differently. A rollback brings back what was allowed before, and what
#: takes away or leaves as it is must always be possible.
DEFINING_ACTIONS: Final = frozenset({"CREATE", "UPDATE", "ADOPT", "RESTORE"})
