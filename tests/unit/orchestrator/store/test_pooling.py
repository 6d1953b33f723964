"""One pool of connections a process, which may lead through PgBouncer."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from orchestrator.config.settings import Settings
from orchestrator.doctor.report import checks
from orchestrator.errors import InvalidInput, Unavailable
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import database as databases
from orchestrator.store import migrations
from orchestrator.store.database import SESSION, Database
from orchestrator.store.direct import Direct
from orchestrator.store.probing import ping
from orchestrator.store.retrying import tried_once
from orchestrator.store.store import Store
from orchestrator.views.stacks import StackView
from tests.drivers import driver_of
from tests.services.pgbouncer import PgBouncerServer
from tests.services.servers import PostgresServer

CHILD = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::TestResource, properties: {value: x}}}\n"
TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {{said: {{type: string, default: {said}}}}}
resources:
  one: {{type: OS::Heat::TestResource, properties: {{value: {{get_param: said}}}}}}
  two: {{type: OS::Heat::TestResource, properties: {{value: {{get_attr: [one, output]}}}}}}
  nested: {{type: child.yaml}}
"""


def life(settings: Settings) -> list[str]:
    """Create, update, snapshot and delete a stack with a nested one; return the states it was in."""
    with Service.open(settings) as service:

        def job(said: str) -> StackJob:
            return StackJob(name="s", template=TEMPLATE.format(said=said), files={"child.yaml": CHILD})

        acts: Sequence[Callable[[], StackView | None]] = (
            lambda: service.create(job("a")),
            lambda: service.update(job("b")),
            lambda: service.take_snapshot("s"),
            lambda: service.delete("s"),
        )
        begun = (act() for act in acts)
        return [[*service.watch(stack.id)][-1].stack.state for stack in begun if stack]


def test_threads_that_share_one_connection_carry_a_stack_from_its_creation_to_its_deletion(
    tmp_path: Path, pgbouncer_url: str
) -> None:
    """A thread that held one and wanted another would wait for itself."""
    migrations.upgrade(pgbouncer_url)
    settings = Settings(state_directory=tmp_path, database_url=pgbouncer_url, database_connections=1)
    assert life(settings) == ["CREATE_COMPLETE", "UPDATE_COMPLETE", "SNAPSHOT_COMPLETE", "DELETE_COMPLETE"]


def test_a_process_has_as_many_connections_as_its_settings_say(
    tmp_path: Path, postgres_url: str, postgres_server: PostgresServer
) -> None:
    store = Store.of(Settings(state_directory=tmp_path, database_url=postgres_url, database_connections=3))
    database, name = store.database, sa.make_url(postgres_url).database

    def use(_: int) -> None:
        for begin in (database.write, database.read, database.snapshot):
            with begin() as connection:
                connection.execute(sa.text("SELECT 1"))
        for statements in (1, 2):
            with database.direct(statements=statements) as direct:
                direct.rows("SELECT 1 AS one", {})

    with ThreadPoolExecutor(12) as pool:
        assert len([*pool.map(use, range(100))]) == 100
    with postgres_server.connect() as connection:
        open_ones = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [name])
        assert open_ones.fetchone() == (3,)
    store.close()


def test_a_thread_that_gets_no_connection_says_which_setting_to_raise(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "POOL_TIMEOUT_SECONDS", 0.05)
    database = Database(postgres_url, connections=1)
    with database.read(), pytest.raises(Unavailable, match="ISOTHERM_DATABASE_CONNECTIONS"):
        database.rows(sa.text("SELECT 1"))
    with database.read(), pytest.raises(Unavailable, match="ISOTHERM_DATABASE_CONNECTIONS"), tried_once():
        database.write().__enter__()
    database.dispose()


def test_each_kind_of_transaction_is_isolated_as_it_was_after_any_other(postgres_url: str) -> None:
    """They share connections, and what one sets is not left to the next."""
    database = Database(postgres_url, connections=1)
    sql = sa.text("SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')")
    expected = {
        database.write: ("read committed", "off"),
        database.snapshot: ("repeatable read", "on"),
        database.read: ("read committed", "off"),
    }
    for before in expected:
        for begin, isolation in expected.items():
            with before() as connection:
                connection.execute(sql)
            with begin() as connection:
                assert tuple(connection.execute(sql).one()) == isolation
                driver: Any = connection.connection.driver_connection
                assert driver.autocommit == (begin == database.read)
    database.dispose()


def test_what_is_rolled_back_leaves_no_transaction_open(postgres_url: str) -> None:
    database = Database(postgres_url, connections=1)
    for begin in (database.write, database.read, database.snapshot, lambda: database.direct(statements=2)):
        with suppress(KeyError), begin() as connection:
            if isinstance(connection, Direct):
                connection.rows("SELECT 1 AS one", {})
            else:
                connection.execute(sa.text("SELECT 1"))
            raise KeyError
        with driver_of(database) as driver:
            assert driver.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    database.dispose()


def test_a_statement_runs_on_whatever_connection_the_pooler_lends(
    pgbouncer_url: str, pgbouncer_server: PgBouncerServer
) -> None:
    """None is prepared: another connection of the pooler would not know it."""
    database = Database(pgbouncer_url)
    url = sa.make_url(pgbouncer_url)

    def pid() -> int:
        with database.direct() as direct:
            found: int = direct.rows("SELECT pg_backend_pid() AS pid", {})[0].pid
            return found

    first = pid()
    with psycopg.connect(host=url.host, port=url.port, user=url.username, dbname=url.database) as other:
        # The pooler lends the connection that was used last.
        assert other.execute("SELECT pg_backend_pid()").fetchone() == (first,)
        assert pid() != first
    database.dispose()


def test_a_url_that_does_not_say_that_it_leads_to_a_pooler_is_refused_at_once_with_the_remedy(
    tmp_path: Path, pgbouncer_url: str
) -> None:
    url = pgbouncer_url.partition("?")[0]
    with pytest.raises(Unavailable, match="unsupported startup parameter") as refused:
        ping(url)
    assert "pooling=transaction" in refused.value.hint
    database = Database(url)
    with pytest.raises(Unavailable, match=r"refuses.*unsupported startup parameter") as refused:
        database.rows(sa.text("SELECT 1"))
    assert "pooling=transaction" in refused.value.hint
    database.dispose()
    settings = Settings(state_directory=tmp_path, database_url=url)
    (finding,) = (check for check in checks(settings) if check.name == "database")
    assert "pooling=transaction" in finding.hint


def test_another_kind_of_pooling_is_no_setting() -> None:
    with pytest.raises(InvalidInput, match=r"expected pooling=transaction, found 'session'"):
        Database("postgresql://isotherm@host/isotherm?pooling=session")


def test_the_doctor_names_the_settings_that_sessions_behind_a_pooler_lack(
    tmp_path: Path, postgres_url: str, pgbouncer_server: PgBouncerServer
) -> None:
    migrations.upgrade(postgres_url)
    url = pgbouncer_server.url_of(str(sa.make_url(postgres_url).database))

    def finding(url: str) -> list[str]:
        settings = Settings(state_directory=tmp_path, database_url=url)
        return [check.detail for check in checks(settings) if check.name == "database session"]

    assert finding(url) == ["lacks " + ", ".join(f"{name} = {value}" for name, value in SESSION.items())]
    assert finding(postgres_url) == []
    pgbouncer_server.prepared(postgres_url)
    # Its connections to the server are those of before.
    pgbouncer_server.restart()
    assert finding(url) == []
