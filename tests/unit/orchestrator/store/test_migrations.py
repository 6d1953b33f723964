"""The schema's revisions: what is asked without Alembic is what Alembic says."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from orchestrator.errors import Unavailable
from orchestrator.store import migrations, tables
from orchestrator.store.database import Database, retrying
from orchestrator.store.tables import metadata


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
