"""Shared calls: one caller makes the call, and its outcome serves the others, for a while."""

import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cache.stores.shared_calls import SharedCalls
from tests.waiting import PATIENCE_SECONDS


class Calls:
    """Counts its calls; answers with their number, or fails with it."""

    def __init__(self, *, fails: bool = False) -> None:
        self.made = 0
        self.fails = fails

    def __call__(self) -> int:
        self.made += 1
        if self.fails:
            raise LookupError(self.made)
        return self.made


def outcome(call: Callable[[], int]) -> str:
    try:
        return str(call())
    except LookupError as error:
        return str(error)


@pytest.mark.parametrize("fails", [False, True])
def test_an_outcome_serves_later_callers_for_so_long(fails: bool) -> None:  # a parameter
    now = [1000.0]
    shared: SharedCalls[int] = SharedCalls(5.0, lambda: now[0])
    calls = Calls(fails=fails)
    seen = []
    for seconds in (0.0, 4.9, 0.2, 0.0):
        now[0] += seconds
        seen.append(outcome(lambda: shared.call("a", calls)))
    assert seen == ["1", "1", "2", "2"]
    assert outcome(lambda: shared.call("b", calls)) == "3"


def test_an_outcome_may_serve_no_later_caller() -> None:
    shared: SharedCalls[int] = SharedCalls(0.0)
    calls = Calls()
    assert [shared.call("a", calls) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
@pytest.mark.parametrize("fails", [False, True])
def test_an_outcome_serves_all_who_wait_for_it(
    fails: bool,  # a parameter
    seconds: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = threading.Semaphore(0)

    def wait(*args: Any) -> Any:
        waiting.release()
        return futures.wait(*args)

    monkeypatch.setattr("cache.stores.single_flight.wait", wait)
    shared: SharedCalls[int] = SharedCalls(seconds)
    calls, begun, go = Calls(fails=fails), threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert go.wait(PATIENCE_SECONDS)
        return calls()

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(outcome, lambda: shared.call("a", slow))
        assert begun.wait(PATIENCE_SECONDS)
        # Another key waits for nothing.
        assert shared.call("b", lambda: 7) == 7
        others = [pool.submit(outcome, lambda: shared.call("a", slow)) for _ in range(7)]
        for _ in others:
            assert waiting.acquire(timeout=PATIENCE_SECONDS)
        go.set()
        assert [each.result(PATIENCE_SECONDS) for each in (first, *others)] == ["1"] * 8


def test_a_thread_that_is_stopped_has_no_outcome() -> None:
    shared: SharedCalls[int] = SharedCalls(3600.0)

    def stopped() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared.call("a", stopped)
    assert shared.call("a", lambda: 7) == 7


def test_a_failure_that_serves_many_does_not_grow() -> None:
    shared: SharedCalls[int] = SharedCalls(3600.0)
    calls = Calls(fails=True)
    depths = set()
    for _ in range(3):
        with pytest.raises(LookupError) as caught:
            shared.call("a", calls)
        depths.add(len(caught.traceback))
    assert len(depths) <= 2
    assert calls.made == 1
