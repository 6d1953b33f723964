"""Which test holds which decision of ``docs/properties-groups.md``."""

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


def case(name: str) -> Callable[[Test], Test]:
    """Say that a test holds the decision on a case, by the name that the page gives it."""
    assert name
    return lambda test: test
