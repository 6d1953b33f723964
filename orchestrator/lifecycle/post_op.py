"""Calls ``do_post_op`` of one lifecycle plugin, within its time limit; its errors are recorded, not raised."""

import time
from functools import partial

from hooks.lifecycle import COMPLETE, LifecycleContext, LifecyclePlugin
from hooks.loading.calling import NotCalled, TookTooLong, call_within
from hooks.stack import FrozenStack
from hooks.values.words import fault_of, is_on_purpose, trace_of
from orchestrator.config.logger import get_logger
from orchestrator.config.replacement import Replacement
from orchestrator.lifecycle.answers import answer_from_wire
from orchestrator.lifecycle.copies import own_copy
from orchestrator.store.traversals.operation_rows import CallRow, OperationRow

log = get_logger()


def notify(
    plugin: LifecyclePlugin | None,
    row: OperationRow,
    call: CallRow,
    *,
    stack: FrozenStack,
    current: FrozenStack | None,
    replacement: Replacement,
) -> tuple[str, float | None]:
    """Call a plugin's ``do_post_op``; return its error, "" for none, and the seconds it took, None if not called.

    ``plugin`` is None if it is not enabled any more. The process is replaced if the call hangs.

    Raises:
        NotCalled: too many calls of the plugin hang in this process.
    """
    if plugin is None:
        error = "it is not installed any more, or not enabled: it was not called"
        log.warning(
            "a lifecycle plugin is not called after the operation",
            plugin=call.plugin,
            operation=row.id,
            reason=error,
        )
        return error, None
    context = LifecycleContext(
        operation_id=row.id,
        project=row.project,
        outcome=row.outcome,
        reason=row.reason,
        annotations=answer_from_wire(call.annotations),
    )
    shown, present = own_copy(plugin, stack), own_copy(plugin, current)
    is_failure = row.outcome != COMPLETE
    error, begun = "", time.monotonic()
    try:
        call_within(
            partial(plugin.do_post_op, context, shown, present, row.action, is_failure),
            seconds=plugin.time_limit_seconds,
            name=f"lifecycle {plugin.name}",
        )
    except NotCalled:
        raise
    except Exception as raised:  # noqa: BLE001  # the operation is over; a plugin's fault must not stop the others
        if isinstance(raised, TookTooLong):
            replacement.request()
        error = fault_of(raised, plugin.options)
        trace = None if is_on_purpose(raised) else trace_of(raised, plugin.options)
        log_failure(row, plugin.name, error, exception=trace)
    return error, time.monotonic() - begun


def log_failure(row: OperationRow, plugin: str, error: str, *, exception: str | None = None) -> None:
    """Log that a plugin failed after an operation, and why."""
    log.error(
        "a lifecycle plugin failed after the operation",
        plugin=plugin,
        operation=row.id,
        stack_name=row.stack,
        action=row.action,
        reason=error,
        exception=exception,
    )
