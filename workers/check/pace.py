"""The pace of a process: how long its last steps of each resource type took, which decides what it takes together."""

from collections.abc import Collection
from typing import Final

#: How many steps an estimate is the mean of, roughly: one that was slow because the machine was busy is no rule.
_STEPS: Final = 10


class Pace:
    """Estimates of the duration of a step, by resource type; thread-safe."""

    def __init__(self, *, quick_seconds: float) -> None:
        """Call a type quick whose steps take at most so long."""
        self._quick_seconds = quick_seconds
        #: The number of steps, up to ``_STEPS``, and the mean of their durations.
        self._means: dict[str, tuple[int, float]] = {}
        self._quick: frozenset[str] = frozenset()

    @property
    def quick(self) -> Collection[str]:
        """The types that are quick, as far as is known."""
        return self._quick

    def took(self, kind: str, seconds: float) -> None:
        """Note how long a step of a type took; the first, which loads things, counts until the next."""
        before, mean = self._means.get(kind, (-1, 0.0))
        steps = min(before + 1, _STEPS)
        mean += (seconds - mean) / max(steps, 1)
        self._means[kind] = steps, mean
        is_quick = mean <= self._quick_seconds
        if is_quick is not (kind in self._quick):
            self._quick = self._quick | {kind} if is_quick else self._quick - {kind}
