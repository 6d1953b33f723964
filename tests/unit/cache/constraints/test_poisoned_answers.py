"""Answers in a cache that are damaged, or not to be believed: they are asked for again."""

from functools import partial

import pytest

from cache.constraints.answers import FORMAT
from cache.stores.codec import entry_of
from cache.stores.memory_store import MemoryStore
from tests.unit.cache.constraints.test_cache import HOLDING_NOTHING
from tests.unit.cache.places import (
    NAME,
    Clock,
    Cloud,
    Place,
    key_in,
    lasting_key_in,
    plant,
    stored,
)


def poisons(good: bytes) -> dict[str, bytes]:
    """Return what may be found where an answer belongs."""
    generation, asked_at = b"g", 1_000_000.0
    return {
        "nothing": b"",
        "no bar": b"nonsense",
        "no metadata": b"{}|\x2a",
        "other metadata": b"[1]|\x2a",
        "broken": good[:-1],
        "longer": good + b"\x00",
        "number": entry_of(42),
        "none": entry_of(None),
        "text": entry_of("f-1"),
        "older format": entry_of([FORMAT - 1, generation, asked_at, "evil"]),
        "newer format": entry_of([FORMAT + 1, generation, asked_at, "evil", "more"]),
        "shorter": entry_of([FORMAT, generation, asked_at]),
        "wrong id": entry_of([FORMAT, generation, asked_at, 42]),
        "wrong time": entry_of([FORMAT, generation, "now", "evil"]),
        "map": entry_of({"id": "evil"}),
    }


def test_poisoned_answers_are_replaced_and_counted(place: Place) -> None:
    cache, cloud = place.cache(clock=Clock()), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    key = key_in(cache, *NAME)
    good = stored(cache, key)
    assert good is not None
    cache.take()
    for asked, (poison, entry) in enumerate(poisons(good).items(), 2):
        plant(cache, key, entry)
        assert cache.get(*NAME, cloud.ask) == "f-1", poison
        assert cloud.asked == asked, poison
        assert cache.get(*NAME, cloud.ask) == "f-1", poison
        assert cloud.asked == asked, poison
        counts = cache.take()
        assert (counts.garbage > 0) is (poison != "nothing" or place.backend not in HOLDING_NOTHING), poison
        assert counts.errors == 0, poison


def test_answers_of_no_time_and_of_another_generation_are_not_given(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    for asked_at in (float("nan"), float("inf"), 0.0):
        generation = cache._process.answers.look(cache._key(*NAME)).generation
        plant(cache, key_in(cache, *NAME), entry_of([FORMAT, generation, asked_at, "evil"]))
        assert cache.get(*NAME, cloud.ask) == "f-1"
    plant(cache, key_in(cache, *NAME), entry_of([FORMAT, b"another", 0.0, "evil"]))
    assert cache.get(*NAME, cloud.ask) == "f-1"


@pytest.mark.parametrize("poison", [b"", b"nonsense", entry_of(42), entry_of("text")], ids=range(4))
def test_poisoned_generation_is_replaced(place: Place, poison: bytes) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    if place.backend == "memory":
        # What lasts is not among what can be set.
        cache._process.answers.store._fill_locks.renew(lasting_key_in(cache), poison)
    else:
        plant(cache, lasting_key_in(cache), poison)
    assert [cache.get(*NAME, cloud.ask) for _ in range(3)] == ["f-1"] * 3
    assert cloud.asked == 2


def test_lost_generation_makes_all_answers_be_asked_for_again(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1", large="f-2")
    for name in cloud.ids:
        cache.get("flavor", name, (), partial(cloud.ask, name))
    backend = cache._process.answers.store.backend
    if isinstance(backend, MemoryStore):
        backend._lasting.clear()
    else:
        backend.delete(lasting_key_in(cache))
    for _ in range(2):
        for name in cloud.ids:
            cache.get("flavor", name, (), partial(cloud.ask, name))
    assert cloud.asked == 4
