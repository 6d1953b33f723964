"""Whoever asks whether something exists gets the answer of one question, and a no is never kept."""

import threading

import pytest

from cache.constraints import ConstraintCache


class Missing(Exception):
    """The outside system knows nothing of it."""


class Cloud:
    """An outside system that counts what it is asked."""

    def __init__(self) -> None:
        self.things: dict[str, str] = {}
        self.asked = 0

    def ask(self, name: str = "small") -> str:
        self.asked += 1
        if name not in self.things:
            raise Missing(name)
        return self.things[name]


def test_yes_is_asked_for_once() -> None:
    cache, cloud = ConstraintCache("nova"), Cloud()
    cloud.things["small"] = "f-1"
    assert [cache.get("flavor", "small", ("p",), cloud.ask) for _ in range(3)] == ["f-1"] * 3
    assert cloud.asked == 1
    assert (cache.counters.hits, cache.counters.misses, cache.counters.generated) == (2, 1, 1)


def test_no_is_asked_for_each_time() -> None:
    cache, cloud = ConstraintCache("nova"), Cloud()
    for _ in range(2):
        with pytest.raises(Missing):
            cache.get("flavor", "small", ("p",), cloud.ask)
    assert cloud.asked == 2


def test_those_who_wait_for_a_no_share_it() -> None:
    cache = ConstraintCache("nova")
    begun, go_on = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def ask() -> str:
        begun.set()
        assert go_on.wait(10)
        raise Missing("small")

    def look() -> None:
        try:
            cache.get("flavor", "small", ("p",), ask)
        except Missing as error:
            errors.append(error)

    first, second = threading.Thread(target=look), threading.Thread(target=look)
    first.start()
    assert begun.wait(10)
    second.start()
    go_on.set()
    first.join(10)
    second.join(10)
    assert len(errors) == 2


def test_forced_look_removes_an_earlier_yes() -> None:
    cache, cloud = ConstraintCache("nova"), Cloud()
    cloud.things["small"] = "f-1"
    cache.get("flavor", "small", ("p",), cloud.ask)
    cloud.things.clear()
    with pytest.raises(Missing):
        cache.refresh("flavor", "small", ("p",), cloud.ask)
    with pytest.raises(Missing):
        cache.get("flavor", "small", ("p",), cloud.ask)


def test_flushed_cache_asks_again() -> None:
    cache, cloud = ConstraintCache("nova"), Cloud()
    cloud.things["small"] = "f-1"
    cache.get("flavor", "small", ("p",), cloud.ask)
    cache.flush()
    cache.get("flavor", "small", ("p",), cloud.ask)
    assert cloud.asked == 2


def test_what_is_said_to_have_changed_is_asked_for_again_and_nothing_else() -> None:
    cache, cloud = ConstraintCache("nova"), Cloud()
    cloud.things.update(small="f-1", large="f-2")
    cache.get("flavor", "small", ("p",), cloud.ask)
    cache.get("flavor", "large", ("p",), lambda: cloud.ask("large"))
    cloud.things.clear()
    cache.forget("flavor", "small", ("p",))
    with pytest.raises(Missing):
        cache.get("flavor", "small", ("p",), cloud.ask)
    assert cache.get("flavor", "large", ("p",), cloud.ask) == "f-2"
