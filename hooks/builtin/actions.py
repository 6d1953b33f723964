"""The operations on stacks, and which of them give a stack a definition: those are what limits and rules are about."""

from collections.abc import Container
from typing import Final

from hooks.lifecycle import LifecycleContext

ACTIONS: Final = (
    *("CREATE", "UPDATE", "ADOPT", "RESTORE", "DELETE", "ROLLBACK"),
    *("CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "ABANDON"),
)
#: What people ask for, and may have to ask for differently. A rollback brings back what was allowed before, and what
#: takes away or leaves as it is must always be possible.
DEFINING_ACTIONS: Final = frozenset({"CREATE", "UPDATE", "ADOPT", "RESTORE"})


def is_among(actions: Container[str], context: LifecycleContext, action: str) -> bool:
    """Tell whether an operation is one of those that people ask for by ``actions``.

    What is done with a stack in a stack must be one of them, and what is under way on the outermost one, too: what an
    update takes away is no deletion that somebody asked for, and what a rollback brings back no update.
    """
    return action in actions and (context.root_action or action) in actions
