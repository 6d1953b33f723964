"""How long an operation usually takes, from how long the last ones like it took."""

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Final

from orchestrator.views.usual import UsualView

#: From so many samples on something is said, and only the last so many count: a stack changes over time.
FEWEST: Final = 3
MOST: Final = 20


def usual_of(seconds: Sequence[float]) -> UsualView | None:
    """Return how long an operation usually takes; None if too few are known.

    ``seconds`` are the durations of operations of the same stack and action that succeeded, newest first. The usual one
    is the median. It is steady if the middle half of them is no further apart than the median is long.
    """
    samples = [max(0.0, each) for each in seconds[:MOST]]
    if len(samples) < FEWEST:
        return None
    low, _, high = quantiles(samples, n=4, method="inclusive")
    middle = median(samples)
    return UsualView(
        seconds=round(middle, 3),
        low_seconds=round(low, 3),
        high_seconds=round(high, 3),
        samples=len(samples),
        is_steady=high - low <= middle,
    )
