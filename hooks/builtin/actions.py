"""Operations on stacks, and those of them that give a stack a definition: limits and rules apply to these."""

from collections.abc import Container
from typing import Annotated, Final

from pydantic import AfterValidator

from hooks.lifecycle import LifecycleContext
from hooks.values.nearest import nearest

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


def _known(actions: tuple[str, ...]) -> tuple[str, ...]:
    for each in actions:
        if each not in ACTIONS:
            raise ValueError(f"there is no operation {each!r}; {nearest(each, ACTIONS)}")
    return actions


#: The type of an option with operations.
Actions = Annotated[tuple[str, ...], AfterValidator(_known)]
