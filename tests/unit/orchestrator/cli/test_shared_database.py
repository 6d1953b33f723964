"""No command but ``isotherm db upgrade`` changes the schema of a database server; each names what it found."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm
from orchestrator.store import migrations
from orchestrator.store.database import Database

COMMANDS = [
    "stack list",
    "stack show web",
    "stack event list web",
    "stack output list web",
    "stack resource list web",
    "stack snapshot list web",
    "stack hook list web",
    "stack history web",
    "stack timeline web",
    "stack failure web",
    "stack export web",
    "stack graph web",
    "stack check web",
    "stack delete web --yes",
    "node list",
    "cache stats",
    "cache flush",
    "event-sink list",
    "db purge --yes",
]


@pytest.fixture(params=["embedded", "distributed"])
def server(
    request: pytest.FixtureRequest, postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Database]:
    """A database server without a schema, which the settings name."""
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("ISOTHERM_DATABASE_URL", postgres_url)
    if request.param == "distributed":
        monkeypatch.setenv("ISOTHERM_BROKER_URL", str(request.getfixturevalue("redis_url")))
    database = Database(postgres_url)
    yield database
    database.dispose()


def run(command: str) -> Result:
    return CliRunner().invoke(isotherm, command.split())


def tables_of(database: Database) -> list[str]:
    with database.read() as connection:
        return sorted(sa.inspect(connection).get_table_names())


def set_revision(database: Database, revision: str) -> None:
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :now"), {"now": revision})


def revision(database: Database) -> str | None:
    with database.read() as connection:
        return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_makes_or_changes_the_schema(command: str, server: Database) -> None:
    result = run(command)
    assert result.exit_code == 3, result.output
    assert "has no schema yet" in result.stderr
    assert migrations.head() in result.stderr
    assert "run: isotherm db upgrade" in result.stderr
    assert tables_of(server) == []


def test_an_older_and_a_newer_schema_are_named_and_left(server: Database) -> None:
    assert run("db upgrade").exit_code == 0
    assert run("stack list").exit_code == 0
    before = tables_of(server)
    for found, remedy in (("0004", "run: isotherm db upgrade"), ("9999", "run the version that made it")):
        set_revision(server, found)
        for command in COMMANDS:
            result = run(command)
            assert result.exit_code == 3, result.output
            assert f"has the schema {found}" in result.stderr
            assert migrations.head() in result.stderr
            assert remedy in result.stderr
        assert revision(server) == found
        assert tables_of(server) == before


def test_an_upgrade_that_the_server_refuses_says_why(server: Database) -> None:
    assert run("db upgrade").exit_code == 0
    set_revision(server, "0004")
    result = run("db upgrade")
    assert result.exit_code == 3
    assert "the schema 0004 cannot be migrated" in result.stderr
    assert "nothing was changed" in result.stderr
    assert "does not answer" not in result.stderr
    assert revision(server) == "0004"
