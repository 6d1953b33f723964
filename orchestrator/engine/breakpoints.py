"""Where a stack's resources stand at hooks, and how people let them on."""

import glob
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Final

from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.model.messages import CheckOrder
from orchestrator.store.nodes.breakpoints import Standing
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.template.resource_registry import HOOKS
from orchestrator.views.stacks import HookView

#: How many of the resources that a stack waits for are named in one sentence.
MOST_NAMED: Final = 5
#: What a signal says that lets a resource past a hook.
UNSET_HOOK: Final = "unset_hook"


def hook_view(standing: Standing) -> HookView:
    """Return what the faces show of a node that stands at a hook."""
    return HookView(
        resource=standing.path, uuid=standing.resource_id, kind=standing.hook, since=standing.since
    )


def waits_for(standing: Sequence[HookView]) -> str:
    """Return in words what a stack waits for."""
    named = ", ".join(f"{each.resource} ({each.kind})" for each in standing[:MOST_NAMED])
    more = f" and {len(standing) - MOST_NAMED} more" if len(standing) > MOST_NAMED else ""
    return f"paused until these hooks are cleared: {named}{more}"


def check_kind(kind: object, *, path: str) -> str:
    """Return the kind of a hook that a person named.

    Raises:
        InvalidInput: there is no such kind; the nearest is given. ``path`` says where it was named.
    """
    if isinstance(kind, str) and kind in HOOKS:
        return kind
    near = get_close_matches(str(kind), HOOKS, 1)
    found = repr(kind[:80]) if isinstance(kind, str) else type(kind).__name__
    hint = f"did you mean {near[0]!r}?" if near else ""
    raise InvalidInput(
        [Problem(path=path, message=f"expected one of {', '.join(HOOKS)}, found {found}", hint=hint)]
    )


def clear_hooks(
    store: Store, stack: StackRow, *, resource: str, kind: str | None, at_once: bool
) -> tuple[list[HookView], list[CheckOrder]]:
    """Let everything on that stands at a hook and matches; return what that was, and the orders to publish.

    ``resource`` is a resource's name, after those of the resources that it is in and with slashes between them; it may
    have wildcards (``*``, ``?``, ``[abc]``). ``kind`` is None for any. With ``at_once``, the next sweep publishes the
    orders, since nobody else does.

    Raises:
        NotFound: the stack has no resource of this name.
    """
    if not any(mark in resource for mark in "*?[/"):
        store.stacks.resource(stack.id, resource)
    cleared: list[HookView] = []
    orders: list[CheckOrder] = []
    for standing in store.hooks.standing(stack.id):
        if kind not in (None, standing.hook) or not fnmatchcase(standing.path, resource):
            continue
        ready = store.hooks.clear(standing, at_once=at_once)
        if ready is not None:
            cleared.append(hook_view(standing))
            orders += ready
    return cleared, orders


def unset_hook(
    store: Store, stack: StackRow, resource: str, details: Mapping[str, Any], *, at_once: bool = False
) -> list[CheckOrder]:
    """Let a resource on that is signalled to unset a hook; return the orders to publish.

    Raises:
        NotFound: there is no such resource.
        InvalidInput: there is no such kind of hook.
        Conflict: it does not stand there.
    """
    kind = check_kind(details[UNSET_HOOK], path=UNSET_HOOK)
    store.stacks.resource(stack.id, resource)
    cleared, orders = clear_hooks(store, stack, resource=glob.escape(resource), kind=kind, at_once=at_once)
    if not cleared:
        raise Conflict(f"resource {resource!r} does not stand at the hook {kind}")
    return orders


def hooks_by_row(store: Store, stack_id: str) -> Mapping[str, str]:
    """Return the hooks at which the resources of a stack, and of those in it, stand, by the ids of their rows."""
    return {standing.resource_id: standing.hook for standing in store.hooks.standing(stack_id)}
