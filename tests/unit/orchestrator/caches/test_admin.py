"""What an operator is told of constraint caches, and what a flush reaches."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cache.constraints.cache import ConstraintCache
from cache.constraints.counters import Counts
from orchestrator.caches.admin import CacheAdmin
from orchestrator.caches.process import ProcessCaches
from orchestrator.config.settings import Settings
from orchestrator.engine.publisher import Publisher
from orchestrator.errors import NotFound, Unavailable
from orchestrator.plugins.constraint_caches import ConstraintCaches, make_constraint_cache
from orchestrator.processes.runtime import Runtime
from orchestrator.store.store import Store
from tests.migrated import migrate

#: A port that nothing listens on.
NOWHERE = "redis://:secret@127.0.0.1:1/0"
SCOPE = ("p",)


class World:
    """A store, and whoever looks at caches or has some."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = Store(f"sqlite:///{directory / 'isotherm.db'}")
        migrate(str(self.store.database.url))
        self.processes: list[ProcessCaches] = []

    def settings(self, **said: Any) -> Settings:
        return Settings(state_directory=self.directory, **said)

    def admin(
        self, clients: Mapping[str, Any], *, unknown: Mapping[str, Any] | None = None, **said: Any
    ) -> CacheAdmin:
        settings = self.settings(constraint_cache={"clients": {**clients, **(unknown or {})}}, **said)
        return CacheAdmin(
            lambda client: make_constraint_cache(settings, client),
            set(clients),
            settings.constraint_cache.clients,
            self.store.cache_counters,
            self.store.cache_flushes,
        )

    def process(self, **said: Any) -> ProcessCaches:
        """Return the caches of one more process."""
        caches = ConstraintCaches(self.settings(**said))
        counters, flushes = self.store.cache_counters, self.store.cache_flushes
        self.processes.append(ProcessCaches(caches, counters.add, flushes.read, every_seconds=0.01))
        return self.processes[-1]

    def close(self) -> None:
        for process in self.processes:
            process.close()
        self.store.close()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)
    made = World(tmp_path)
    yield made
    made.close()


def answers(cache: Any) -> Callable[[], bool]:
    """Return a function that looks something up, and tells whether the system had to be asked."""

    def looks() -> bool:
        asked = iter(["1"])
        cache.get("image", "ubuntu", SCOPE, lambda: next(asked))
        return next(asked, None) is None

    return looks


def test_each_client_is_told_of_with_what_all_processes_counted(world: World) -> None:
    world.store.cache_counters.add({"b": Counts(hits=3, misses=1, generated=1), "gone": Counts(errors=2)})
    world.store.cache_counters.add({"b": Counts(hits=1)})
    a, b, gone = world.admin({"a": {"expiration_seconds": 5, "max_entries": 7}, "b": {}}).stats()
    assert (a.client, a.state, a.backend, a.expiration_seconds, a.max_entries) == (
        "a",
        "ok",
        "memory",
        5.0,
        7,
    )
    assert (a.since, a.counters, a.hit_rate) == (None, Counts(), None)
    assert b.counters == Counts(hits=4, misses=1, generated=1)
    assert b.hit_rate == 0.8
    assert b.since is not None
    # What was counted before its plugin was removed.
    assert (gone.client, gone.state, gone.counters.errors) == ("gone", "unknown", 2)
    assert b.to_dict()["counters"]["hits"] == 4
    assert b.to_dict()["hit_rate"] == 0.8


def test_of_memory_nobody_says_how_many_answers_there_are(world: World) -> None:
    (view,) = world.admin({"a": {}}).stats()
    assert view.entries is None
    assert view.detail == "each process has its own"


def test_of_a_shared_store_its_answers_are_counted(world: World, redis_url: str) -> None:
    shared: dict[str, Any] = {"cache_backend": "redis", "cache_url": redis_url}
    cache = world.process(**shared).of("a")
    assert cache is not None
    answers(cache)()
    (view,) = world.admin({"a": {}}, **shared).stats()
    assert (view.state, view.backend, view.entries) == ("ok", "redis", 1)
    assert view.detail == "all processes share it"


@pytest.mark.parametrize(
    ("said", "state", "detail"),
    [
        ({"enabled": False}, "disabled", "nothing is remembered of this client"),
        ({"backend": "redis", "url": NOWHERE}, "unreachable", "all processes share it"),
        ({"backend": "reddis"}, "wrong", "did you mean 'redis'?"),
    ],
    ids=["disabled", "unreachable", "wrong"],
)
def test_what_is_not_well_is_told_without_hiding_the_rest(
    said: Mapping[str, Any], state: str, detail: str, world: World
) -> None:
    world.store.cache_counters.add({"a": Counts(errors=7)})
    a, b = world.admin({"a": said, "b": {}}).stats()
    assert a.state == state
    assert detail in a.detail
    assert a.counters.errors == 7
    assert b.state == "ok"
    assert "secret" not in str(a)
    (flushed,) = world.admin({"a": said}).flush()
    assert flushed.state == state


def test_one_client_may_be_asked_for_and_the_nearest_is_named(world: World) -> None:
    admin = world.admin({"nova": {}, "glance": {}})
    assert [view.client for view in admin.stats("nova")] == ["nova"]
    assert [view.client for view in admin.flush("nova")] == ["nova"]
    for ask in (admin.stats, admin.flush):
        with pytest.raises(NotFound, match=r"no client plugin 'novva' here; did you mean 'nova'\?"):
            ask("novva")


def test_what_the_settings_call_otherwise_than_any_client_is_told_as_unknown(world: World) -> None:
    admin = world.admin({"nova": {}}, unknown={"novva": {}})
    nova, novva = admin.stats()
    assert (nova.state, novva.state) == ("ok", "unknown")
    assert novva.detail == "there is no such client plugin here; did you mean 'nova'?"
    assert [view.client for view in admin.flush()] == ["nova"]


def test_a_reset_shows_what_there_was_and_begins_again(world: World) -> None:
    world.store.cache_counters.add({"a": Counts(hits=1), "b": Counts(hits=2)})
    admin = world.admin({"a": {}, "b": {}})
    assert [view.counters.hits for view in admin.stats("a", reset=True)] == [1]
    assert [view.counters.hits for view in admin.stats(reset=True)] == [0, 2]
    assert [view.counters.hits for view in admin.stats()] == [0, 0]


def test_a_flush_reaches_what_other_processes_keep_in_memory(world: World) -> None:
    looks = {name: answers(world.process().of(name)) for name in ("a", "b")}
    for look in looks.values():
        assert look()
        assert not look()
    (view,) = world.admin({"a": {}}).flush("a")
    assert view.state == "ordered"
    # Each turn is a look-up; the process that has the cache does the rest, or the test's time runs out.
    while not looks["a"]():
        continue
    assert not looks["b"]()


def test_a_flush_of_a_shared_store_is_there_at_once(world: World, redis_url: str) -> None:
    shared: dict[str, Any] = {"cache_backend": "redis", "cache_url": redis_url}
    look = answers(world.process(**shared).of("a"))
    assert look()
    assert not look()
    (view,) = world.admin({"a": {}}, **shared).flush()
    assert view.state == "flushed"
    assert look()
    assert world.store.cache_flushes.read().at == {}


def test_a_flush_of_a_file_reaches_this_machine_at_once_and_others_by_word(world: World) -> None:
    shared: dict[str, Any] = {"cache_backend": "file", "cache_url": str(world.directory / "cache")}
    look = answers(world.process(**shared).of("a"))
    assert look()
    (view,) = world.admin({"a": {}}, **shared).flush()
    assert view.state == "flushed"
    assert look()
    assert set(world.store.cache_flushes.read().at) == {"a"}


class NoPublisher(Publisher):
    def publish(self, orders: Any) -> None:
        raise AssertionError("nothing is published here")

    def backlog(self) -> None:
        raise AssertionError("nobody asks")


def test_what_a_process_counted_is_there_when_it_has_ended(world: World) -> None:
    runtime = Runtime(
        world.settings(), NoPublisher(), kind="test", store=Store(str(world.store.database.url))
    )
    cache = runtime.caches.of("a")
    assert isinstance(cache, ConstraintCache)
    look = answers(cache)
    assert [look() for _ in range(3)] == [True, False, False]
    runtime.close()
    (view,) = world.admin({"a": {}}).stats()
    assert view.counters == Counts(hits=2, misses=1, generated=1)


def test_without_its_table_the_database_is_said_to_need_an_upgrade(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'old.db'}")
    with pytest.raises(Unavailable, match="isotherm db upgrade"):
        CacheAdmin(lambda _: None, {"a"}, (), store.cache_counters, store.cache_flushes).stats()
    store.close()
