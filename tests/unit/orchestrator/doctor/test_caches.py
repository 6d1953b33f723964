"""The doctor tells of the constraint cache of every client that is configured."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings, load_settings
from orchestrator.doctor.caches import check_constraint_caches, sharing
from orchestrator.doctor.check import Check
from orchestrator.doctor.report import checks
from orchestrator.store.installation.processes import ProcessIdentity
from orchestrator.store.store import Store
from orchestrator.views.operations import ProcessView
from tests.migrated import migrate

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
        "constraint cache of http": (True, "memory; not shared; answers are kept for 60 s"),
        "constraint cache of nova": (True, "memory; not shared; answers are kept for 5 s"),
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


def process(host: str) -> ProcessView:
    return ProcessView(
        name=f"worker@{host}:1:0.00",
        kind="worker",
        host=host,
        pid=1,
        celery_name="",
        version="",
        queues=(),
        started_at=0.0,
        seen_at=0.0,
        seen_seconds=0.0,
        state="present",
        works_on=(),
    )


@pytest.mark.parametrize(
    ("backend", "alone", "among_three"),
    [
        ("memory", "not shared", "not shared: each of 3 processes has its own"),
        ("dogpile.cache.memory", "not shared", "not shared: each of 3 processes has its own"),
        ("file", "shared by the processes of this machine", "shared by 2 of 3 processes"),
        ("redis", "shared by all processes", "shared by 3 of 3 processes"),
        ("memcached", "shared by all processes", "shared by 3 of 3 processes"),
    ],
)
def test_a_check_reports_whether_a_cache_is_shared_and_by_how_many(
    backend: str, alone: str, among_three: str
) -> None:
    here = socket.gethostname()
    assert sharing(backend, ()) == alone
    assert sharing(backend, [process(here), process(here), process(f"not-{here}")]) == among_three


@pytest.mark.parametrize("shared", [True, False])
def test_the_doctor_counts_the_processes_of_the_database(
    shared: bool,  # a parameter
    tmp_path: Path,
    redis_url: str,
) -> None:
    settings = Settings(state_directory=tmp_path, cache_url=redis_url if shared else "", clients={"http": {}})
    migrate(settings.effective_database_url)
    store = Store.of(settings)
    for number in range(3):
        name = f"worker@{socket.gethostname()}:{number}:0.00"
        store.processes.report(
            ProcessIdentity(name=name, kind="worker", host=socket.gethostname(), pid=number)
        )
    store.close()
    said = {each.name: each.detail for each in checks(settings)}
    words = "shared by 3 of 3 processes" if shared else "not shared: each of 3 processes has its own"
    assert words in said["cache"]
    assert words in said["constraint cache of http"]
