"""Ask one lifecycle plugin, within its time: what it answers, or why it refuses."""

from collections.abc import Callable
from typing import Any

import structlog

from hooks.errors import LifecycleRefused, Refusal
from hooks.lifecycle import Annotations, LifecyclePlugin
from hooks.loading.calling import TookTooLong, call_within
from hooks.values.words import fault_of, tellable, trace_of, words_of
from orchestrator.lifecycle.answers import BadAnswer, answer_to_wire

log = structlog.get_logger()


def answer_of(
    plugin: LifecyclePlugin, ask: Callable[[], Annotations | None], *, stack: str, action: str
) -> dict[str, Any] | None:
    """Return what a plugin answers, as plain types.

    Raises:
        TookTooLong: it does not in time.
        LifecycleRefused: it refuses, or fails.
    """

    def answer() -> dict[str, Any] | None:
        # What it answers may be made only as it is read.
        return answer_to_wire(ask())

    try:
        return call_within(answer, seconds=plugin.time_limit_seconds, name=f"lifecycle {plugin.name}")
    except TookTooLong:
        raise
    except (Refusal, BadAnswer) as error:
        said = words_of(error, plugin.options) if any(error.args) else "it gave no reason"
        raise LifecycleRefused(plugin.name, said) from error
    except Exception as error:
        trace = trace_of(error, plugin.options)
        log.error(
            "a lifecycle plugin failed", plugin=plugin.name, stack_name=stack, action=action, exception=trace
        )
        reason = tellable(f"it failed: {fault_of(error, plugin.options)}")
        raise LifecycleRefused(plugin.name, reason) from error
