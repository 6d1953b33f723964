"""Calls ``do_pre_op`` of one lifecycle plugin, within its time limit."""

from collections.abc import Callable
from typing import Any

from hooks.errors import LifecycleRefused, Refusal
from hooks.lifecycle import Annotations, LifecyclePlugin
from hooks.loading.calling import TookTooLong, call_within
from hooks.values.texts import tellable
from hooks.values.words import fault_of, trace_of, words_of
from orchestrator.config.logger import get_logger
from orchestrator.lifecycle.answers import BadAnswer, answer_to_wire

log = get_logger()


def answer_of(
    plugin: LifecyclePlugin, ask: Callable[[], Annotations | None], *, stack: str, action: str
) -> dict[str, Any] | None:
    """Return a plugin's answer, as plain types.

    Raises:
        TookTooLong: the plugin exceeds its time limit, or (NotCalled) too many calls of it hang in this process.
        LifecycleRefused: the plugin refuses, fails, or answers what cannot be stored.
    """

    def answer() -> dict[str, Any] | None:
        # Packed within the time limit: an answer may be computed lazily.
        return answer_to_wire(ask())

    try:
        return call_within(answer, seconds=plugin.time_limit_seconds, name=f"lifecycle {plugin.name}")
    except TookTooLong:
        raise
    except (Refusal, BadAnswer) as error:
        reason = words_of(error, plugin.options) if any(error.args) else "it gave no reason"
        raise LifecycleRefused(plugin.name, reason) from error
    except Exception as error:
        trace = trace_of(error, plugin.options)
        log.error(
            "a lifecycle plugin failed", plugin=plugin.name, stack_name=stack, action=action, exception=trace
        )
        reason = tellable(f"it failed: {fault_of(error, plugin.options)}")
        raise LifecycleRefused(plugin.name, reason) from error
