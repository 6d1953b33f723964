"""Token bucket: how many requests may be sent to a system, and when the next one may. Pure.

The state is one number: the time at which the bucket is full again if nothing more is taken. So that two processes
agree, one of them at a time computes the next state (see :mod:`cache.rates.buckets`).
"""

import math
from dataclasses import dataclass
from typing import Final

#: A state so far in the future is none: the clocks differ, or a foreign program has written it.
_NONSENSE_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Limit:
    """The most requests to a system: in any time of t seconds, ``burst + requests_per_second * t``."""

    requests_per_second: float
    #: At least 1.
    burst: int

    def share(self, part: float) -> "Limit":
        """Return a part (0 to 1) of the limit; its burst is at least one request."""
        return Limit(self.requests_per_second * part, max(1, math.floor(self.burst * part)))


@dataclass(frozen=True, slots=True)
class Draw:
    """A request for one token."""

    limit: Limit
    #: How many tokens are left to others; fewer than the limit's burst.
    reserve: int = 0
    #: No token is taken if it would have to be waited for longer than this.
    patience_seconds: float = 0.0

    @property
    def interval_seconds(self) -> float:
        """The time in which one token is added."""
        return 1 / self.limit.requests_per_second

    @property
    def room_seconds(self) -> float:
        """The time in which the tokens are added that may be taken at once."""
        return (self.limit.burst - self.reserve) / self.limit.requests_per_second

    @property
    def life_seconds(self) -> int:
        """After how long a state is that of a full bucket, so that it need not be kept."""
        return math.ceil(self.limit.burst * self.interval_seconds + self.patience_seconds) + 1


def drawn(full_at: float | None, draw: Draw, now: float) -> tuple[float, float]:
    """Return the next state, and for how many seconds the caller must wait before it sends its request.

    If that is longer than the patience of the draw, nothing was taken: the state is as before. ``full_at`` is the
    state, None for a full bucket; ``now`` is of the same clock, in seconds.
    """
    if full_at is None or not full_at <= now + _NONSENSE_SECONDS:
        full_at = now
    after = max(full_at, now) + draw.interval_seconds
    wait = max(0.0, after - now - draw.room_seconds)
    return (after if wait <= draw.patience_seconds else full_at), wait
