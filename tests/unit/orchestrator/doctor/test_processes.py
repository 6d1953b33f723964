"""The doctor compares all processes on a broker."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.doctor.processes import check_agreement, compare
from orchestrator.queue.setups import MUST_AGREE, Setup
from tests.migrated import migrate
from tests.services.engine import running
from tests.unit.docs.pages import Session

HERE = Setup(
    installation="ours",
    version="1",
    settings=dict.fromkeys(MUST_AGREE, "same"),
    plugins={"resources A": "1"},
    clients={"http": "same"},
)
AGENT = replace(HERE, installation="", plugins={}, clients={})


def wrong(configured: frozenset[str] = frozenset(), /, **found: Setup | None) -> dict[str, str]:
    """Return the findings that are not ok."""
    checks = list(compare(HERE, found, configured=configured))
    assert all(check.hint for check in checks)
    return {check.name: check.detail for check in checks if not check.ok}


def test_processes_that_agree_are_well() -> None:
    assert wrong(coordinator=HERE, worker=HERE, agent=AGENT) == {}


@pytest.mark.parametrize(
    ("worker", "name", "detail"),
    [
        (
            replace(HERE, installation="theirs"),
            "process databases",
            "worker has the database of another installation, theirs",
        ),
        (replace(HERE, version="2"), "process versions", "worker has 2, this command 1"),
        (None, "process versions", "worker is of another version"),
        (
            replace(HERE, settings={**HERE.settings, "lease_seconds": "other"}),
            "process settings",
            "worker and coordinator have different values of lease_seconds",
        ),
        (
            replace(HERE, plugins={}),
            "process plugins",
            "worker lacks the plugin resources A, which this command has",
        ),
        (
            replace(HERE, plugins={"resources A": "2"}),
            "process plugins",
            "worker and this command differ in the plugin resources A",
        ),
        (
            replace(HERE, clients={}),
            "process clients",
            "worker lacks the settings of the client http, which this command has",
        ),
        (
            replace(HERE, clients={"http": "same", "nova": "x"}),
            "process clients",
            "coordinator lacks the settings of the client nova, which worker has",
        ),
    ],
)
def test_what_one_process_has_otherwise_is_named(worker: Setup | None, name: str, detail: str) -> None:
    assert wrong(coordinator=HERE, worker=worker) == {name: detail}


def test_a_client_that_is_configured_for_processes_alone_is_not_missed_here() -> None:
    setup = replace(HERE, clients={**HERE.clients, "nova": "x"})
    assert wrong(coordinator=setup, worker=setup) == {}


def test_what_is_set_here_is_compared_and_what_is_not_set_here_is_not() -> None:
    setup = replace(HERE, settings={**HERE.settings, "encryption_keys": "other"})
    assert wrong(worker=setup) == {}
    named = {"process settings": "worker and this command have different values of encryption_keys"}
    assert wrong(frozenset({"encryption_keys"}), worker=setup) == named
    # Of an agent, what it uses.
    agent = replace(AGENT, settings={**setup.settings, "node_state_cache": "other"})
    assert wrong(frozenset({"encryption_keys"}), agent=agent) == {}
    assert set(wrong(frozenset({"node_state_cache"}), agent=agent)) == {"process settings"}


def test_a_setup_shows_that_values_differ_and_no_value() -> None:
    one, other = (
        Setup.of(Settings(encryption_keys=(Secret(key),), clients={"http": {"token": key}}), "i")
        for key in ("a secret key", "another secret key")
    )
    assert "secret" not in f"{one}{other}"
    assert {name for name in MUST_AGREE if one.settings[name] != other.settings[name]} == {"encryption_keys"}
    assert one.clients != other.clients
    assert "resources OS::Heat::None" in one.plugins


def test_real_processes_are_compared(tmp_path: Path, redis_url: str) -> None:
    database = f"sqlite:///{tmp_path}/isotherm.db"
    migrate(database)
    session = Session(tmp_path)
    session.environment |= {"ISOTHERM_BROKER_URL": redis_url, "ISOTHERM_DATABASE_URL": database}
    coordinator = session.start_quickly("isotherm coordinator")
    session.environment["ISOTHERM_LEASE_SECONDS"] = "7"
    worker = session.start_quickly("isotherm worker --pool threads")
    settings = Settings(broker_url=redis_url, database_url=database, clients={"http": {"base_url": "x"}})
    with running([coordinator, worker]):
        found = {check.name: check for check in check_agreement(settings, has_database=True)}
    assert {name for name, check in found.items() if not check.ok} == {"process settings", "process clients"}
    assert "have different values of lease_seconds" in found["process settings"].detail
    assert found["process clients"].detail.count("lacks the settings of the client http") == 2
    assert found["process databases"] == Check(
        name="process databases",
        ok=True,
        detail="2 processes agree",
        hint=found["process databases"].hint,
    )


def test_a_backend_agrees_with_the_same_one_that_is_not_named() -> None:
    broker = "redis://broker:6379/0"
    named, unnamed, other = (
        Setup.of(Settings(broker_url=broker, cache_backend=backend), "").settings["cache_backend"]
        for backend in ("redis", "", "memory")
    )
    assert named == unnamed != other
