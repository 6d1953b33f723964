"""The doctor names what is wrong, and nothing that is not."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.fernet import Fernet

from orchestrator.cli.main import isotherm
from orchestrator.cli.shell import Shell
from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings
from orchestrator.doctor.broker import check_broker
from orchestrator.doctor.check import Check
from orchestrator.doctor.report import check_cache, check_settings, checks

#: A port that nothing listens on.
NOWHERE = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Embedded mode, never used before."""
    return Settings(state_directory=tmp_path / "new" / "state")


def wrong(settings: Settings) -> dict[str, Check]:
    """Return the checks that are not ok, by name."""
    return {check.name: check for check in checks(settings) if not check.ok}


def test_a_fresh_installation_is_well_and_stays_untouched(settings: Settings) -> None:
    found = list(checks(settings))
    assert [check for check in found if not check.ok] == []
    assert {"state directory", "database", "cache", "broker", "resource types", "encryption keys"} <= {
        check.name for check in found
    }
    assert not settings.state_directory.exists()


def test_what_is_wrong_says_what_to_do(settings: Settings) -> None:
    sick = settings.with_values(
        broker_url=f"redis://:secret@{NOWHERE}/0",
        database_url=f"postgresql://user:secret@{NOWHERE}/isotherm",
        encryption_keys=(Secret(Fernet.generate_key().decode()), Secret("not a key")),
        cache_backend="redis",
        cache_url=f"redis://:secret@{NOWHERE}/0",
    )
    found = wrong(sick)
    assert set(found) == {"broker", "database", "encryption keys", "cache"}
    assert all(check.hint for check in found.values())
    assert {name for name, check in found.items() if check.is_service} == {"broker", "database", "cache"}
    assert "number 2 of 2" in found["encryption keys"].detail
    assert "secret" not in str(found)
    assert "not a key" not in str(found)


@pytest.mark.parametrize("url", ["carrier-pigeon://loft", "mysql://host/db"])
def test_a_wrong_url_is_a_setting_not_a_service(url: str, settings: Settings) -> None:
    found = wrong(settings.with_values(broker_url=url, database_url=url))
    assert not found["database"].is_service
    assert "ISOTHERM_DATABASE_URL" in found["database"].hint


@pytest.mark.parametrize(
    "url", ["redis://:secret/1@host:6379/0", "amqp://user:secret@host:port//", "user:secret@host"]
)
def test_no_part_of_a_password_is_shown_with_a_wrong_url(url: str, settings: Settings) -> None:
    update = {"broker_url": url, "database_url": url, "cache_backend": "redis", "cache_url": url}
    found = wrong(settings.with_values(**update))
    assert {"broker", "database", "cache"} <= set(found)
    assert "secret" not in str(found)


def test_an_unknown_transport_is_a_setting(settings: Settings) -> None:
    check = check_broker(settings.with_values(broker_url="carrier-pigeon://loft"))
    assert not check.ok
    assert not check.is_service


def test_a_file_in_the_way_of_the_state_directory_is_found(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    assert "state directory" in wrong(Settings(state_directory=tmp_path / "state" / "below"))


def test_an_old_schema_says_how_to_upgrade(settings: Settings) -> None:
    settings.state_directory.mkdir(parents=True)
    (settings.state_directory / "isotherm.db").write_bytes(b"")
    schema = wrong(settings)["schema"]
    assert "db upgrade" in schema.hint
    assert not schema.is_service


def test_a_broker_without_processes_is_told_apart_from_no_broker(settings: Settings, redis_url: str) -> None:
    found = wrong(settings.with_values(broker_url=redis_url))
    assert {"workers", "coordinators"} <= set(found)
    assert "broker" not in found
    assert "isotherm worker" in found["workers"].hint


@pytest.mark.parametrize(
    ("update", "code"),
    [
        ({}, 0),
        ({"encryption_keys": (Secret("not a key"),)}, 2),
        ({"broker_url": f"redis://{NOWHERE}/0"}, 3),
        ({"broker_url": f"redis://{NOWHERE}/0", "encryption_keys": (Secret("not a key"),)}, 3),
    ],
)
def test_the_exit_code_tells_settings_from_services(
    update: dict[str, object], code: int, settings: Settings
) -> None:
    shell = Shell(load=lambda: settings.with_values(**update))
    result = CliRunner().invoke(isotherm, ["doctor", "-f", "json"], obj=shell)
    assert result.exit_code == code, result.output
    assert all({"name", "ok", "detail", "hint"} <= set(check) for check in json.loads(result.stdout))


def test_a_variable_with_a_slip_in_its_name_is_told_without_its_value() -> None:
    found = check_settings({"ISOTHERM_CACHE_BACKNED": "SECRET", "ISOTHERM_PROJECT": "shop"})
    assert not found.ok
    assert found.detail == "no setting is called ISOTHERM_CACHE_BACKNED"
    assert found.hint == "did you mean ISOTHERM_CACHE_BACKEND?"
    assert check_settings({"ISOTHERM_PROJECT": "shop"}).ok


def test_the_address_of_a_cache_that_is_not_used_is_told_without_it(settings: Settings) -> None:
    wrong = {"cache_backend": "memory", "cache_url": "redis://:SECRET@cache/0"}
    told = check_cache(settings.with_values(**wrong))
    assert not told.ok
    assert not told.is_service
    assert told.detail == "memory: cache_url is not used"
    assert "SECRET" not in str(told)
