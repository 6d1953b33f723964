"""A process that says that it is there: from its beginning, again and again, and at its end."""

import threading

from orchestrator.processes.registration import Registration
from orchestrator.store.installation.processes import ProcessIdentity
from tests.waiting import PATIENCE_SECONDS

SPEAKER = ProcessIdentity(name="worker@host:7:12.50", kind="worker", host="host", pid=7)


class Book:
    """Writes down what it is told; says no as often as it is to."""

    def __init__(self, pause_seconds: float, failures: int = 0) -> None:
        self.pause_seconds = pause_seconds
        self._failures = failures
        self.told: list[str] = []
        self.heard = threading.Semaphore(0)

    def report(self, process: ProcessIdentity) -> None:
        self._write(f"say {process.name}")

    def end(self, name: str) -> None:
        self._write(f"end {name}")

    def forget(self) -> None:
        self.told.append("forget")

    def _write(self, line: str) -> None:
        self.told.append(line)
        self.heard.release()
        if self._failures:
            self._failures -= 1
            raise OSError("no database")

    def wait_for(self, lines: int) -> None:
        for _ in range(lines):
            assert self.heard.acquire(timeout=PATIENCE_SECONDS)


SAY, END = f"say {SPEAKER.name}", f"end {SPEAKER.name}"


def test_it_is_said_at_once_and_at_the_end_however_often_either_comes() -> None:
    book = Book(pause_seconds=3600)
    attendance = Registration(book, SPEAKER)
    attendance.begin()
    attendance.begin()
    book.wait_for(1)
    attendance.end()
    attendance.end()
    assert book.told == [SAY, "forget", END]


def test_it_is_said_again_also_after_the_database_was_away() -> None:
    book = Book(pause_seconds=0.001, failures=2)
    attendance = Registration(book, SPEAKER)
    attendance.begin()
    book.wait_for(4)
    attendance.end()
    assert book.told[:3] == [SAY, "forget", SAY]
    assert book.told[-1] == END


def test_who_never_began_says_nothing_and_does_not_begin_after_its_end() -> None:
    book = Book(pause_seconds=3600)
    attendance = Registration(book, SPEAKER)
    attendance.end()
    attendance.begin()
    assert book.told == []
