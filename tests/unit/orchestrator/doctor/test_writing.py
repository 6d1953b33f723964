"""The doctor is not well where a create fails: nothing can be written."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.config.settings import Settings
from orchestrator.doctor.report import checks
from orchestrator.doctor.writing import check_writes, why_not_writable
from orchestrator.service import Service
from orchestrator.store import migrations

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}"


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)


def wrong(settings: Settings) -> dict[str, str]:
    """Return the findings that are not ok."""
    return {check.name: check.detail for check in checks(settings) if not check.ok}


def isotherm(directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command on a disk that takes nothing."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ISOTHERM_")}
    return subprocess.run(
        [sys.executable, "-m", "isotherm", *words],
        cwd=directory,
        env={**environment, "ISOTHERM_STATE_DIRECTORY": str(directory / "state")},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )


def test_a_directory_that_takes_nothing_is_wrong_as_a_create_in_it_fails(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    (tmp_path / "state").mkdir()
    asked = isotherm(tmp_path, "doctor", "-f", "json")
    assert asked.returncode == 2
    (found,) = (check for check in json.loads(asked.stdout) if not check["ok"])
    assert found["name"] == "state directory"
    assert found["detail"].startswith(f"nothing can be written in {tmp_path / 'state'}: ")
    assert found["hint"].startswith("make room")
    assert list((tmp_path / "state").iterdir()) == []
    assert isotherm(tmp_path, "stack", "create", "s", "-t", "t.yaml").returncode != 0


def test_a_database_in_a_directory_that_is_not_there_is_wrong(tmp_path: Path) -> None:
    settings = Settings(
        state_directory=tmp_path / "state", database_url=f"sqlite:///{tmp_path}/nonexistent/x.db"
    )
    found = wrong(settings)
    assert found == {"database": f"there is no directory {tmp_path}/nonexistent for the database's file"}
    assert not (tmp_path / "nonexistent").exists()


@pytest.mark.parametrize("place", ["", "state/"], ids=["elsewhere", "in the state directory"])
def test_a_database_whose_file_the_first_command_can_make_is_well(tmp_path: Path, place: str) -> None:
    settings = Settings(state_directory=tmp_path / "state", database_url=f"sqlite:///{tmp_path}/{place}x.db")
    assert wrong(settings) == {}
    with Service.open(settings):
        assert wrong(settings) == {}


def test_a_path_below_a_file_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert why_not_writable(tmp_path / "file" / "below")
    assert not why_not_writable(tmp_path / "new" / "below")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_file_that_takes_no_changes_is_wrong(tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path)
    with Service.open(settings):
        assert check_writes(settings).ok
    only_read = f"sqlite:///file:{tmp_path}/isotherm.db?mode=ro&uri=true"
    refused = check_writes(settings.with_values(database_url=only_read))
    assert not refused.ok
    assert "readonly" in refused.detail


def test_a_server_that_takes_no_changes_is_wrong(tmp_path: Path, postgres_url: str) -> None:
    migrations.upgrade(postgres_url)
    settings = Settings(state_directory=tmp_path, database_url=postgres_url)
    assert "database writes" not in wrong(settings)
    engine = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        name = sa.make_url(postgres_url).database
        connection.exec_driver_sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    engine.dispose()
    assert "read-only transaction" in wrong(settings)["database writes"]
