"""The schema's revisions: what is asked without Alembic is what Alembic says."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from orchestrator.errors import Unavailable
from orchestrator.store import migrations, tables
from orchestrator.store.database import Database
from orchestrator.store.retrying import retrying
from orchestrator.store.tables import metadata
from tests.waiting import PATIENCE_SECONDS, until


def test_the_head_is_alembics_and_the_only_one() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [migrations.head()]


def test_an_upgrade_makes_every_table_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'isotherm.db'}"
    assert migrations.current(url) is None
    assert migrations.upgrade(url) == (None, migrations.head())
    assert migrations.current(url) == migrations.head()
    assert migrations.upgrade(url) == (migrations.head(), migrations.head())
    engine = sa.create_engine(url)
    tables = sa.inspect(engine).get_table_names()
    engine.dispose()
    assert set(tables) == {*metadata.tables, "alembic_version"}


def test_postgresql_is_upgraded_the_same_way(postgres_url: str) -> None:
    assert migrations.current(postgres_url) is None
    assert migrations.upgrade(postgres_url) == (None, migrations.head())
    assert migrations.current(postgres_url) == migrations.head()


def differences(url: str) -> list[object]:
    """Return what Alembic would still change to make the tables what the code says."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.connect() as connection:
            return list(compare_metadata(MigrationContext.configure(connection), metadata))
    finally:
        engine.dispose()


# Alembic cannot compare an index of an expression.
@pytest.mark.filterwarnings("ignore:autogenerate skipping:UserWarning")
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection:sqlalchemy.exc.SAWarning")
def test_the_migrations_make_the_tables_that_the_code_describes(tmp_path: Path, postgres_url: str) -> None:
    for url in (f"sqlite:///{tmp_path / 'isotherm.db'}", postgres_url):
        migrations.upgrade(url)
        assert differences(url) == []


def content(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Return all that is in a SQLite database: its schema, and the rows of each table."""
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            schema = "sqlite_master", "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid"
            names = connection.exec_driver_sql(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).scalars()
            queries = [schema, *((name, f'SELECT * FROM "{name}"') for name in names)]
            return {
                name: [tuple(row) for row in connection.exec_driver_sql(query)] for name, query in queries
            }
    finally:
        engine.dispose()


def test_a_new_file_gets_what_all_migrations_would_have_made(tmp_path: Path, versions: Path) -> None:
    """After a new revision, run with WRITE_NEWEST_SCHEMA=1, and read the difference."""
    head = migrations.head()
    at_once, one_by_one = (f"sqlite:///{tmp_path / name}.db" for name in ("at_once", "one_by_one"))
    (versions / f"{head}.sql").unlink(missing_ok=True)
    migrations.upgrade(one_by_one)
    made = content(one_by_one)
    comment = "-- The newest schema in SQLite; made of the revisions, and compared with them, by test_migrations.py."
    statements = [str(row[3]) for row in made["sqlite_master"] if row[3] and row[1] != "sqlite_sequence"]
    script = [comment, *statements, f"INSERT INTO alembic_version VALUES ('{head}')"]
    original = Path(migrations.__file__).parent / "versions" / f"{head}.sql"
    if os.environ.get("WRITE_NEWEST_SCHEMA"):
        original.write_text("\n\n".join(re.sub(r"\n\s*\n", "\n", each) for each in script) + "\n")
    shutil.copy(original, versions)
    assert migrations.upgrade(at_once) == (None, head)
    assert content(at_once) == made
    assert [file.name for file in original.parent.glob("*.sql")] == [original.name]


def test_a_new_file_is_made_without_what_is_slow_to_import(tmp_path: Path) -> None:
    code = (
        f"import sys; from orchestrator.store import migrations; migrations.upgrade('sqlite:///{tmp_path}/new.db'); "
        "sys.exit(' '.join(sorted({'alembic', 'sqlalchemy'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_whoever_forgot_to_upgrade_is_told_so(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    postgres = kind == "postgresql"
    url = request.getfixturevalue("postgres_url") if postgres else f"sqlite:///{tmp_path / 'empty.db'}"
    database = Database(url)
    try:
        with pytest.raises(Unavailable, match=r"run: isotherm db upgrade$"):
            retrying(lambda: _count_of_stacks(database))()
    finally:
        database.dispose()


def test_a_process_is_refused_a_database_of_another_version(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'isotherm.db'}"
    with pytest.raises(Unavailable, match=r"no schema yet, .* needs \d+; run: isotherm db upgrade$"):
        migrations.require(url)
    migrations.upgrade(url)
    migrations.require(url)
    engine = sa.create_engine(url)
    for present, told in (
        ("0006", r"0006, and .* run: isotherm db upgrade$"),
        ("9999", r"run the version that made"),
    ):
        with engine.begin() as connection:
            connection.execute(
                sa.text("UPDATE alembic_version SET version_num = :present"), {"present": present}
            )
        with pytest.raises(Unavailable, match=told):
            migrations.require(url)
    engine.dispose()
    # To upgrade what is newer already would end in a traceback of Alembic's.
    with pytest.raises(Unavailable, match="run the version that made it"):
        migrations.upgrade(url)


def test_a_database_that_does_not_answer_may_be_of_this_version(tmp_path: Path) -> None:
    migrations.require(f"sqlite:///{tmp_path / 'nowhere' / 'isotherm.db'}")


def _count_of_stacks(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(tables.stack)).scalar_one()


#: A revision that tables were changed after.
OLDER = "0007"
FAILING = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{head}"


def upgrade() -> None:
    op.create_table("half", sa.Column("id", sa.Text(), nullable=False))
    op.add_column("stack", sa.Column("half", sa.Text()))
    op.execute("SELECT 1 FROM nowhere")
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'isotherm.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the revisions, which the code takes for its own."""
    copy = tmp_path / "migrations"
    shutil.copytree(Path(migrations.__file__).parent, copy)
    monkeypatch.setattr(migrations, "_VERSIONS", copy / "versions")
    return copy / "versions"


@pytest.mark.parametrize("begun", [True, False])
def test_an_upgrade_that_fails_half_way_changes_nothing(
    begun: bool,  # a parameter
    url: str,
    versions: Path,
) -> None:
    present = migrations.head()
    if begun:
        migrations.upgrade(url)
    before = schema(url)
    (versions / "9999_failing.py").write_text(FAILING.format(head=present))
    with pytest.raises(Unavailable, match=r"cannot be migrated to 9999: .*nowhere.*; nothing was changed"):
        migrations.upgrade(url)
    assert schema(url) == before
    assert migrations.current(url) == (present if begun else None)
    (versions / "9999_failing.py").unlink()
    assert migrations.upgrade(url)[1] == present


def test_upgrades_at_the_same_time_are_made_one_after_the_other(postgres_url: str) -> None:
    holder = Database(postgres_url)
    try:
        with ThreadPoolExecutor(3) as pool:
            with holder.write() as connection:
                connection.execute(
                    sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": migrations._MIGRATION_LOCK}
                )
                begun = [pool.submit(migrations.upgrade, postgres_url) for _ in range(3)]
                until(
                    lambda: count_of(connection, "pg_locks WHERE locktype = 'advisory' AND NOT granted") == 3
                )
                assert schema(postgres_url) == {}
            done = [each.result(PATIENCE_SECONDS) for each in begun]
    finally:
        holder.dispose()
    assert sorted(before or "" for before, _ in done) == ["", migrations.head(), migrations.head()]


@pytest.mark.filterwarnings("ignore:autogenerate skipping:UserWarning")
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection:sqlalchemy.exc.SAWarning")
def test_an_upgrade_that_is_killed_half_way_changes_nothing(postgres_url: str, versions: Path) -> None:
    later = [file for file in versions.glob("[0-9]*_*.py") if file.name[:4] > OLDER]
    for file in later:
        file.rename(file.with_suffix(".later"))
    assert migrations.upgrade(postgres_url) == (None, OLDER)
    for file in later:
        file.with_suffix(".later").rename(file)
    before = schema(postgres_url)
    holder = Database(postgres_url)
    environment = {**os.environ, "ISOTHERM_DATABASE_URL": postgres_url, "ISOTHERM_CONFIG": os.devnull}
    upgrade = [sys.executable, "-m", "orchestrator.cli.main", "db", "upgrade"]
    others = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    try:
        with holder.write() as connection:
            # The first of the later revisions changes another table.
            connection.execute(sa.text("LOCK TABLE cache_counter IN ACCESS SHARE MODE"))
            with subprocess.Popen(upgrade, env=environment) as begun:
                until(lambda: count_of(connection, "pg_locks WHERE locktype = 'relation' AND NOT granted"))
                begun.kill()
        until(lambda: count_anew(holder, f"{others} AND xact_start IS NOT NULL") == 0)
    finally:
        holder.dispose()
    assert schema(postgres_url) == before
    assert migrations.upgrade(postgres_url) == (OLDER, migrations.head())
    assert differences(postgres_url) == []


def count_of(connection: sa.Connection, rows: str) -> int:
    found: int = connection.execute(sa.text(f"SELECT count(*) FROM {rows}")).scalar_one()
    return found


def count_anew(database: Database, rows: str) -> int:
    """Return the same in a transaction of its own: within one, the activity of others stays that of the first look."""
    with database.read() as connection:
        return count_of(connection, rows)


def schema(url: str) -> dict[str, list[str]]:
    """Return the columns of all tables."""
    database = Database(url)
    try:
        with database.read() as connection:
            found = sa.inspect(connection)
            return {
                name: sorted(column["name"] for column in found.get_columns(name))
                for name in found.get_table_names()
            }
    finally:
        database.dispose()
