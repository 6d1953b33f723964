"""Textual statements and SQLAlchemy's in one transaction, on every kind of database."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, NoResultFound

from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.direct import Direct
from orchestrator.store.retrying import is_duplicate, is_transient
from tests.services.servers import PostgresServer
from tests.unit.orchestrator.store.conftest import Bench
from tests.waiting import PATIENCE_SECONDS


class Mistake(Exception):
    """What ends a transaction."""


def chores(bench: Bench) -> set[str]:
    return {row.name for row in bench.store.database.rows("SELECT name FROM chore")}


def write_both(direct: Direct) -> None:
    direct.insert("chore", [{"name": "textual", "begun_at": 1.0}])
    seen = direct.alchemy.execute(sa.select(tables.chore.c.name)).scalars().all()
    assert seen == ["textual"]
    direct.alchemy.execute(tables.chore.insert(), {"name": "alchemy", "begun_at": 2.0})
    assert {row.name for row in direct.rows("SELECT name FROM chore", {})} == {"textual", "alchemy"}


def write_and_fail(direct: Direct) -> None:
    write_both(direct)
    raise Mistake


def test_what_both_have_written_is_committed_together(bench: Bench) -> None:
    with bench.store.database.transaction() as direct:
        write_both(direct)
    assert chores(bench) == {"textual", "alchemy"}


def test_what_both_have_written_is_rolled_back_together(bench: Bench) -> None:
    with pytest.raises(Mistake), bench.store.database.transaction() as direct:
        write_and_fail(direct)
    assert chores(bench) == set()


def test_a_transaction_of_sqlalchemy_takes_textual_statements(bench: Bench) -> None:
    database = bench.store.database
    with pytest.raises(Mistake), database.write() as connection:
        write_and_fail(Direct.of(connection))
    assert chores(bench) == set()
    with database.write() as connection:
        write_both(Direct.of(connection))
    assert chores(bench) == {"textual", "alchemy"}


@pytest.mark.parametrize("twice", ["textual", "alchemy"])
def test_a_row_that_is_there_already_ends_the_transaction_alone(bench: Bench, twice: str) -> None:
    database = bench.store.database
    with database.transaction() as direct:
        write_both(direct)

    def write_again(direct: Direct) -> None:
        row = {"name": twice, "begun_at": 3.0}
        direct.count("UPDATE chore SET begun_at = 4.0", {})
        if twice == "textual":
            direct.insert("chore", [row])
        else:
            direct.alchemy.execute(tables.chore.insert(), row)

    with pytest.raises(IntegrityError) as caught, database.transaction() as direct:
        write_again(direct)
    assert is_duplicate(caught.value)
    assert not is_transient(caught.value)
    assert {row.begun_at for row in database.rows("SELECT begun_at FROM chore")} == {1.0, 2.0}
    with database.transaction() as direct:
        assert direct.alchemy.execute(tables.chore.delete()).rowcount == 2


def test_many_rows_are_inserted_at_once_and_none_not_at_all(bench: Bench) -> None:
    with bench.store.database.transaction() as direct:
        direct.insert("chore", [])
        direct.insert("chore", [{"name": f"c{number}", "begun_at": float(number)} for number in range(3)])
        assert direct.update("chore", {"begun_at": 9.0}, "name = :mine", {"mine": "c1"}) == 1
    rows = bench.store.database.rows("SELECT name, begun_at FROM chore ORDER BY name")
    assert [(row.name, row.begun_at) for row in rows] == [("c0", 0.0), ("c1", 9.0), ("c2", 2.0)]


def test_one_row_is_required_and_the_first_is_not(bench: Bench) -> None:
    database = bench.store.database
    assert database.first("SELECT name FROM chore") is None
    with pytest.raises(NoResultFound):
        database.one("SELECT name FROM chore")


def test_a_statement_that_is_a_transaction_by_itself_has_none_for_sqlalchemy(postgres_url: str) -> None:
    database = Database(postgres_url)
    with database.direct() as direct, pytest.raises(RuntimeError, match="by itself"):
        assert direct.alchemy
    database.dispose()


@pytest.mark.parametrize("kind", [Database.transaction, Database.moment, Database.reading])
def test_a_connection_that_broke_in_a_transaction_is_replaced(
    kind: Callable[[Database], AbstractContextManager[Direct]],
    postgres_server: PostgresServer,
    postgres_url: str,
) -> None:
    database = Database(postgres_url, connections=1)

    def read_on(direct: Direct) -> None:
        direct.rows("SELECT 1 AS one", {})
        postgres_server.restart()
        direct.rows("SELECT 1 AS one", {})

    with pytest.raises(DBAPIError) as caught, kind(database) as direct:
        read_on(direct)
    assert is_transient(caught.value)
    with kind(database) as direct:
        assert direct.one("SELECT 2 AS two", {}).two == 2
    database.dispose()


@pytest.mark.parametrize("parameters", ["", "?timeout=5", "?uri=true"])
def test_a_file_is_the_same_for_both_kinds_of_statements(tmp_path: Path, parameters: str) -> None:
    where = f"file:{tmp_path}/one.db" if "uri" in parameters else f"{tmp_path}/one.db"
    database = Database(f"sqlite:///{where}{parameters}")
    with database.write() as connection:
        connection.execute(sa.text("CREATE TABLE chore (name TEXT PRIMARY KEY)"))
    with database.transaction() as direct:
        direct.insert("chore", [{"name": "a"}])
    with database.read() as connection:
        assert connection.execute(sa.text("SELECT name FROM chore")).scalars().all() == ["a"]
    assert (tmp_path / "one.db").stat().st_mode & 0o077 == 0
    database.dispose()
    assert [row.name for row in database.rows("SELECT name FROM chore")] == ["a"]
    database.dispose()


def test_a_database_in_memory_is_the_same_for_both_kinds_of_statements() -> None:
    database = Database("sqlite://")
    with database.write() as connection:
        connection.execute(sa.text("CREATE TABLE chore (name TEXT PRIMARY KEY)"))
    with database.transaction() as direct:
        direct.insert("chore", [{"name": "a"}])
        assert direct.alchemy.execute(sa.text("SELECT name FROM chore")).scalars().all() == ["a"]
    with database.moment() as direct:
        assert direct.one("SELECT name FROM chore", {}).name == "a"
    database.dispose()


@pytest.mark.parametrize("kind", [Database.transaction, Database.moment, Database.reading])
@pytest.mark.parametrize("where", ["file", "memory"])
def test_a_connection_that_another_thread_uses_is_closed_when_that_is_done(
    kind: Callable[[Database], AbstractContextManager[Direct]], where: str, tmp_path: Path
) -> None:
    """SQLite's driver ends the process where a connection is closed that a statement runs on."""
    database = Database("sqlite://" if where == "memory" else f"sqlite:///{tmp_path / 'one.db'}")
    entered, closed = threading.Event(), threading.Event()
    used: list[object] = []

    def use() -> int:
        with kind(database) as direct:
            used.append(direct._driver)
            entered.set()
            assert closed.wait(PATIENCE_SECONDS)
            return int(direct.one("SELECT 1 AS one", {}).one)

    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(use)
        assert entered.wait(PATIENCE_SECONDS)
        database.dispose()
        closed.set()
        assert answer.result() == 1
    assert database.one("SELECT 2 AS two").two == 2
    (driver,) = used
    assert isinstance(driver, sqlite3.Connection)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        driver.execute("SELECT 1")
    database.dispose()
