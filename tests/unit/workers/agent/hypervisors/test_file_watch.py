"""Whoever has something to say is heard, until it ends or nobody listens any more."""

import os
import threading

from tests.waiting import PATIENCE_SECONDS
from workers.agent.hypervisors.file_watch import FileWatch


class Speaker:
    """One end of a pipe that is watched."""

    def __init__(self) -> None:
        self.file, self._to_say = os.pipe()
        self.heard: list[bytes] = []
        self.closed = threading.Event()
        self._came = threading.Semaphore(0)

    def say(self, words: bytes) -> None:
        os.write(self._to_say, words)

    def end(self) -> None:
        os.close(self._to_say)

    def ready(self) -> bool:
        words = os.read(self.file, 100)
        if words:
            self.heard.append(words)
            self._came.release()
        return bool(words)

    def close(self) -> None:
        os.close(self.file)
        self.closed.set()

    def wait(self) -> None:
        assert self._came.acquire(timeout=PATIENCE_SECONDS)


def test_each_is_heard_until_it_ends() -> None:
    watch, speakers = FileWatch("it"), [Speaker(), Speaker()]
    for each in speakers:
        watch.add(each.file, each.ready, each.close)
    for words in (b"one", b"two"):
        for each in speakers:
            each.say(words)
            each.wait()
    speakers[0].end()
    assert speakers[0].closed.wait(PATIENCE_SECONDS)
    assert not speakers[1].closed.is_set()
    speakers[1].say(b"three")
    speakers[1].wait()
    watch.close()
    assert [each.heard for each in speakers] == [[b"one", b"two"], [b"one", b"two", b"three"]]
    assert speakers[1].closed.is_set()
    speakers[1].end()


def test_closed_it_hears_nothing_more() -> None:
    watch, first, late = FileWatch("it"), Speaker(), Speaker()
    watch.add(first.file, first.ready, first.close)
    watch.close()
    watch.close()
    watch.add(late.file, late.ready, late.close)
    assert first.closed.is_set()
    assert late.closed.is_set()
    first.end()
    late.end()


def test_who_is_heard_may_close_it() -> None:
    watch, speaker = FileWatch("it"), Speaker()

    def ready() -> bool:
        watch.close()
        return True

    watch.add(speaker.file, ready, speaker.close)
    speaker.say(b"enough")
    assert speaker.closed.wait(PATIENCE_SECONDS)
    speaker.end()
