"""Operations on stacks, and those of them that give a stack a definition: limits and rules apply to these."""

from collections.abc import Container
from typing import Final

from hooks.lifecycle import LifecycleContext

ACTIONS: Final = (
    *("CREATE", "UPDATE", "ADOPT", "RESTORE", "DELETE", "ROLLBACK"),
    *("CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "ABANDON"),
)
#: Operations that users request and may have to request differently. A rollback restores what was allowed
#: before, and an operation that removes resources, or leaves them as they are, must always be possible.
DEFINING_ACTIONS: Final = frozenset({"CREATE", "UPDATE", "ADOPT", "RESTORE"})


def is_among(actions: Container[str], context: LifecycleContext, action: str) -> bool:
    """Return whether an operation, and the one on the outermost stack that caused it, are both among ``actions``.

    A nested stack's removal by an update is no deletion that a user requested, and what a rollback restores in it is
    no update.
    """
    return action in actions and (context.root_action or action) in actions
