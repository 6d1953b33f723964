"""When a stack is observed: at its own moment of each interval, so that many stacks are spread over it."""

import hashlib
import math
from typing import Final

from orchestrator.model.observation_policy import OFF, ObservationPolicy, window_of

_DAY: Final = 86400.0


def next_due(stack_id: str, policy: ObservationPolicy, after: float) -> float | None:
    """Return when a stack is observed next, later than ``after``; None: never.

    Both are seconds since the epoch. The moment within the interval depends on the stack's id alone, so that all
    processes agree about it. A moment outside of the policy's window gives way to one after the window's next
    beginning, at a place of the stack's own within it.
    """
    if policy.mode == OFF:
        return None
    interval, place = policy.interval_seconds, _place_of(stack_id)
    offset = place * interval
    due = offset + interval * (math.floor((after - offset) / interval) + 1)
    if due <= after:
        # Of two large numbers that differ by less than a float can say.
        due += interval
    window = window_of(policy.window)
    if window is None:
        return due
    begin, length = window
    since_begin = (due - begin) % _DAY
    if since_begin < length:
        return due
    return due - since_begin + _DAY + place * min(interval, length)


def _place_of(stack_id: str) -> float:
    """Return a number from 0 to less than 1 that depends on the id alone, evenly distributed."""
    return int.from_bytes(hashlib.sha256(stack_id.encode()).digest()[:6]) / 2**48
