"""One suite for every kind of store: what a constraint cache answers, and what it never answers."""

import threading
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cache.stores.keys import key_of
from tests.unit.cache.places import (
    NAME,
    OURS,
    SHARED,
    Clock,
    Cloud,
    Held,
    Missing,
    Place,
    key_in,
)
from tests.unit.cache.shelf import BACKEND
from tests.waiting import PATIENCE_SECONDS

#: Those in which an empty entry stands for none.
HOLDING_NOTHING = ["memcached", "file"]
ON_SHARED = pytest.mark.parametrize("kind", SHARED)


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Released for each thread that waits for another's answer."""
    waiting = threading.Semaphore(0)

    def wait(*args: Any) -> Any:
        waiting.release()
        return futures.wait(*args)

    monkeypatch.setattr("cache.stores.single_flight.wait", wait)
    return waiting


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def test_yes_is_asked_for_once(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    assert [cache.get(*NAME, cloud.ask) for _ in range(3)] == ["f-1"] * 3
    assert cloud.asked == 1
    counts = cache.take()
    assert (counts.hits, counts.misses, counts.generated) == (2, 1, 1)
    assert (counts.refused, counts.errors, counts.garbage) == (0, 0, 0)
    assert cache.counters.hits == 0


@ON_SHARED
def test_yes_is_known_to_others_that_share_the_store(place: Place) -> None:
    here, there, cloud = place.cache(), place.cache(), Cloud(small="f-1")
    here.get(*NAME, cloud.ask)
    assert there.get(*NAME, cloud.ask) == "f-1"
    assert cloud.asked == 1


def test_no_is_asked_for_each_time(place: Place) -> None:
    cache, cloud = place.cache(), Cloud()
    for _ in range(2):
        with pytest.raises(Missing):
            cache.get(*NAME, cloud.ask)
    cloud.ids["small"] = "f-1"
    assert cache.get(*NAME, cloud.ask) == "f-1"
    assert cloud.asked == 3
    assert (cache.counters.refused, cache.counters.generated) == (2, 1)


def test_forced_look_asks_and_lets_all_others_know(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    cloud.ids["small"] = "f-2"
    assert cache.refresh(*NAME, cloud.ask) == "f-2"
    assert cache.get(*NAME, cloud.ask) == "f-2"
    assert cloud.asked == 2


@pytest.mark.parametrize("error", [Missing("small"), ConnectionError("no route"), TimeoutError()], ids=repr)
def test_error_removes_an_earlier_yes_and_comes_through(place: Place, error: Exception) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)

    def fail() -> str:
        raise error

    with pytest.raises(type(error)) as raised:
        cache.refresh(*NAME, fail)
    assert raised.value is error
    assert cache.get(*NAME, cloud.ask) == "f-1"
    assert cloud.asked == 2


def test_answer_is_given_until_it_expires(place: Place) -> None:
    clock, cloud = Clock(), Cloud(small="f-1")
    cache = place.cache(clock=clock, expiration_seconds=60)
    cache.get(*NAME, cloud.ask)
    cloud.ids["small"] = "f-2"
    clock.now += 60
    assert cache.get(*NAME, cloud.ask) == "f-1"
    clock.now += 0.001
    assert cache.get(*NAME, cloud.ask) == "f-2"
    # Dated by the new question, not by the old.
    clock.now += 60
    assert cache.get(*NAME, cloud.ask) == "f-2"
    assert cloud.asked == 2


def test_answer_is_as_old_as_its_question(place: Place) -> None:
    clock, cloud = Clock(), Cloud(small="f-1")
    cache = place.cache(clock=clock, expiration_seconds=60)

    def ask_for_long() -> str:
        clock.now += 50
        return cloud.ask()

    cache.get(*NAME, ask_for_long)
    clock.now += 11
    cache.get(*NAME, cloud.ask)
    assert cloud.asked == 2


def test_expired_answer_is_not_given_while_another_asks(place: Place, pool: ThreadPoolExecutor) -> None:
    clock, cloud = Clock(), Cloud(small="f-1")
    cache = place.cache(clock=clock, expiration_seconds=60)
    cache.get(*NAME, cloud.ask)
    clock.now += 61
    cloud.ids["small"] = "f-2"
    slow = Held(cloud.ask)
    first = pool.submit(cache.get, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    second = pool.submit(cache.get, *NAME, cloud.ask)
    slow.go_on.set()
    assert (first.result(PATIENCE_SECONDS), second.result(PATIENCE_SECONDS)) == ("f-2", "f-2")
    assert cloud.asked == 2


def test_answer_from_a_clock_far_ahead_is_not_believed(place: Place) -> None:
    clock, cloud = Clock(), Cloud(small="f-1")
    cache = place.cache(clock=clock, expiration_seconds=60)
    cache.get(*NAME, cloud.ask)
    clock.now -= 61
    cache.get(*NAME, cloud.ask)
    assert cloud.asked == 2


def test_flush_empties_one_region_only(place: Place) -> None:
    nova, glance, cloud = place.cache("nova"), place.cache("glance"), Cloud(small="f-1")
    for cache in (nova, glance):
        cache.get(*NAME, cloud.ask)
    assert nova.flush()
    for cache in (nova, glance):
        cache.get(*NAME, cloud.ask)
    assert cloud.asked == 3


@ON_SHARED
def test_flush_is_seen_by_all_that_share_the_store(place: Place) -> None:
    here, there, cloud = place.cache(), place.cache(), Cloud(small="f-1")
    there.get(*NAME, cloud.ask)
    here.flush()
    there.get(*NAME, cloud.ask)
    assert cloud.asked == 2


@pytest.mark.parametrize("who", ["itself", "another"])
def test_what_was_asked_for_before_a_flush_is_not_given_after_it(
    place: Place, pool: ThreadPoolExecutor, who: str
) -> None:
    here, cloud = place.cache(), Cloud(small="f-1")
    # In memory there is no other that could flush it.
    flusher = here if who == "itself" or place.backend == "memory" else place.cache()
    slow = Held(cloud.ask)
    early = pool.submit(here.get, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    cloud.ids["small"] = "f-2"
    flusher.flush()
    late = pool.submit(here.get, *NAME, cloud.ask)
    slow.go_on.set()
    assert early.result(PATIENCE_SECONDS) == "f-1"
    assert late.result(PATIENCE_SECONDS) == "f-2"
    assert here.get(*NAME, cloud.ask) == "f-2"


def test_no_is_the_last_word_on_what_was_asked_for_before_it(place: Place, pool: ThreadPoolExecutor) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    slow = Held(cloud.ask)
    early = pool.submit(cache.get, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    cloud.ids.clear()
    with pytest.raises(Missing):
        cache.refresh(*NAME, cloud.ask)
    late = pool.submit(cache.get, *NAME, cloud.ask)
    if place.backend != BACKEND:
        # Others' stores have locks that only their owners end.
        with pytest.raises(Missing):
            late.result(PATIENCE_SECONDS)
    slow.go_on.set()
    assert early.result(PATIENCE_SECONDS) == "f-1"
    with pytest.raises(Missing):
        late.result(PATIENCE_SECONDS)
    with pytest.raises(Missing):
        cache.get(*NAME, cloud.ask)


@pytest.mark.parametrize("kind", OURS)
def test_no_that_another_process_learns_is_the_last_word_too(place: Place, pool: ThreadPoolExecutor) -> None:
    here, there, cloud = place.cache(), place.cache(), Cloud(small="f-1")
    slow = Held(cloud.ask)
    early = pool.submit(here.get, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    cloud.ids.clear()
    with pytest.raises(Missing):
        there.refresh(*NAME, cloud.ask)
    # Whoever looks from now on does not wait for the early one.
    with pytest.raises(Missing):
        pool.submit(here.get, *NAME, cloud.ask).result(PATIENCE_SECONDS)
    slow.go_on.set()
    assert early.result(PATIENCE_SECONDS) == "f-1"
    for cache in (here, there):
        with pytest.raises(Missing):
            cache.get(*NAME, cloud.ask)


def test_forced_look_replaces_what_another_had_asked_for_earlier(
    place: Place, pool: ThreadPoolExecutor
) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    slow = Held(cloud.ask)
    early = pool.submit(cache.refresh, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    cloud.ids["small"] = "f-2"
    assert cache.refresh(*NAME, cloud.ask) == "f-2"
    slow.go_on.set()
    assert early.result(PATIENCE_SECONDS) == "f-1"
    assert cache.get(*NAME, cloud.ask) == "f-2"


def test_those_who_wait_for_a_no_share_it(
    place: Place, pool: ThreadPoolExecutor, joined: threading.Semaphore
) -> None:
    cache, cloud = place.cache(), Cloud()
    slow = Held(cloud.ask)
    first = pool.submit(cache.get, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    others = [pool.submit(cache.get, *NAME, cloud.ask) for _ in range(3)]
    for _ in others:
        assert joined.acquire(timeout=PATIENCE_SECONDS)
    slow.go_on.set()
    for waiting in (first, *others):
        with pytest.raises(Missing):
            waiting.result(PATIENCE_SECONDS)
    assert cloud.asked == 1
    assert (cache.counters.misses, cache.counters.hits, cache.counters.refused) == (1, 3, 1)


def test_thread_that_is_stopped_leaves_its_question_to_others(
    place: Place, pool: ThreadPoolExecutor, joined: threading.Semaphore
) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    begun, go_on = threading.Event(), threading.Event()

    def stop() -> str:
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        raise SystemExit

    stopped = pool.submit(cache.get, *NAME, stop)
    assert begun.wait(PATIENCE_SECONDS)
    other = pool.submit(cache.get, *NAME, cloud.ask)
    assert joined.acquire(timeout=PATIENCE_SECONDS)
    go_on.set()
    with pytest.raises(SystemExit):
        stopped.result(PATIENCE_SECONDS)
    assert other.result(PATIENCE_SECONDS) == "f-1"
    assert cloud.asked == 1


def test_what_is_said_to_have_changed_is_asked_for_again_and_nothing_else(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1", large="f-2")
    for name in cloud.ids:
        cache.get("flavor", name, (), partial(cloud.ask, name))
    cloud.ids.clear()
    cache.forget("flavor", "small", ())
    with pytest.raises(Missing):
        cache.get("flavor", "small", (), cloud.ask)
    assert cache.get("flavor", "large", (), cloud.ask) == "f-2"


def test_what_is_asked_for_while_it_is_said_to_have_changed_is_not_kept(
    place: Place, pool: ThreadPoolExecutor
) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    slow = Held(cloud.ask)
    early = pool.submit(cache.get, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    cloud.ids["small"] = "f-2"
    cache.forget(*NAME)
    late = pool.submit(cache.get, *NAME, cloud.ask)
    slow.go_on.set()
    assert (early.result(PATIENCE_SECONDS), late.result(PATIENCE_SECONDS)) == ("f-1", "f-2")
    assert cache.get(*NAME, cloud.ask) == "f-2"


@ON_SHARED
def test_others_wait_for_whoever_asks_and_take_its_answer(place: Place, pool: ThreadPoolExecutor) -> None:
    here, there, cloud = place.cache(), place.cache(), Cloud(small="f-1")
    slow = Held(cloud.ask)
    first = pool.submit(here.get, *NAME, slow)
    assert slow.begun.wait(PATIENCE_SECONDS)
    second = pool.submit(there.get, *NAME, cloud.ask)
    slow.go_on.set()
    assert (first.result(PATIENCE_SECONDS), second.result(PATIENCE_SECONDS)) == ("f-1", "f-1")
    assert cloud.asked == 1
    assert (there.counters.hits, there.counters.misses) == (1, 0)


# How long others' locks live is their own affair.
@pytest.mark.parametrize("kind", ["memory", *OURS])
def test_whoever_died_while_asking_holds_up_the_others_for_the_lock_only(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    assert cache._process.answers.store.claim(key_in(cache, *NAME), b"the dead", 0.3)
    assert cache.get(*NAME, cloud.ask) == "f-1"
    assert cloud.asked == 1
    if place.backend != "memcached":
        # Nobody is in the way any more: it was kept. memcached counts in whole seconds.
        assert cache.get(*NAME, cloud.ask) == "f-1"
        assert cloud.asked == 1


def test_answer_that_took_longer_than_the_lock_is_given_and_not_kept(place: Place) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")

    def ask() -> str:
        # As if the lock were over: another has it.
        cache._process.answers.store._fill_locks.forget(key_in(cache, *NAME), b"")
        return cloud.ask()

    assert cache.get(*NAME, ask) == "f-1"
    assert cache.get(*NAME, cloud.ask) == "f-1"
    assert cloud.asked == 2


@pytest.mark.parametrize("kind", ["memory", "redis", "file"])
def test_oldest_answers_go_where_there_are_too_many(place: Place) -> None:
    cache, cloud = place.cache(max_entries=20), Cloud()
    names = [f"n{number}" for number in range(30)]
    for name in names:
        cloud.ids[name] = f"id of {name}"
        cache.get("flavor", name, (), partial(cloud.ask, name))
    entries = cache.describe().entries
    assert entries is not None
    assert 18 <= entries <= 20
    assert cache.counters.evicted == len(names) - entries
    # The generation did not go, and the youngest are there.
    cloud.asked = 0
    for name in reversed(names[-entries:]):
        cache.get("flavor", name, (), partial(cloud.ask, name))
    assert cloud.asked == 0
    cache.get("flavor", "n0", (), lambda: cloud.ask("n0"))
    assert cloud.asked == 1


@pytest.mark.parametrize("kind", ["memory"])
def test_what_is_looked_at_stays_in_memory(place: Place) -> None:
    cache, cloud = place.cache(max_entries=2), Cloud(a="1", b="2", c="3")
    for name in "abac":
        cache.get("flavor", name, (), partial(cloud.ask, name))
    cloud.asked = 0
    cache.get("flavor", "a", (), lambda: cloud.ask("a"))
    assert cloud.asked == 0
    cache.get("flavor", "b", (), lambda: cloud.ask("b"))
    assert cloud.asked == 1


def test_description_says_what_there_is(place: Place) -> None:
    cache, cloud = place.cache(expiration_seconds=7, max_entries=5), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    described = cache.describe()
    assert (described.client, described.backend) == ("nova", place.backend)
    assert (described.expiration_seconds, described.max_entries) == (7, 5)
    assert described.reachable
    assert described.entries == (1 if place.backend in ("memory", "redis", "file") else None)
    cache.flush()
    assert cache.describe().entries in (0, None)


#: Texts that might be taken for one another, or break a key.
NASTY = [
    "",
    " ",
    ":",
    "a:b",
    "a",
    "b",
    "ab",
    "é",
    "e\u0301",
    "\ud800",
    "😀",
    "\ud83d\ude00",
    "x" * 300,
    "\x00",
    "1",
]
QUESTIONS = st.tuples(
    st.sampled_from(NASTY) | st.text(st.characters()),
    st.sampled_from(NASTY) | st.text(st.characters()),
    st.lists(st.sampled_from(NASTY) | st.text(st.characters()), max_size=3).map(tuple),
)


@given(client=st.sampled_from(["nova", "glance"]), one=QUESTIONS, other=QUESTIONS)
def test_different_questions_have_different_keys(client: str, one: Any, other: Any) -> None:
    (entity, name, scope), (other_entity, other_name, other_scope) = one, other
    key = key_of([client, entity, name, *scope])
    assert (key == key_of([client, other_entity, other_name, *other_scope])) is (one == other)
    assert key != key_of(["cinder", entity, name, *scope])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(questions=st.lists(QUESTIONS, min_size=2, max_size=6))
def test_no_asker_gets_the_answer_to_anothers_question(place: Place, questions: list[Any]) -> None:
    cache = place.cache()
    for _ in range(2):
        for question in questions:
            entity, name, scope = question
            assert cache.get(entity, name, scope, partial(repr, question)) == repr(question)


@pytest.mark.parametrize("client", ["a b", "ü" * 80, "", "x:y", "\n"])
def test_clients_of_any_name_have_a_cache(place: Place, client: str) -> None:
    cache, cloud = place.cache(client), Cloud(small="f-1")
    assert [cache.get(*NAME, cloud.ask) for _ in range(2)] == ["f-1"] * 2
    assert cloud.asked == 1
    assert cache.counters.errors == 0


@pytest.mark.parametrize("answer", ["", "\ud800", "😀", "x" * 10_000], ids=range(4))
def test_any_text_is_an_answer(place: Place, answer: str) -> None:
    cache, cloud = place.cache(), Cloud(small=answer)
    assert [cache.get(*NAME, cloud.ask) for _ in range(2)] == [answer] * 2
    assert cloud.asked == 1


def test_answer_that_is_no_text_is_given_and_not_kept(place: Place) -> None:
    cache = place.cache()
    ask: Any = iter([41, 42]).__next__
    assert [str(cache.get(*NAME, ask)) for _ in range(2)] == ["41", "42"]
    assert (cache.counters.generated, cache.counters.errors) == (2, 0)


def test_dogpiles_own_file_can_be_named_with_its_arguments(tmp_path: Path) -> None:
    place, cloud = (
        Place("dogpile.cache.dbm", arguments={"filename": str(tmp_path / "cache")}),
        Cloud(small="f-1"),
    )
    for cache in (place.cache(), place.cache()):
        assert cache.get(*NAME, cloud.ask) == "f-1"
    assert cloud.asked == 1
    cache.flush()
    assert [place.cache().get(*NAME, cloud.ask) for _ in range(2)] == ["f-1"] * 2
    assert cloud.asked == 2
    cloud.ids.clear()
    for _ in range(2):
        with pytest.raises(Missing):
            cache.refresh(*NAME, cloud.ask)
    assert cache.counters.errors == 0
