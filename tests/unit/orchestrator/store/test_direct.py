"""The driver's errors, told apart as the rest of the store tells them apart."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DataError, DBAPIError, OperationalError

from orchestrator.store.database import Database
from orchestrator.store.direct import CURSORS, Direct, lent_by
from orchestrator.store.retrying import is_transient
from tests.services.process import HOST, free_port
from tests.services.servers import PostgresServer


def select(database: Database, text: str) -> object:
    with database.direct() as direct:
        return direct.rows("SELECT CAST(:text AS text) AS text", {"text": text})[0].text


def test_a_database_that_takes_no_connection_may_take_one_later() -> None:
    database = Database(f"postgresql://isotherm@{HOST}:{free_port()}/isotherm")
    with pytest.raises(OperationalError, match="connection failed") as caught:
        select(database, "x")
    assert is_transient(caught.value)


def test_a_connection_that_broke_is_replaced(postgres_server: PostgresServer, postgres_url: str) -> None:
    database = Database(postgres_url)
    assert select(database, "before") == "before"
    postgres_server.restart()
    with pytest.raises(DBAPIError) as caught:
        select(database, "meanwhile")
    assert is_transient(caught.value)
    assert select(database, "after") == "after"
    database.dispose()


def test_the_cursors_of_a_connection_that_broke_are_not_used_again(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    database = Database(postgres_url, connections=1)
    statements = [f"SELECT {number} + CAST(:more AS integer) AS sum" for number in range(3)]

    def sums() -> list[int]:
        with database.direct() as direct:
            return [rows[0].sum for rows in direct.together([(each, {"more": 1}) for each in statements])]

    assert sums() == sums() == [1, 2, 3]
    postgres_server.restart()
    with pytest.raises(DBAPIError):
        select(database, "meanwhile")
    assert sums() == [1, 2, 3]
    database.dispose()


def test_a_statement_that_runs_twice_at_once_has_two_cursors(postgres_url: str) -> None:
    database = Database(postgres_url, connections=1)
    sql = "SELECT CAST(:text AS text) AS text"
    for _ in range(2):
        with database.direct() as direct:
            found = direct.together([(sql, {"text": "one"}), (sql, {"text": "two"})])
        assert [rows[0].text for rows in found] == ["one", "two"]
    database.dispose()


def test_a_connection_keeps_few_cursors(postgres_url: str) -> None:
    database = Database(postgres_url, connections=1)
    with lent_by(database.engine) as lent:
        info = lent.info
    for number in range(100):
        with database.direct() as direct:
            assert direct.rows(f"SELECT {number} AS number", {})[0].number == number
    assert 0 < len(info[CURSORS]) <= 64
    database.dispose()


def test_a_value_that_the_database_refuses_is_no_outage(postgres_url: str) -> None:
    database = Database(postgres_url)
    with pytest.raises(DataError) as caught:
        select(database, "no \0 in PostgreSQL")
    assert not is_transient(caught.value)
    database.dispose()


@pytest.mark.parametrize("kind", ["write", "read", "snapshot"])
def test_a_textual_statement_in_a_transaction_of_sqlalchemy_fails_as_sqlalchemys_do(
    kind: str, postgres_url: str, tmp_path: Path
) -> None:
    for url in (postgres_url, f"sqlite:///{tmp_path / 'one.db'}"):
        database = Database(url)
        with pytest.raises(DBAPIError, match="nowhere"), getattr(database, kind)() as connection:
            Direct.of(connection).rows("SELECT * FROM nowhere", {})
        database.dispose()


def test_the_pages_that_direct_transactions_have_read_stay_read(tmp_path: Path) -> None:
    """SQLite's version of the data changes, and the pages are forgotten, when another connection has written."""
    database = Database(f"sqlite:///{tmp_path / 'one.db'}")
    with database.write() as connection:
        connection.execute(sa.text("CREATE TABLE t (a INTEGER)"))
    versions = set()

    def work(number: int) -> None:
        with database.direct() as direct:
            versions.add(direct.rows("PRAGMA data_version", {})[0].data_version)
            direct.count("INSERT INTO t VALUES (:a)", {"a": number})
        with database.read() as connection:
            connection.execute(sa.text("SELECT count(*) FROM t")).scalar_one()

    with ThreadPoolExecutor(4) as threads, database.read():
        assert len([*threads.map(work, range(100))]) == 100
    assert len(versions) == 1
    database.dispose()
