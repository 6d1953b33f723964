"""Tell one lifecycle plugin, within its time, how an operation ended; whatever it says is only written down."""

import time
from functools import partial

import structlog

from hooks.lifecycle import COMPLETE, LifecycleContext, LifecyclePlugin
from hooks.loading.calling import call_within
from hooks.stack import FrozenStack
from hooks.values.words import fault_of, is_on_purpose, trace_of
from orchestrator.lifecycle.answers import answer_from_wire
from orchestrator.lifecycle.copies import own_copy
from orchestrator.store.traversals.operation_rows import CallRow, OperationRow

log = structlog.get_logger()


def told(
    plugin: LifecyclePlugin | None,
    row: OperationRow,
    call: CallRow,
    *,
    stack: FrozenStack,
    current: FrozenStack | None,
) -> tuple[str, float | None]:
    """Tell a plugin; return what it raises, and how many seconds it took, if it is here.

    Args:
        plugin: Who is told; None if it is not here any more.
        row: The operation, with how it ended.
        call: What the plugin was asked, and answered.
        stack: The stack as it was to be.
        current: The stack as it is; None if there is none.
    """
    if plugin is None:
        error = "it is not installed any more, or not enabled: it could not be told"
        log.warning("a lifecycle plugin cannot be told", plugin=call.plugin, operation=row.id, reason=error)
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
    except Exception as raised:  # noqa: BLE001  # the operation is over; a plugin's fault must not stop the others
        error = fault_of(raised, plugin.options)
        log.error(
            "a lifecycle plugin failed after the operation",
            plugin=plugin.name,
            operation=row.id,
            stack_name=row.stack,
            action=row.action,
            reason=error,
            exception=None if is_on_purpose(raised) else trace_of(raised, plugin.options),
        )
    return error, time.monotonic() - begun
