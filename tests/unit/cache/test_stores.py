"""What single kinds of stores have to bear: values of other types, broken files, locks that nobody gives back."""

import fcntl
import os
import threading
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from cache.constraints.answers import Answers
from cache.constraints.cache import ConstraintCache
from cache.stores.fill_locks import BorrowedFillLocks
from cache.stores.regions import make_region
from tests.services.servers import RedisServer
from tests.unit.cache.places import NAME, Cloud, Place, key_in, lasting_key_in
from tests.unit.cache.shelf import BACKEND, Shelf
from tests.waiting import PATIENCE_SECONDS


def answers_of(cache: ConstraintCache) -> Answers:
    return cache._process.answers


@pytest.mark.parametrize("kind", ["redis"])
@pytest.mark.parametrize("what", ["entry", "claim", "index", "lasting"])
def test_values_of_other_types_in_redis_are_replaced(
    place: Place, redis_server: RedisServer, what: str
) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    keys = {
        "entry": key_in(cache, *NAME),
        "claim": f"{key_in(cache, *NAME)}:claim",
        "index": "isotherm-index:constraints:nova",
        "lasting": lasting_key_in(cache),
    }
    cache.get(*NAME, cloud.ask)
    cache.forget(*NAME)
    with redis_server.client() as client:
        client.delete(keys[what])
        client.rpush(keys[what], "a", "list")
    assert [cache.get(*NAME, cloud.ask) for _ in range(3)] == ["f-1"] * 3
    assert cloud.asked == 2
    assert cache.counters.errors == 0
    assert cache.flush()


@pytest.mark.parametrize("kind", ["redis"])
def test_redis_is_left_with_nothing_that_lasts_but_the_generation(
    place: Place, redis_server: RedisServer
) -> None:
    cache, cloud = place.cache(expiration_seconds=7), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    with redis_server.client() as client:
        lives = {key.decode(): client.ttl(key) for key in client.scan_iter()}
    assert lives.pop(lasting_key_in(cache)) == -1
    assert lives.keys() == {key_in(cache, *NAME), "isotherm-index:constraints:nova"}
    assert all(0 < life <= 14 for life in lives.values())


@pytest.mark.parametrize("kind", ["redis"])
def test_redis_that_forgot_its_scripts_is_told_them_again(place: Place, redis_server: RedisServer) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1", large="f-2")
    cache.get(*NAME, cloud.ask)
    with redis_server.client() as client:
        client.script_flush()
    for _ in range(2):
        assert cache.get("flavor", "large", (), lambda: cloud.ask("large")) == "f-2"
    assert cloud.asked == 2
    assert cache.counters.errors == 0


def test_redis_takes_what_is_said_of_its_connection(redis_server: RedisServer) -> None:
    region = make_region(
        "redis",
        redis_server.url,
        name="test",
        expiration_seconds=60,
        arguments={"connection_kwargs": {"client_name": "isotherm"}},
    )
    store = region.backend
    with redis_server.client() as client:
        store.get_serialized("key")
        assert isinstance(client, redis.Redis)
        assert "isotherm" in {one["name"] for one in client.client_list()}


@pytest.mark.parametrize("kind", ["file"])
@pytest.mark.parametrize("damage", ["garbage", "emptied", "removed"])
def test_broken_file_is_replaced(place: Place, damage: str) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    directory = Path(place.url).parent
    for file in [path for path in directory.iterdir() if not path.name.endswith(".lock")]:
        if damage == "garbage":
            file.write_bytes(b"\xff\x00 nonsense\n" * 100)
        elif damage == "emptied":
            file.write_bytes(b"")
        else:
            file.unlink()
    assert [cache.get(*NAME, cloud.ask) for _ in range(3)] == ["f-1"] * 3
    assert cloud.asked == 2
    assert cache.flush()


@contextmanager
def locked(place: Place) -> Iterator[None]:
    """Hold the lock of a file, as a process would that was stopped while it wrote."""
    handle = os.open(f"{place.url}.rw.lock", os.O_WRONLY | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@pytest.mark.parametrize("kind", ["file"])
def test_locked_file_costs_a_moment_once(place: Place) -> None:
    cache = place.cache(arguments={"timeout_seconds": 0.1}, pause_seconds=60)
    cloud = Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    with locked(place):
        assert [cache.get(*NAME, cloud.ask) for _ in range(50)] == ["f-1"] * 50
    assert cloud.asked == 51
    assert cache.counters.errors == 1


@pytest.mark.parametrize("kind", ["file"])
def test_clients_share_a_file_without_meeting(place: Place) -> None:
    nova, glance, cloud = place.cache("nova"), place.cache("glance"), Cloud(small="f-1")
    for cache in (nova, glance):
        cache.get(*NAME, cloud.ask)
    assert (nova.describe().entries, glance.describe().entries) == (1, 1)
    nova.flush()
    assert (nova.describe().entries, glance.describe().entries) == (0, 1)


def borrowed() -> BorrowedFillLocks:
    Shelf.shelves["borrowed"].clear()
    return BorrowedFillLocks(Shelf({"name": "borrowed"}))


def test_borrowed_claim_is_one_of_all_that_share_the_store() -> None:
    here, there = borrowed(), BorrowedFillLocks(Shelf({"name": "borrowed"}))
    assert here.claim("key", b"mine", 60)
    assert here.claim("key", b"mine", 60)
    assert not here.claim("key", b"another", 60)
    assert not there.claim("key", b"another's", 60)
    assert here.look("lasting", "key").holder == b"mine"
    assert here.keep("key", b"entry", b"mine")
    assert there.claim("key", b"another's", 60)
    assert there.look("lasting", "key").entry == b"entry"
    there.release("key", b"another's")


def test_borrowed_lock_is_given_back_by_who_lost_its_claim() -> None:
    locks = borrowed()
    assert locks.claim("key", b"slow", -1)
    # The claim is over, but not the store's lock, which only its owner can end.
    assert not locks.claim("key", b"next", 60)
    locks.forget("key", b"a third")
    assert not locks.keep("key", b"entry", b"slow")
    assert locks.look("lasting", "key").entry is None
    assert locks.claim("key", b"next", 60)
    locks.forget("key", b"next")
    assert locks.claim("key", b"last", 60)
    locks.release("key", b"last")


def test_no_that_comes_while_an_answer_is_written_to_a_borrowed_store_comes_after_it() -> None:
    writing, go_on = threading.Event(), threading.Event()

    class Slow(Shelf):
        def set_serialized(self, key: str, value: bytes) -> None:
            writing.set()
            assert go_on.wait(PATIENCE_SECONDS)
            super().set_serialized(key, value)

    locks = BorrowedFillLocks(Slow({"name": "slow"}))
    assert locks.claim("key", b"mine", 60)
    with ThreadPoolExecutor(2) as pool:
        keeping = pool.submit(locks.keep, "key", b"entry", b"mine")
        assert writing.wait(PATIENCE_SECONDS)
        forgetting = pool.submit(locks.forget, "key", b"another")
        # It must not be done by then; were it, this would be enough.
        futures.wait([forgetting], 0.1)
        go_on.set()
    assert keeping.result()
    assert forgetting.result() is None
    assert locks.look("lasting", "key").entry is None


def test_others_write_stores_and_name_them(tmp_path: Path) -> None:
    cache = ConstraintCache("nova", backend=BACKEND, arguments={"name": str(tmp_path)})
    assert isinstance(answers_of(cache).store.backend, Shelf)
    assert cache.describe().entries is None


@pytest.mark.parametrize("kind", ["redis", "memcached"])
def test_dogpiles_own_servers_can_be_named_with_their_arguments(place: Place) -> None:
    backend, arguments = {
        "redis": (
            "dogpile.cache.redis",
            {"distributed_lock": True, "thread_local_lock": False, "lock_timeout": 20, "socket_timeout": 1},
        ),
        "memcached": ("dogpile.cache.pymemcache", {"distributed_lock": True, "lock_timeout": 20}),
    }[place.backend]
    theirs, cloud = Place(backend, place.url, arguments), Cloud(small="f-1")
    here, there = theirs.cache(), theirs.cache()
    assert [cache.get(*NAME, cloud.ask) for cache in (here, there, here)] == ["f-1"] * 3
    assert cloud.asked == 1
    assert here.flush()
    there.get(*NAME, cloud.ask)
    assert cloud.asked == 2
    here.forget(*NAME)
    there.get(*NAME, cloud.ask)
    assert cloud.asked == 3
    assert here.counters.errors == there.counters.errors == 0
