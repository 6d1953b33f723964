"""Lifecycle plugins: asked before a stack operation, told after it.

A plugin gets plain values, never an object of the engine: there is nothing in its hands that could change a
stack, and it outlives the engine's refactoring. Both calls may come more than once for one operation, in any
process: the operation's id tells.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from hooks.errors import LifecycleRefused
from hooks.hook import Hook, HookFault, load_hooks

#: The entry point group of lifecycle plugins.
NAMESPACE = "isotherm.lifecycle"

_log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation on one stack, as a plugin sees it."""

    #: The same however often the plugin is called: the traversal's id.
    id: str
    #: In Heat's words: CREATE, UPDATE, DELETE ...
    action: str
    stack_id: str
    stack_name: str
    project: str
    #: None until the operation has ended.
    success: bool | None = None
    #: Why it ended as it did; empty until then.
    reason: str = ""
    #: The stack's parameters by name, hidden ones masked.
    parameters: Mapping[str, Any] = field(default_factory=dict)


class LifecyclePlugin(Hook):
    """Base of lifecycle plugins: override what you need, the rest does nothing."""

    #: Lower ones are asked earlier and told later; equal ones go by name.
    ordinal: int = 100

    def pre_op(self, operation: Operation) -> None:
        """Run before anything is touched; raise to refuse the operation."""

    def post_op(self, operation: Operation) -> None:
        """Undo or record, once the operation has ended; also when a later plugin refused it."""


def load_lifecycle_plugins(namespace: str = NAMESPACE) -> tuple[LifecyclePlugin, ...]:
    """Return the installed plugins in the order in which they are asked.

    Raises:
        HookNotLoaded: one of them cannot be used.
    """
    return in_order(load_hooks(namespace, LifecyclePlugin))


def in_order(plugins: Iterable[LifecyclePlugin]) -> tuple[LifecyclePlugin, ...]:
    """Return plugins by ordinal, then by name."""
    return tuple(sorted(plugins, key=lambda plugin: (plugin.ordinal, plugin.name)))


def run_pre_ops(plugins: Iterable[LifecyclePlugin], operation: Operation) -> None:
    """Ask every plugin in order.

    When one refuses, those that had agreed are told in reverse order that the operation failed; the one that
    refused and those after it are not.

    Raises:
        LifecycleRefused: a plugin raised; its error is the cause.
    """
    agreed: list[LifecyclePlugin] = []
    for plugin in in_order(plugins):
        try:
            plugin.pre_op(copy.deepcopy(operation))
        except Exception as error:
            refusal = LifecycleRefused(plugin.name, str(error) or type(error).__name__)
            run_post_ops(agreed, replace(operation, success=False, reason=str(refusal)))
            raise refusal from error
        agreed.append(plugin)


def run_post_ops(plugins: Iterable[LifecyclePlugin], operation: Operation) -> Sequence[HookFault]:
    """Tell every plugin, in reverse order, how the operation ended; return (and log) the errors they raised.

    One that raises keeps none of the others from being told.
    """
    faults = []
    for plugin in reversed(in_order(plugins)):
        try:
            # A copy each: what one plugin does to its parameters no other sees.
            plugin.post_op(copy.deepcopy(operation))
        except Exception as error:  # noqa: BLE001 (the operation is over; a plugin's bug must not stop the others)
            faults.append(HookFault(plugin.name, error))
            _log.error(
                "lifecycle plugin failed after the operation",
                plugin=plugin.name,
                operation=operation.id,
                stack=operation.stack_name,
                action=operation.action,
                exc_info=error,
            )
    return faults
