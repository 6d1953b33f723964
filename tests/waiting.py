"""Waiting for what is to come. For how long is no claim of any test: only what will never come is given up."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest
import tenacity

T = TypeVar("T")

#: Longest wait for anything, on the slowest and busiest of machines; less than a test's time limit.
PATIENCE_SECONDS = 300.0


def until(
    look: Callable[[], T | None], *, seconds: float = PATIENCE_SECONDS, pause_seconds: float = 0.01
) -> T:
    """Return the first answer that is true; fails when none was in time."""

    def give_up(_state: tenacity.RetryCallState) -> None:
        pytest.fail(f"waited {seconds:g} s in vain for what {getattr(look, '__qualname__', look)} looks for")

    found = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda answer: not answer),
        wait=tenacity.wait_fixed(pause_seconds),
        stop=tenacity.stop_after_delay(seconds),
        retry_error_callback=give_up,
    )(look)
    assert found
    return found


async def until_so(condition: Callable[[], object]) -> None:
    """Come back when something is so, while others on the same loop go on; the test's time limit ends it otherwise."""
    while not condition():
        await asyncio.sleep(0.001)
