"""The caches of a process: each made once, counted for all, and emptied when word of a flush comes."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from cache.constraints.cache import Description
from cache.constraints.counters import Counters, Counts
from orchestrator.caches.process import ProcessCaches
from orchestrator.errors import Unavailable
from orchestrator.store.installation.cache_counters import Flushes

LIFETIME_SECONDS = 60.0


class FakeCache:
    """Counts what it is told to, and how often it was flushed."""

    def __init__(self, client: str, backend: str = "memory") -> None:
        self.client, self.backend = client, backend
        self.expiration_seconds = LIFETIME_SECONDS
        self.counters = Counters()
        self.flushed = 0

    def get(self, entity: str, name: str, scope: tuple[str, ...], ask: Callable[[], str]) -> str:
        self.counters.add("hits")
        return ask()

    def refresh(self, entity: str, name: str, scope: tuple[str, ...], ask: Callable[[], str]) -> str:
        return ask()

    def forget(self, entity: str, name: str, scope: tuple[str, ...]) -> None:
        pass

    def take(self) -> Counts:
        return self.counters.take()

    def flush(self) -> bool:
        self.flushed += 1
        return True

    def describe(self) -> Description:
        return Description(
            client=self.client,
            backend=self.backend,
            url="",
            expiration_seconds=LIFETIME_SECONDS,
            max_entries=1,
            entries=0,
            reachable=True,
        )


class Record:
    """A store of record on a clock of its own, which may be away."""

    def __init__(self) -> None:
        self.flushes = Flushes(at={}, now=1_000_000.0)
        self.told: dict[str, Counts] = {}
        self.reads = 0
        self.is_away = False
        self.was_told = threading.Event()

    def add(self, deltas: Any) -> None:
        if self.is_away:
            raise Unavailable("away")
        self.told.update(deltas)
        self.was_told.set()

    def read(self) -> Flushes:
        self.reads += 1
        if self.is_away:
            raise Unavailable("away")
        return self.flushes


class Held:
    """Caches that are made when they are asked for."""

    def __init__(self, there: Mapping[str, FakeCache]) -> None:
        self._there = there
        self._made: dict[str, FakeCache] = {}

    def of(self, client: str) -> FakeCache | None:
        if client in self._there:
            self._made[client] = self._there[client]
        return self._made.get(client)

    def made(self) -> list[FakeCache]:
        return list(self._made.values())


class World:
    """A process's caches in a world where time passes by word."""

    def __init__(self, **backends: str) -> None:
        self.seconds = 0.0
        self.record = Record()
        self.made = {name: FakeCache(name, backend) for name, backend in backends.items()}
        self.caches = self.begin()

    def begin(self) -> ProcessCaches:
        """Return the caches of a process that begins now."""
        return ProcessCaches(
            Held(self.made), self.record.add, self.record.read, every_seconds=3600, clock=lambda: self.seconds
        )

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds
        self.record.flushes = replace(self.record.flushes, now=self.record.flushes.now + seconds)

    def flush(self, client: str) -> None:
        at = {**self.record.flushes.at, client: self.record.flushes.now}
        self.record.flushes = replace(self.record.flushes, at=at)

    def look_up(self, client: str) -> None:
        cache = self.caches.of(client)
        assert cache is not None
        cache.get("image", "a", (), lambda: "1")

    def tick(self) -> None:
        """Do what the thread does from time to time."""
        self.caches.tally.persist()
        self.caches.heed()


@pytest.fixture
def world() -> Any:
    made: list[World] = []

    def make(**backends: str) -> World:
        made.append(World(**backends))
        return made[-1]

    yield make
    for each in made:
        each.caches.close()


Make = Callable[..., World]


def test_a_client_may_have_no_cache_and_then_nothing_is_to_be_told(world: Make) -> None:
    here = world(http="memory")
    assert here.caches.of("other") is None
    assert "cache tally" not in [thread.name for thread in threading.enumerate()]
    assert here.caches.of("http") is here.made["http"]
    assert "cache tally" in [thread.name for thread in threading.enumerate()]


def test_what_is_counted_is_told_at_the_latest_at_the_end(world: Make) -> None:
    here = world(http="redis", other="memory")
    here.look_up("http")
    here.look_up("http")
    assert here.record.told == {}
    here.caches.close()
    assert here.record.told == {"http": Counts(hits=2)}


def test_without_a_look_up_nobody_is_asked_anything(world: Make) -> None:
    here = world(http="memory")
    here.caches.of("http")
    here.flush("http")
    here.tick()
    assert here.record.reads == 0


def test_each_word_of_a_flush_is_heeded_once(world: Make) -> None:
    here = world(http="memory", other="memory")
    here.look_up("http")
    here.look_up("other")
    here.tick()
    for flushes in (1, 2, 3):
        here.pass_(5)
        here.flush("http")
        here.tick()
        here.tick()
        assert here.made["http"].flushed == flushes
    assert here.made["other"].flushed == 0


def test_a_flush_before_the_process_began_is_none_of_its_business(world: Make) -> None:
    here = world(http="memory")
    here.flush("http")
    here.pass_(100)
    later = here.begin()
    cache = later.of("http")
    assert cache is not None
    cache.get("image", "a", (), lambda: "1")
    later.tally.persist()
    later.heed()
    assert here.made["http"].flushed == 0
    here.flush("http")
    later.heed()
    assert here.made["http"].flushed == 1
    later.close()


def test_word_left_before_the_first_look_is_heeded(world: Make) -> None:
    here = world(http="memory")
    here.look_up("http")
    here.pass_(0.5)
    here.flush("http")
    here.pass_(0.5)
    here.tick()
    assert here.made["http"].flushed == 1


@pytest.mark.parametrize(
    ("backend", "flushed"), [("memory", 1), ("file", 1), ("their.own", 1), ("redis", 0), ("memcached", 0)]
)
def test_a_store_that_all_share_is_left_to_who_flushes_it(backend: str, flushed: int, world: Make) -> None:
    here = world(http=backend)
    here.look_up("http")
    here.flush("http")
    here.tick()
    assert here.made["http"].flushed == flushed
    assert here.record.reads == flushed


def test_when_every_answer_is_too_old_to_be_given_nobody_looks_any_more(world: Make) -> None:
    here = world(http="memory")
    here.look_up("http")
    here.tick()
    here.pass_(LIFETIME_SECONDS)
    here.tick()
    assert here.record.reads == 2
    here.pass_(1)
    here.tick()
    assert here.record.reads == 2
    here.look_up("http")
    here.tick()
    assert here.record.reads == 3


def test_word_that_could_not_be_read_is_heeded_later(world: Make) -> None:
    here = world(http="memory")
    here.look_up("http")
    here.flush("http")
    here.record.is_away = True
    here.tick()
    assert here.made["http"].flushed == 0
    here.record.is_away = False
    here.tick()
    assert here.made["http"].flushed == 1
    assert here.record.told == {"http": Counts(hits=1)}
