"""The collector of garbage rests only while somebody asks it to, and what serves for long stays small."""

import gc
import threading
from collections import deque
from collections.abc import Iterator

import pytest

from orchestrator.config.garbage import look_rarely, paused_collection, settle
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def usual() -> Iterator[None]:
    """Have the collector look as it did before, once the test is over."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


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
            leave.wait(PATIENCE_SECONDS)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(PATIENCE_SECONDS)
    with paused_collection():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join(PATIENCE_SECONDS)
    assert gc.isenabled()


def test_one_that_somebody_else_stopped_stays_stopped() -> None:
    gc.disable()
    try:
        with paused_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


class Ring:
    """What only the collector takes away; there are ``alive`` of them."""

    alive = 0

    def __init__(self) -> None:
        self.ring = self
        Ring.alive += 1

    def __del__(self) -> None:
        Ring.alive -= 1


@pytest.mark.usefixtures("usual")
def test_rings_that_grew_old_before_they_were_let_go_do_not_pile_up_in_what_serves_for_long() -> None:
    imported: list[object] = [[] for _ in range(1_000_000)]
    look_rarely()
    settle()
    recent, most = deque[Ring](maxlen=5_000), 0
    for _ in range(400_000):
        recent.append(Ring())
        most = max(most, Ring.alive)
    # A command looks at everything after two million.
    assert most < 100_000
    assert imported


@pytest.mark.usefixtures("usual")
def test_what_was_there_when_it_settled_is_looked_at_no_more() -> None:
    stays = [Ring()]
    settle()
    assert not any(found is stays for found in gc.get_objects())


@pytest.fixture
def thawed() -> Iterator[None]:
    """Let the collector look at everything again, once the test is over."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("usual", "thawed")
def test_what_a_command_has_planned_is_never_looked_at_and_what_comes_later_is() -> None:
    settle()
    gc.unfreeze()
    look_rarely()
    with paused_collection():
        planned = [Ring()]
    with paused_collection():
        later = [Ring()]
    found = {id(each) for each in gc.get_objects()}
    assert id(planned) not in found
    assert id(later) in found
