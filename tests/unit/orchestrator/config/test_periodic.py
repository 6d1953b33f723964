"""A thread that does something again and again, whatever befalls it, until it is stopped."""

import threading

import pytest
from structlog.testing import capture_logs

from orchestrator.config.periodic import Periodic
from orchestrator.errors import Unavailable
from tests.waiting import PATIENCE_SECONDS

HOUR = 3600.0


class Calls:
    """Counts calls, of which the first may fail; each may be waited for."""

    def __init__(self, *faults: Exception) -> None:
        self.threads: list[threading.Thread] = []
        self._faults = list(faults)
        self._came = threading.Semaphore(0)

    def __call__(self) -> None:
        self.threads.append(threading.current_thread())
        self._came.release()
        if self._faults:
            raise self._faults.pop(0)

    def wait_for(self, number: int) -> None:
        for _ in range(number):
            assert self._came.acquire(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("fault", [Unavailable("no database"), ZeroDivisionError("a bug")])
def test_a_fault_is_logged_and_ends_nothing(fault: Exception) -> None:
    calls = Calls(fault)
    thread = Periodic("it", calls, every_seconds=0.0, complaint="could not do it")
    with capture_logs() as lines:
        thread.start()
        calls.wait_for(2)
        thread.stop()
    (line,) = lines
    assert (line["event"], line["thread"]) == ("could not do it", "it")


def test_it_is_started_once_and_not_after_its_end() -> None:
    calls = Calls()
    thread = Periodic("it", calls, every_seconds=0.0)
    thread.start()
    thread.start()
    calls.wait_for(3)
    thread.stop()
    done = len(calls.threads)
    thread.start()
    thread.stop()
    assert len(calls.threads) == done
    (one,) = set(calls.threads)
    assert (one.name, one.daemon, one.is_alive()) == ("it", True, False)


def test_what_was_stopped_before_it_began_does_nothing() -> None:
    calls = Calls()
    thread = Periodic("it", calls, every_seconds=0.0, last=lambda _: calls())
    thread.stop()
    thread.start()
    assert calls.threads == []


def test_who_wakes_it_waits_for_no_pause() -> None:
    calls = Calls()
    thread = Periodic("it", calls, every_seconds=HOUR, least_seconds=0.0)
    thread.start()
    for _ in range(3):
        calls.wait_for(1)
        thread.wake()
    thread.stop()


def test_the_pause_is_what_it_returns() -> None:
    came = threading.Semaphore(0)

    def act() -> float:
        came.release()
        return 0.0

    thread = Periodic("it", act, every_seconds=HOUR)
    thread.start()
    for _ in range(3):
        assert came.acquire(timeout=PATIENCE_SECONDS)
    thread.stop()


def test_it_does_the_last_thing_itself_before_its_end() -> None:
    calls, last = Calls(), Calls(ZeroDivisionError("a bug"))
    thread = Periodic("it", calls, every_seconds=HOUR, last=lambda _: last())
    thread.start()
    calls.wait_for(1)
    with capture_logs():
        thread.stop()
    assert last.threads == calls.threads


def test_it_may_stop_itself() -> None:
    ended = threading.Event()

    def act() -> None:
        thread.stop()

    thread = Periodic("it", act, every_seconds=HOUR, last=lambda _: ended.set())
    thread.start()
    assert ended.wait(PATIENCE_SECONDS)


def test_who_stops_it_waits_no_longer_than_said() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)

    thread = Periodic("it", hang, every_seconds=HOUR)
    thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    thread.stop(0)
    go_on.set()
    thread.stop()
