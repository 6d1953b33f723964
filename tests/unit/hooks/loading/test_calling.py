"""A call ends in time and in words, whatever is raised in it."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hooks.errors import HookError
from hooks.loading.calling import MOST_LEFT, TookTooLong, call_within
from tests.waiting import PATIENCE_SECONDS


def raising(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemExit(3), "it tried to end the process"),
        (KeyboardInterrupt(), "it raised KeyboardInterrupt"),
        (asyncio.CancelledError(), "it raised CancelledError"),
        (GeneratorExit(), "it raised GeneratorExit"),
    ],
)
def test_what_ends_threads_is_a_fault_of_the_hook(error: BaseException, told: str) -> None:
    with pytest.raises(HookError, match=told):
        call_within(raising(error), seconds=PATIENCE_SECONDS, name="unruly")


def test_what_is_returned_and_what_is_raised_is_that_of_the_call() -> None:
    assert call_within(lambda: 1, seconds=PATIENCE_SECONDS, name="tame") == 1
    with pytest.raises(ZeroDivisionError):
        call_within(lambda: 1 / 0, seconds=PATIENCE_SECONDS, name="tame")


def test_calls_that_hang_keep_no_other_hook_from_being_called() -> None:
    go = threading.Event()
    for _ in range(MOST_LEFT):
        with pytest.raises(TookTooLong, match="not answered within"):
            call_within(go.wait, seconds=0.001, name="hanging")
    with pytest.raises(TookTooLong, match="earlier calls of it have not ended"):
        call_within(lambda: 1, seconds=PATIENCE_SECONDS, name="hanging")
    assert call_within(lambda: 1, seconds=PATIENCE_SECONDS, name="another") == 1
    go.set()
