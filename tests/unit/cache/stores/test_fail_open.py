"""A store that failed is left alone for a moment, except for deletions."""

import threading
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dogpile.cache.api import NO_VALUE, BytesBackend
from structlog.testing import capture_logs

from cache.stores.fail_open import FailOpen
from cache.stores.regions import make_region


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count one thread: what is slow depends on how many there are, and other tests may have left some."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


class Store(BytesBackend):
    """A store that can be switched off, and counts how often it was asked."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self.on = True
        self.asked = 0

    def _ask(self) -> dict[str, bytes]:
        self.asked += 1
        if not self.on:
            raise ConnectionRefusedError("nobody there")
        return self.entries

    def get_serialized(self, key: str) -> Any:
        return self._ask().get(key, NO_VALUE)

    def get_serialized_multi(self, keys: Iterable[str]) -> Any:
        entries = self._ask()
        return [entries.get(key, NO_VALUE) for key in keys]

    def set_serialized(self, key: str, value: bytes) -> None:
        self._ask()[key] = value

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        self._ask().update(mapping)

    def delete(self, key: str) -> None:
        self._ask().pop(key, None)

    def delete_multi(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._ask().pop(key, None)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


ENTRY = b'{"ct": 1, "v": 2}|\x2a'


def make() -> tuple[FailOpen, Store, Clock]:
    store, clock = Store(), Clock()
    proxy = FailOpen("test", store, pause_seconds=2, clock=clock)
    return proxy, store, clock


def get(proxy: FailOpen, key: str) -> bytes | None:
    return proxy.look("lasting", key).entry


def test_store_that_failed_is_left_alone_for_the_pause() -> None:
    proxy, store, clock = make()
    store.entries["key"] = ENTRY
    store.on = False
    assert get(proxy, "key") is None
    store.on = True
    asked = store.asked
    clock.now = 1.9
    assert get(proxy, "key") is None
    assert proxy.claim("key", b"mine", 60) is None
    assert proxy.begin("lasting", b"lost") is None
    assert store.asked == asked
    clock.now = 2.0
    assert get(proxy, "key") == ENTRY


def test_deletions_are_tried_during_the_pause() -> None:
    proxy, store, _ = make()
    store.entries["one"] = ENTRY
    store.on = False
    get(proxy, "one")
    store.on = True
    proxy.forget("one", b"mine")
    assert store.entries == {}


def test_foreign_entries_are_counted_and_said_once_in_a_while() -> None:
    counted: list[tuple[str, int]] = []
    clock = Clock()
    proxy = FailOpen("test", Store(), clock=clock, count=lambda *what: counted.append(what))
    with capture_logs() as logs:
        for clock.now in (0, 1, 59, 60):
            proxy.report_garbage("of another program")
    assert counted == [("garbage", 1)] * 4
    assert [entry["fault"] for entry in logs] == ["garbage"] * 2


def test_store_that_fails_again_and_again_is_said_once() -> None:
    proxy, store, clock = make()
    store.on = False
    with capture_logs() as logs:
        for clock.now in range(0, 20, 2):
            get(proxy, "key")
        store.on = True
        clock.now = 20
        get(proxy, "key")
    assert store.asked == 11
    assert [(entry["log_level"], entry["cache"], entry["fault"]) for entry in logs] == [
        ("warning", "test", "unreachable"),
        ("info", "test", "unreachable"),
    ]
    assert logs[0]["error"] == "ConnectionRefusedError: nobody there"


def slowly(store: Store, clock: Clock, seconds: float) -> None:
    """Let each call of the store take so long."""
    ask = store._ask

    def slow() -> dict[str, bytes]:
        clock.now += seconds
        return ask()

    store._ask = slow  # type: ignore[method-assign]


def test_store_that_stays_slow_is_left_alone_and_said_once() -> None:
    proxy, store, clock = make()
    store.entries["key"] = ENTRY
    slowly(store, clock, 0.3)
    with capture_logs() as logs:
        # The first one ends at 0.3, the fifth 1.2 seconds later.
        for _ in range(5):
            assert get(proxy, "key") == ENTRY
        asked = store.asked
        assert get(proxy, "key") is None
        clock.now += 2
        # Tried by one, and still slow.
        assert get(proxy, "key") == ENTRY
        assert get(proxy, "key") is None
    assert store.asked == asked + 1
    assert [(entry["fault"], entry["error"]) for entry in logs] == [
        ("slow", "TimeoutError: 0.3 seconds for one call")
    ]


def test_store_that_is_fast_again_is_used_again() -> None:
    proxy, store, clock = make()
    slowly(store, clock, 1.5)
    for _ in range(2):
        get(proxy, "key")
    slowly(store, clock, -1.5)
    clock.now += 2
    with capture_logs() as logs:
        store.entries["key"] = ENTRY
        assert get(proxy, "key") == ENTRY
    assert [(entry["log_level"], entry["fault"]) for entry in logs] == [("info", "slow")]


def test_store_that_is_slow_for_a_moment_is_used() -> None:
    proxy, store, clock = make()
    slowly(store, clock, 0.9)
    for _ in range(2):
        get(proxy, "key")
    slowly(store, clock, -0.9)
    get(proxy, "key")
    slowly(store, clock, 0.9)
    asked = store.asked
    for _ in range(2):
        get(proxy, "key")
    assert store.asked == asked + 2


@pytest.mark.parametrize(("seconds", "used"), [(1.9, True), (2.1, False)])
def test_store_that_is_waited_for_longer_is_slow_later(tmp_path: Path, seconds: float, used: bool) -> None:
    patient = {"timeout_seconds": 10}
    proxy = make_region("file", str(tmp_path / "f"), name="r", expiration_seconds=60, arguments=patient)
    clock = proxy._clock = Clock()
    for _ in range(3):
        proxy._try(partial(clock.move, seconds), None)
    assert proxy._try(lambda: True, False) is used


def test_only_one_tries_a_store_that_failed() -> None:
    proxy, store, clock = make()
    store.on = False
    get(proxy, "key")
    clock.now = 2
    looked: list[object] = []
    ask = store._ask

    def look_meanwhile() -> dict[str, bytes]:
        looked.append(get(proxy, "key"))
        return ask()

    store._ask = look_meanwhile  # type: ignore[method-assign]
    asked = store.asked
    get(proxy, "key")
    assert looked == [None]
    assert store.asked == asked + 1


def test_what_was_left_undone_is_done_when_the_store_works_again() -> None:
    proxy, store, clock = make()
    store.entries["key"] = ENTRY
    store.on = False
    proxy.forget("key", b"mine")
    proxy.forget("other", b"mine")
    store.on = True
    clock.now = 2
    assert store.entries == {"key": ENTRY}
    get(proxy, "unrelated")
    assert store.entries == {}
    asked = store.asked
    get(proxy, "unrelated")
    assert store.asked == asked + 1


def test_what_cannot_be_made_good_is_left_for_later() -> None:
    proxy, store, clock = make()
    store.on = False
    proxy.forget("key", b"mine")
    store.entries["key"] = ENTRY
    delete = store.delete
    store.delete = None  # type: ignore[assignment,method-assign]
    store.on = True
    clock.now = 2
    with capture_logs() as logs:
        get(proxy, "unrelated")
        store.delete = delete  # type: ignore[method-assign]
        clock.now = 4
        get(proxy, "unrelated")
    assert store.entries == {}
    assert [entry["log_level"] for entry in logs] == ["info", "warning", "info"]
