"""A map that is read when somebody first looks: once, in whatever thread, and never to be changed."""

import copy
import gc
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hooks.errors import ReadOnly
from hooks.values.frozen import frozen
from hooks.values.lazy import LazyMapping
from tests.waiting import PATIENCE_SECONDS


class Source:
    """What is read, and how often that was done."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self.held, self.times = held, 0
        self.broken = False

    def read(self) -> Mapping[str, Any]:
        self.times += 1
        if self.broken:
            raise ConnectionError("gone")
        return self.held


def test_it_is_read_when_somebody_looks_and_then_never_again() -> None:
    source = Source({"a": 1, "b": 2})
    lazy = LazyMapping(source.read)
    assert source.times == 0
    assert dict(lazy) == {"a": 1, "b": 2}
    assert ("a" in lazy, len(lazy), lazy["b"], list(lazy)) == (True, 2, 2, ["a", "b"])
    assert lazy == {"a": 1, "b": 2} == lazy
    assert repr(lazy) == "{'a': 1, 'b': 2}"
    assert source.times == 1


def test_it_is_read_once_for_all_threads_that_look_at_once() -> None:
    source, together = Source({"a": 1}), threading.Barrier(8)
    lazy = LazyMapping(source.read)

    def look() -> Any:
        together.wait(timeout=PATIENCE_SECONDS)
        return lazy["a"]

    with ThreadPoolExecutor(8) as pool:
        assert [each.result() for each in [pool.submit(look) for _ in range(8)]] == [1] * 8
    assert source.times == 1


def test_whoever_looks_is_told_that_reading_failed_and_the_next_one_reads_again() -> None:
    source = Source({"a": 1})
    lazy = LazyMapping(source.read)
    source.broken = True
    with pytest.raises(ConnectionError):
        len(lazy)
    source.broken = False
    assert lazy["a"] == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda lazy: lazy.update(a=2),
        lambda lazy: lazy.pop("a"),
        lambda lazy: lazy.popitem(),
        lambda lazy: lazy.clear(),
        lambda lazy: lazy.setdefault("b", 1),
        lambda lazy: lazy.__setitem__("a", 2),
        lambda lazy: lazy.__delitem__("a"),
        lambda lazy: lazy.__ior__({"a": 2}),
        lambda lazy: setattr(lazy, "_key", None),
        lambda lazy: delattr(lazy, "_key"),
        lambda lazy: setattr(lazy, "more", 1),
    ],
)
def test_it_cannot_be_changed(change: Callable[[Any], object]) -> None:
    lazy = LazyMapping(Source({"a": 1}).read)
    with pytest.raises(ReadOnly):
        change(lazy)
    assert dict(lazy) == {"a": 1}


def test_copies_of_it_are_maps_of_their_own() -> None:
    lazy = LazyMapping(Source(frozen({"a": [1]})).read)
    shallow: Any = copy.copy(lazy)
    deep: Any = copy.deepcopy(lazy)
    shallow["b"] = 2
    deep["a"].append(2)
    assert (dict(lazy), shallow, deep) == ({"a": [1]}, {"a": [1], "b": 2}, {"a": [1, 2]})


def test_what_reads_it_cannot_be_reached_from_it() -> None:
    source = Source({"a": 1})
    lazy = LazyMapping(source.read)
    found: list[Any] = [lazy]
    for each in found:
        found += [
            other
            for other in gc.get_referents(each)
            if not isinstance(other, type) and all(other is not known for known in found)
        ]
    assert not any(isinstance(each, Source) for each in found)


def test_what_reads_it_goes_once_it_was_read_and_with_the_map() -> None:
    for looks in (True, False):
        source = Source({"a": 1})
        alive = weakref.ref(source)
        lazy = LazyMapping(source.read)
        del source
        gc.collect()
        assert alive() is not None
        if looks:
            assert lazy["a"] == 1
        else:
            del lazy
        gc.collect()
        assert alive() is None
