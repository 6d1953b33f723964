"""The collector of garbage rests only while somebody asks it to."""

import gc
import threading

import pytest

from orchestrator.collector import paused_collection


def test_the_collector_rests_and_goes_on_whatever_happens() -> None:
    def fail() -> None:
        with paused_collection():
            with paused_collection():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert gc.isenabled()


def test_the_last_thread_wakes_it() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with paused_collection():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    with paused_collection():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join(10)
    assert gc.isenabled()


def test_one_that_somebody_else_stopped_stays_stopped() -> None:
    gc.disable()
    try:
        with paused_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
