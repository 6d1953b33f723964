"""Which caches the settings make, and how they say what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings, load_settings
from orchestrator.errors import InvalidInput
from orchestrator.plugins.constraint_caches import ConstraintCaches, make_constraint_cache


def settings_with(**said: Any) -> Settings:
    return load_settings(state_directory=Path("/nowhere"), **said)


def test_clients_have_caches_of_their_own_and_always_the_same() -> None:
    caches = ConstraintCaches(settings_with())
    nova = caches.of("nova")
    assert nova is not None
    assert caches.of("nova") is nova
    assert caches.of("glance") is not nova
    assert [cache.client for cache in caches.made()] == ["glance", "nova"]


def test_what_is_not_said_for_a_client_is_as_for_all() -> None:
    settings = settings_with(
        constraint_cache={
            "expiration_seconds": 30,
            "max_entries": 7,
            "clients": {"nova": {"expiration_seconds": 5}, "glance": {"max_entries": 9}},
        }
    )
    described = [
        cache.describe()
        for client in ("nova", "glance")
        if (cache := make_constraint_cache(settings, client))
    ]
    assert [(one.expiration_seconds, one.max_entries) for one in described] == [(5, 7), (30, 9)]


@pytest.mark.parametrize(
    ("common", "own", "on"),
    [(True, None, True), (True, False, False), (False, None, False), (False, True, True)],
)
def test_cache_can_be_switched_off_for_all_and_for_one(common: bool, own: bool | None, on: bool) -> None:
    settings = settings_with(constraint_cache={"enabled": common, "clients": {"nova": {"enabled": own}}})
    assert (ConstraintCaches(settings).of("nova") is not None) is on


@pytest.mark.parametrize(
    ("said", "place", "sentence"),
    [
        ({"cache_backend": "redes"}, "cache_backend", "did you mean 'redis'?"),
        ({"cache_backend": "redis"}, "cache_url", "needs a cache URL"),
        (
            {"cache_backend": "redis", "cache_url": "redis://:SECRET@host:port/0"},
            "cache_url",
            "'redis://***@host:port/0' is not one",
        ),
        (
            {
                "constraint_cache": {"arguments": {"timeout": "SECRET"}},
                "cache_backend": "memcached",
                "cache_url": "x",
            },
            "constraint_cache.arguments",
            "has no argument 'timeout'; did you mean 'timeout_seconds'?",
        ),
        (
            {"constraint_cache": {"clients": {"nova": {"backend": "redis"}}}, "cache_url": "localhost:11211"},
            "constraint_cache.clients.nova.url",
            "needs a cache URL",
        ),
        (
            {"constraint_cache": {"clients": {"nova": {"backend": "memorie"}}}},
            "constraint_cache.clients.nova.backend",
            "did you mean 'memory'?",
        ),
        (
            {
                "constraint_cache": {
                    "clients": {"nova": {"backend": "dogpile.cache.dbm", "arguments": {"file": "SECRET"}}}
                }
            },
            "constraint_cache.clients.nova.arguments",
            "cannot be made with these arguments (file): KeyError 'filename'",
        ),
        (
            {"cache_backend": "file", "cache_url": "/nowhere/at/all"},
            "cache_url",
            "cannot use '/nowhere/at/all': No such file or directory",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_wrong_setting_is_named(said: dict[str, Any], place: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        ConstraintCaches(settings_with(**said)).of("nova")
    told = str(raised.value)
    assert told.startswith(f"settings.{place}: ")
    assert sentence in told
    assert "SECRET" not in told


REDIS, RABBIT, OTHER = "redis://broker:6379/0", "amqp://broker", "redis://cache:6379/1"


@pytest.mark.parametrize(
    ("said", "backend", "url"),
    [
        ({}, "memory", ""),
        ({"broker_url": RABBIT}, "memory", ""),
        ({"broker_url": REDIS}, "redis", REDIS),
        ({"broker_url": "rediss://broker/0"}, "redis", "rediss://broker/0"),
        ({"broker_url": f"{REDIS};{OTHER}"}, "memory", ""),
        ({"broker_url": REDIS, "cache_backend": "redis"}, "redis", REDIS),
        ({"broker_url": REDIS, "cache_backend": "memory"}, "memory", ""),
        ({"broker_url": REDIS, "cache_url": OTHER}, "redis", OTHER),
        ({"cache_url": OTHER}, "redis", OTHER),
        ({"cache_url": "unix:///run/redis.sock"}, "redis", "unix:///run/redis.sock"),
        ({"cache_url": "cache:11211"}, "memcached", "cache:11211"),
        ({"broker_url": REDIS, "cache_url": "10.0.0.7:11211"}, "memcached", "10.0.0.7:11211"),
        ({"cache_url": "/var/cache/isotherm"}, "file", "/var/cache/isotherm"),
        ({"cache_backend": "memcached", "cache_url": "cache:1"}, "memcached", "cache:1"),
    ],
)
def test_a_cache_is_on_the_server_that_processes_share_unless_set_otherwise(
    said: dict[str, Any], backend: str, url: str
) -> None:
    place = settings_with(**said).cache_place
    assert (place.backend, place.url) == (backend, url)


def test_a_cache_on_the_broker_needs_no_setting(redis_url: str) -> None:
    settings = settings_with(broker_url=redis_url)
    filling, using = (make_constraint_cache(settings, "nova") for _ in range(2))
    assert filling is not None
    assert using is not None
    assert filling.backend == "redis"
    assert filling.get("flavor", "small", ("p",), lambda: "7") == "7"
    assert using.get("flavor", "small", ("p",), lambda: pytest.fail("it is cached already")) == "7"


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"cache_url": "http://:SECRET@cache"}, "cache_url"),
        ({"cache_url": "redis://:SECRET@host:port/0"}, "cache_url"),
        ({"broker_url": "redis://:SECRET@host:port/0"}, "broker_url"),
    ],
)
def test_a_wrong_url_is_named_by_its_setting(said: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        make_constraint_cache(settings_with(**said), "nova")
    assert str(raised.value).startswith(f"settings.{place}: ")
    assert "SECRET" not in str(raised.value)


def test_variables_reach_into_the_settings_of_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_CONSTRAINT_CACHE__LOCK_SECONDS", "3")
    monkeypatch.setenv("ISOTHERM_CONSTRAINT_CACHE__CLIENTS__NOVA__MAX_ENTRIES", "5")
    cache = load_settings().constraint_cache
    assert (cache.lock_seconds, cache.clients["nova"].max_entries, cache.enabled) == (3, 5, True)


def test_variable_wins_over_the_file_and_leaves_the_rest_of_its_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "isotherm.toml"
    file.write_text("[constraint_cache]\nmax_entries = 5\nlock_seconds = 6\n")
    monkeypatch.setenv("ISOTHERM_CONFIG", str(file))
    monkeypatch.setenv("ISOTHERM_CONSTRAINT_CACHE__MAX_ENTRIES", "7")
    cache = load_settings().constraint_cache
    assert (cache.max_entries, cache.lock_seconds) == (7, 6)


def test_wrong_value_below_a_table_is_told_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_CONSTRAINT_CACHE__CLIENTS__NOVA__MAX_ENTRIES", "SECRET")
    with pytest.raises(InvalidInput) as raised:
        load_settings()
    told = str(raised.value)
    assert told.startswith("settings.constraint_cache.clients.nova.max_entries: ")
    assert "ISOTHERM_CONSTRAINT_CACHE__CLIENTS__NOVA__MAX_ENTRIES" in told
    assert "SECRET" not in told
