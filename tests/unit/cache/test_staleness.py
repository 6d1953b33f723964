"""Many threads of two processes' caches look while a third changes things: nobody is told what was known to be over."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cache.constraints.cache import ConstraintCache
from tests.unit.cache.places import KINDS, NAME, OURS, Missing, Place
from tests.waiting import PATIENCE_SECONDS

CHANGES = 60
#: How many looks there are between two changes, at least.
LOOKS = 3


class Story:
    """What is so outside, and how old an answer may be that somebody gets."""

    def __init__(self) -> None:
        self._versions = itertools.count(2)
        self.now = self.oldest = 1
        self.over, self.looks = threading.Event(), threading.Semaphore(0)
        self.stale: list[tuple[int, int]] = []

    def ask(self) -> str:
        said = str(self.now)
        # Others come in while the answer is on its way.
        time.sleep(0.002)
        return said

    def refuse(self) -> str:
        raise Missing

    def look(self, cache: ConstraintCache) -> None:
        while not self.over.is_set():
            oldest = self.oldest
            if (told := int(cache.get(*NAME, self.ask))) < oldest:
                self.stale.append((told, oldest))
            self.looks.release()

    def change(self, cache: ConstraintCache, how: int) -> None:
        for _ in range(LOOKS):
            assert self.looks.acquire(timeout=PATIENCE_SECONDS)
        self.now = next(self._versions)
        if how == 0:
            assert cache.flush()
        elif how == 1:
            cache.forget(*NAME)
        else:
            with pytest.raises(Missing):
                cache.refresh(*NAME, self.refuse)
        self.oldest = self.now


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_told_what_was_over_before_it_was_asked(place: Place) -> None:
    # A no of another process is not known where claims are a lock of the store's own.
    caches = [place.cache() for _ in range(2 if place.backend in OURS else 1)]
    story = Story()
    with ThreadPoolExecutor(2 * len(caches)) as pool:
        looking = [pool.submit(story.look, cache) for cache in caches for _ in range(2)]
        try:
            for number in range(CHANGES):
                story.change(caches[number % len(caches)], number % 3)
        finally:
            story.over.set()
    for looked in looking:
        looked.result()
    assert story.stale == []
    assert sum(cache.counters.errors for cache in caches) == 0
