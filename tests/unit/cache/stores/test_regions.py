"""Regions are made of settings, or refused with a sentence that says why."""

import sys
import traceback

import pytest

from cache.stores.regions import CacheMisconfigured, make_region


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
    assert region.claim("key", b"mine", 60)
    region.keep("key", b"entry", b"mine")
    assert region.look("lasting", "key").entry is None


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
