"""The heartbeat extends the leases of steps that run, and of none that hangs."""

import threading

import pytest
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.testing import capture_logs

from workers.check.heartbeat import Beat, Heartbeat

LIMIT_SECONDS = 600.0
ONE, TWO = ("t", 1, 1), ("t", 2, 1)


class Process:
    """What the heartbeat of a process does, with a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.extended: list[list[Beat]] = []
        self.given_up: list[threading.Thread] = []
        self.heartbeat = Heartbeat(
            lambda beats: self.extended.append(list(beats)),
            lease_seconds=1e9,
            step_timeout_seconds=LIMIT_SECONDS,
            replacement=self,
            clock=lambda: self.now,
        )

    def request(self) -> None:
        raise AssertionError("not what a step asks for")

    def give_up(self, thread: threading.Thread) -> None:
        self.given_up.append(thread)


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_step_within_its_time_is_extended_and_not_given_up(process: Process) -> None:
    with process.heartbeat.beating(ONE, "Some::Type"):
        process.now = LIMIT_SECONDS
        process.heartbeat.beat()
    process.heartbeat.beat()
    assert process.extended == [[ONE]]
    assert process.given_up == []


def test_a_step_that_hangs_is_given_up_once_and_the_others_are_extended(process: Process) -> None:
    with process.heartbeat.beating(ONE, "Some::Type"):
        process.now = LIMIT_SECONDS
        with process.heartbeat.beating(TWO, "Some::Type"):
            process.now += 1
            process.heartbeat.beat()
            process.heartbeat.beat()
    assert process.extended == [[TWO], [TWO]]
    assert process.given_up == [threading.current_thread()]


def test_the_log_names_the_step_that_is_given_up_and_its_seconds(process: Process) -> None:
    # As a check binds them; the heartbeat's own thread knows nothing of it.
    with bound_contextvars(resource="disk"), process.heartbeat.beating(ONE, "Some::Type"):
        process.now = LIMIT_SECONDS + 1
        with capture_logs([merge_contextvars]) as lines:
            beat = threading.Thread(target=process.heartbeat.beat)
            beat.start()
            beat.join()
    (line,) = lines
    named = {"log_level": "error", "resource": "disk", "type": "Some::Type", "seconds": LIMIT_SECONDS + 1}
    assert named.items() <= line.items()
