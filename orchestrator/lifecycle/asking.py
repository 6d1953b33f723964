"""Ask one lifecycle plugin, within its time: what it answers, or why it refuses."""

from collections.abc import Callable
from typing import Any

import structlog

from hooks.calling import TookTooLong, call_within
from hooks.errors import LifecycleRefused, Refusal
from hooks.lifecycle import Annotations, LifecyclePlugin
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
    try:
        return answer_to_wire(call_within(ask, seconds=plugin.time_limit_seconds, name=plugin.name))
    except TookTooLong:
        raise
    except (Refusal, BadAnswer) as error:
        raise LifecycleRefused(plugin.name, str(error) or "it gave no reason") from error
    except Exception as error:
        log.error("a lifecycle plugin failed", plugin=plugin.name, stack=stack, action=action, exc_info=error)
        reason = f"it failed: {type(error).__name__}: {error}"
        raise LifecycleRefused(plugin.name, reason) from error
