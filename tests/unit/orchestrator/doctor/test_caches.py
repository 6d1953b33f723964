"""The doctor tells of the constraint cache of every client that is configured."""

import os
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.settings import load_settings
from orchestrator.doctor.caches import check_constraint_caches
from orchestrator.doctor.check import Check

INSTALLED = ("glance", "http", "nova")


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)


def found(clients: Mapping[str, Any], configured: Mapping[str, Any]) -> dict[str, Check]:
    settings = load_settings(constraint_cache={"clients": clients}, clients=configured)
    return {check.name: check for check in check_constraint_caches(settings, INSTALLED)}


def test_only_clients_that_are_configured_are_looked_at() -> None:
    assert found({}, {}) == {}
    # That there is no such client is told with the clients.
    assert found({}, {"htpp": {}}) == {}
    checks = found({"nova": {"expiration_seconds": 5}}, {"http": {}})
    assert {name: (check.ok, check.detail) for name, check in checks.items()} == {
        "constraint cache of http": (True, "memory; answers are kept for 60 s"),
        "constraint cache of nova": (True, "memory; answers are kept for 5 s"),
    }


def test_a_cache_of_a_client_that_is_not_there_names_the_nearest() -> None:
    check = found({"novva": {}}, {})["constraint cache of novva"]
    assert not check.ok
    assert not check.is_service
    assert check.hint == "correct the name in settings.constraint_cache.clients: did you mean 'nova'?"
    other = found({"xyz": {}}, {})["constraint cache of xyz"]
    assert other.hint.endswith("there are glance, http, nova")


@pytest.mark.parametrize(
    ("said", "ok", "is_service", "detail"),
    [
        ({"enabled": False}, True, False, "disabled: every look-up queries the system"),
        (
            {"backend": "redis", "url": "redis://:secret@127.0.0.1:1/0"},
            False,
            True,
            "redis at redis://***@127.0.0.1:1/0 does not answer",
        ),
        (
            {"backend": "reddis"},
            False,
            False,
            "settings.constraint_cache.clients.nova.backend: there is no cache",
        ),
        ({"backend": "redis"}, False, False, "needs a cache URL"),
    ],
    ids=["disabled", "down", "unknown", "nowhere"],
)
def test_what_is_wrong_with_a_cache_is_told(
    said: Mapping[str, Any], ok: bool, is_service: bool, detail: str
) -> None:
    check = found({"nova": said}, {})["constraint cache of nova"]
    assert (check.ok, check.is_service) == (ok, is_service)
    assert detail in check.detail
    assert check.ok or check.hint
    assert "secret" not in str(check)
