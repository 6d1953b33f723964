"""What happens to a test where a server's program is not installed."""

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

from tests.services.process import MissingServer

Outcome = TypeVar("Outcome")


def or_skip(attempt: Callable[[], Outcome], environment: Mapping[str, str] = os.environ) -> Outcome:
    """Return what ``attempt`` does; if a program is missing, skip the test, or with ``CI=true`` fail it."""
    try:
        return attempt()
    except MissingServer as error:
        if environment.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
