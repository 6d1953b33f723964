"""Breakpoints (hooks) at which the resources of a stack stand, for faces."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from orchestrator.views.stacks import HookView

if TYPE_CHECKING:
    from orchestrator.store.nodes.breakpoints import StandingNode
    from orchestrator.store.store import Store

#: The most resources that one sentence names.
MOST_NAMED: Final = 5


def hook_view(standing: "StandingNode") -> HookView:
    """Return the view of a node that stands at a hook."""
    return HookView(
        resource=standing.path, uuid=standing.resource_id, kind=standing.hook, since=standing.since
    )


def waits_for(standing: Sequence[HookView]) -> str:
    """Return the sentence that names the hooks for which a stack waits."""
    named = ", ".join(f"{each.resource} ({each.kind})" for each in standing[:MOST_NAMED])
    more = f" and {len(standing) - MOST_NAMED} more" if len(standing) > MOST_NAMED else ""
    return f"paused until these hooks are cleared: {named}{more}"


def hooks_by_row(store: "Store", stack_id: str) -> Mapping[str, str]:
    """Return the hooks at which resources of a stack and its nested stacks stand, by the ids of their rows."""
    return {standing.resource_id: standing.hook for standing in store.breakpoints.standing(stack_id)}
