"""The driver's errors, told apart as the rest of the store tells them apart."""

import pytest
from sqlalchemy.exc import DataError, DBAPIError, OperationalError

from orchestrator.store.database import Database, is_transient
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


def test_a_value_that_the_database_refuses_is_no_outage(postgres_url: str) -> None:
    database = Database(postgres_url)
    with pytest.raises(DataError) as caught:
        select(database, "no \0 in PostgreSQL")
    assert not is_transient(caught.value)
    database.dispose()
