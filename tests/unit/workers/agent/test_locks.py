"""Locks by name: over threads and over processes, and gone with whoever held them."""

import os
import threading
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from workers.agent.locks import Locks, LockTaken


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "not there yet" / "locks"


def test_held_lock_keeps_others_out_and_others_are_free(path: Path) -> None:
    mine, another = Locks(path), Locks(path)
    with mine.hold("web"):
        for locks in (mine, another):
            assert locks.is_held("web")
            with pytest.raises(LockTaken), locks.hold("web"):
                pytest.fail("it was free")
        with another.hold("db"):
            assert mine.is_held("db")
    assert not another.is_held("web")


def test_looking_does_not_take(path: Path) -> None:
    locks = Locks(path)
    assert not locks.is_held("web")
    with locks.hold("web"):
        assert locks.is_held("web")


def test_lock_is_waited_for(path: Path) -> None:
    locks, taken, order = Locks(path), threading.Event(), list[str]()

    def first() -> None:
        with locks.hold("web"):
            taken.set()
            order.append("first")
            threading.Event().wait(0.05)
            order.append("first ends")

    thread = threading.Thread(target=first)
    thread.start()
    taken.wait(PATIENCE_SECONDS)
    with locks.hold("web", wait_seconds=PATIENCE_SECONDS):
        order.append("second")
    thread.join(PATIENCE_SECONDS)
    assert order == ["first", "first ends", "second"]


def test_lock_of_a_process_that_died_is_free(path: Path) -> None:
    locks = Locks(path)
    ready, tell = os.pipe()
    stay, leave = os.pipe()
    if (child := os.fork()) == 0:
        with locks.hold("web"):
            os.write(tell, b"1")
            os.read(stay, 1)
            os._exit(0)
    os.read(ready, 1)
    assert locks.is_held("web")
    os.write(leave, b"1")
    os.waitpid(child, 0)
    assert not locks.is_held("web")
    for end in (ready, tell, stay, leave):
        os.close(end)
