"""One suite for every kind of store: values come back, and whatever happens to the store, no caller sees an error."""

import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dogpile.cache import CacheRegion
from dogpile.cache.api import NO_VALUE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from cache.stores.regions import MAX_ENTRIES, CacheMisconfigured, make_region
from tests.services.servers import MemcachedServer, RedisServer, Server

SERVED = ["redis", "memcached"]

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
#: Examples share a server on purpose: each writes what it reads.
SHARING = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server | None]:
    """The server behind the parametrized backend, running again afterwards; None for memory."""
    backend = request.getfixturevalue("backend")
    if backend == "memory":
        yield None
        return
    running: RedisServer | MemcachedServer = request.getfixturevalue(f"{backend}_server")
    running.flush()
    yield running
    if not running.running:
        running.launch()


@pytest.fixture(params=["memory", *SERVED])
def backend(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def region(backend: str, server: Server | None) -> CacheRegion:
    return region_of(backend, server)


def region_of(
    backend: str, server: Server | None, name: str = "test", expiration_seconds: int = 60
) -> CacheRegion:
    url = server.url if server else ""
    # No pause: every look asks the store, so that the tests wait for nothing.
    return make_region(backend, url, name=name, expiration_seconds=expiration_seconds, pause_seconds=0)


def get_multi(region: CacheRegion, keys: list[str]) -> list[Any]:
    values: list[Any] = region.get_multi(keys)  # type: ignore[no-untyped-call]  # dogpile's own
    return values


def plant(region: CacheRegion, key: str, entry: bytes) -> None:
    """Write bytes into the store itself, as another program might."""
    assert region.key_mangler
    region.backend.proxied.set_serialized(region.key_mangler(key), entry)


def warnings_in(logs: list[Any]) -> list[str]:
    return [entry["fault"] for entry in logs if entry["log_level"] == "warning"]


@SHARING
@given(value=VALUES, key=st.text(max_size=300))
def test_values_come_back_as_they_were(region: CacheRegion, key: str, value: Any) -> None:
    region.set(key, value)
    assert region.get(key) == value
    region.delete(key)
    assert region.get(key) is NO_VALUE


@SHARING
@given(mapping=st.dictionaries(st.text(min_size=1, max_size=20), VALUES, max_size=5))
def test_many_values_come_back_in_the_order_asked(region: CacheRegion, mapping: dict[str, Any]) -> None:
    region.set_multi(mapping)
    assert get_multi(region, [*mapping, "never set \N{SNOWMAN}"]) == [*mapping.values(), NO_VALUE]
    region.delete_multi([*mapping])
    assert get_multi(region, [*mapping]) == [NO_VALUE] * len(mapping)


def test_value_is_made_once(region: CacheRegion) -> None:
    made: list[int] = []

    def make() -> int:
        made.append(1)
        return 42

    assert [region.get_or_create("answer", make) for _ in range(3)] == [42, 42, 42]
    assert len(made) == 1


def test_old_value_is_a_miss(region: CacheRegion) -> None:
    plant(region, "old", b'{"ct": %d, "v": 2}|\x2a' % (time.time() - 61))
    assert region.get("old") is NO_VALUE
    assert region.get("old", ignore_expiration=True) == 42


@pytest.mark.parametrize("backend", SERVED)
def test_regions_of_different_names_share_a_store_without_meeting(backend: str, server: Server) -> None:
    here, there = region_of(backend, server, "here"), region_of(backend, server, "there")
    here.set("key", 1)
    there.set("key", 2)
    assert (here.get("key"), there.get("key")) == (1, 2)


@pytest.mark.parametrize("backend", SERVED)
def test_stopped_server_is_an_empty_cache_and_said_once(
    backend: str, server: Server, region: CacheRegion
) -> None:
    region.set("key", 1)
    server.crash()
    with capture_logs() as logs:
        region.set("key", 2)
        region.set_multi({"key": 3, "other": 4})
        region.delete("key")
        region.delete_multi(["key", "other"])
        assert region.get("key") is NO_VALUE
        assert get_multi(region, ["key", "other"]) == [NO_VALUE, NO_VALUE]
        assert region.get_or_create("key", lambda: 5) == 5
    assert warnings_in(logs) == ["unreachable"]


@pytest.mark.parametrize("backend", SERVED)
def test_cache_works_again_when_its_server_does(backend: str, server: Server, region: CacheRegion) -> None:
    server.crash()
    with capture_logs() as logs:
        assert region.get("key") is NO_VALUE
        server.launch()
        region.set("key", 1)
        assert region.get("key") == 1
        server.crash()
        assert region.get("key") is NO_VALUE
    assert [entry["event"] for entry in logs] == [
        "cache fails, going on without it",
        "cache works again",
        "cache fails, going on without it",
    ]


@pytest.mark.parametrize("backend", SERVED)
def test_server_restarted_between_two_looks_is_no_failure(
    backend: str, server: Server, region: CacheRegion
) -> None:
    region.set("key", 1)
    server.restart()
    with capture_logs() as logs:
        assert region.get("key") is NO_VALUE
    assert warnings_in(logs) == []


@pytest.mark.parametrize("backend", SERVED)
def test_hanging_server_costs_a_moment_and_no_error(backend: str, server: Server) -> None:
    impatient = {"timeout_seconds": 0.1}
    region = make_region(
        backend, server.url, name="test", expiration_seconds=60, arguments=impatient, pause_seconds=0
    )
    region.set("key", 1)
    with capture_logs() as logs, server.frozen():
        assert region.get("key") is NO_VALUE
        region.set("key", 2)
    assert warnings_in(logs) == ["unreachable"]


class Bomb:
    """Writes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (Path.touch, (self.path,))


GARBAGE = [
    b"",
    b"|",
    b"no bar at all",
    b"{}|\x2a",
    b"[1]|\x2a",
    b'{"ct": "yesterday", "v": 2}|\x2a',
    b'{"ct": NaN, "v": 2}|\x2a',
    b'{"ct": 1e999, "v": 2}|\x2a',
    b'{"ct": %d, "v": 2}|\xc1' % time.time(),
    b'{"ct": %d, "v": 2}|\x2a and more' % time.time(),
    b"\xff\xfe\x00|\x2a",
    b"[" * 100_000,
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=[f"garbage-{number}" for number in range(len(GARBAGE))])
def test_garbage_is_a_miss_and_said_once(region: CacheRegion, garbage: bytes) -> None:
    for key in ("one", "two"):
        plant(region, key, garbage)
    with capture_logs() as logs:
        assert region.get("one") is NO_VALUE
        assert get_multi(region, ["one", "two"]) == [NO_VALUE, NO_VALUE]
        assert region.get_or_create("two", lambda: 5) == 5
        assert region.get("two") == 5
    assert warnings_in(logs) == ["garbage"]


@SHARING
@given(garbage=st.binary())
def test_no_bytes_at_all_make_a_look_fail(region: CacheRegion, garbage: bytes) -> None:
    valid_metadata = b'{"ct": %d, "v": 2}|' % time.time()
    for entry in (garbage, valid_metadata + garbage):
        plant(region, "key", entry)
        region.get("key")


def test_pickles_are_not_opened(region: CacheRegion, tmp_path: Path) -> None:
    planted = pickle.dumps(Bomb(tmp_path / "opened"))
    for entry in (planted, b'{"ct": %d, "v": 2}|' % time.time() + planted):
        plant(region, "key", entry)
        assert region.get("key") is NO_VALUE
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize("backend", ["memory"])
def test_memory_forgets_the_oldest_beyond_its_limit(region: CacheRegion) -> None:
    for number in range(MAX_ENTRIES):
        region.set(str(number), number)
    region.set("0", "written again")
    region.set("one more", 0)
    assert region.get("0") == "written again"
    assert region.get("1") is NO_VALUE
    assert region.get("2") == 2


@pytest.mark.parametrize(
    ("backend", "url", "sentence"),
    [
        ("memcache", "", "no cache backend 'memcache'; did you mean 'memcached'?"),
        ("blackboard", "", "there are memory, redis, memcached, file, and dogpile.cache's own"),
        ("redis", "", "needs a cache URL, such as redis://localhost:6379/0"),
        ("memcached", "", "needs a cache URL, such as localhost:11211"),
        ("redis", "localhost", "cache URL 'localhost' is not one for 'redis'"),
    ],
)
def test_settings_that_make_no_cache_are_refused(backend: str, url: str, sentence: str) -> None:
    with pytest.raises(CacheMisconfigured) as error:
        make_region(backend, url, name="test", expiration_seconds=60)
    assert sentence in str(error.value)


def test_missing_client_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cache.stores.memcached_store", raising=False)
    # None makes the import system answer as it does where the package is not installed.
    monkeypatch.setitem(sys.modules, "pymemcache", None)
    with pytest.raises(CacheMisconfigured, match=r"pip install 'isotherm\[memcached\]'"):
        make_region("memcached", "localhost:11211", name="test", expiration_seconds=60)


def test_any_dogpile_backend_goes_by_its_name() -> None:
    region = make_region("dogpile.cache.null", "", name="test", expiration_seconds=60)
    region.set("key", 1)
    assert region.get("key") is NO_VALUE


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:secret@host:port/0", "redis://***@host:port/0"),
        ("redis://:secret/1@host:6379/0", "redis://***@host:6379/0"),
        ("redis://:secret?1@host:a/0", "redis://***@host:a/0"),
        ("redis://:secret@1@host:a/0", "redis://***@host:a/0"),
        ("http://user:secret@host/0", "http://***@host/0"),
        ("redis://host/0?password=secret&socket_timeout=x", "redis://host/0?***"),
        ("redis://:secret://1@host:a/0", "redis://***@host:a/0"),
        ("user:secret@host", "***@host"),
    ],
)
def test_no_password_is_shown_with_a_wrong_url(url: str, shown: str) -> None:
    with pytest.raises(CacheMisconfigured) as error:
        make_region("redis", url, name="test", expiration_seconds=60)
    assert str(error.value) == f"cache URL {shown!r} is not one for 'redis'"
    assert "secret" not in "".join(traceback.format_exception(error.value))


def test_what_is_wrong_with_a_url_is_told_where_no_password_can_be_in_it() -> None:
    with pytest.raises(
        CacheMisconfigured, match="'redis://host:port/0' is not one for 'redis': Port could not"
    ):
        make_region("redis", "redis://host:port/0", name="test", expiration_seconds=60)
