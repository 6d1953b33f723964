"""Breakpoints of a stack: clear those at which its resources pause (Heat's hooks)."""

import glob
from collections.abc import Mapping
from fnmatch import fnmatchcase

from hooks.values.nearest import Nearest
from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.model.breakpoints import UNSET_HOOK
from orchestrator.model.messages import CheckOrder
from orchestrator.queries.breakpoints import hook_view
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.template.resource_registry import HOOKS
from orchestrator.views.stacks import HookView


def check_kind(kind: object, *, path: str) -> str:
    """Return the kind of a breakpoint that a caller named.

    Raises:
        InvalidInput: there is no such kind; the hint is the nearest. ``path`` is where it was named.
    """
    if isinstance(kind, str) and kind in HOOKS:
        return kind
    found = repr(kind[:80]) if isinstance(kind, str) else type(kind).__name__
    hint = Nearest().hint(str(kind), HOOKS)
    raise InvalidInput(
        [Problem(path=path, message=f"expected one of {', '.join(HOOKS)}, found {found}", hint=hint)]
    )


def clear_hooks(
    store: Store, stack: StackRow, *, resource: str, kind: str | None, at_once: bool
) -> tuple[list[HookView], list[CheckOrder]]:
    """Clear the matching breakpoints of a stack; return the cleared ones, and the orders to publish.

    ``resource`` is a resource's name, or its path through nested stacks, with slashes; it may have wildcards (``*``,
    ``?``, ``[abc]``). ``kind`` is None for any. With ``at_once``, the next sweep publishes the orders, for callers that
    cannot publish.

    Raises:
        NotFound: the stack has no resource of this name.
    """
    if not any(mark in resource for mark in "*?[/"):
        store.stacks.resource(stack.id, resource)
    cleared: list[HookView] = []
    orders: list[CheckOrder] = []
    for standing in store.breakpoints.standing(stack.id):
        if kind not in (None, standing.hook) or not fnmatchcase(standing.path, resource):
            continue
        ready = store.breakpoints.clear(standing, at_once=at_once)
        if ready is not None:
            cleared.append(hook_view(standing))
            orders += ready
    return cleared, orders


def unset_hook(
    store: Store, stack: StackRow, resource: str, details: Mapping[str, object], *, at_once: bool = False
) -> list[CheckOrder]:
    """Clear the breakpoint that a signal names; return the orders to publish.

    Raises:
        NotFound: there is no such resource.
        InvalidInput: there is no such kind of breakpoint.
        Conflict: the resource does not pause at this breakpoint.
    """
    kind = check_kind(details[UNSET_HOOK], path=UNSET_HOOK)
    store.stacks.resource(stack.id, resource)
    cleared, orders = clear_hooks(store, stack, resource=glob.escape(resource), kind=kind, at_once=at_once)
    if not cleared:
        raise Conflict(f"resource {resource!r} does not stand at the hook {kind}")
    return orders
