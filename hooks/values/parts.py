"""Parts of a list."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def parts_of(values: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Yield a list in parts of at most ``most`` values, in order; an empty list has none."""
    for start in range(0, len(values), most):
        yield values[start : start + most]
