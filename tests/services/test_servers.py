"""The servers that other tests rely on do what their docstrings promise."""

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import redis
import sqlalchemy as sa

from tests.services.fixtures import or_skip
from tests.services.servers import (
    MemcachedServer,
    MissingServer,
    PostgresServer,
    RedisServer,
    Server,
    ServerFailed,
)

KINDS: list[type[Server]] = [RedisServer, MemcachedServer, PostgresServer]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.program)

ROOT = Path(__file__).parents[2]
HOLD_A_SERVER = """
import sys
from tests.services.servers import {kind}
server = {kind}.start()
print(server.pid, server.directory, flush=True)
sys.stdin.read()
"""


class ServerOfNoPackage(RedisServer):
    """A kind of server that no machine has."""

    program = "redis-server-of-no-package"
    package = "no-package"


class RefusingServer(PostgresServer):
    """A server that ends at once, as its port is none."""

    def arguments(self) -> list[str]:
        return [*super().arguments(), "-c", "port=nonsense"]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.program)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    kind: type[Server] = request.param
    with or_skip(kind.start) as started:
        yield started


def test_restart_keeps_port_and_directory(server: Server) -> None:
    url, directory, pid = server.url, server.directory, server.pid
    server.restart()
    server.probe()
    assert (server.url, server.directory) == (url, directory)
    assert server.pid != pid


def test_server_comes_back_after_a_crash(server: Server) -> None:
    server.crash()
    with pytest.raises(server.not_ready):
        server.probe()
    server.launch()
    server.probe()


def test_closed_server_leaves_nothing_behind(server: Server) -> None:
    server.close()
    assert not server.running
    assert not server.directory.exists()


def test_server_never_runs_as_root(server: Server) -> None:
    assert Path(f"/proc/{server.pid}").stat().st_uid != 0


@EVERY_KIND
def test_server_dies_with_the_process_that_started_it(kind: type[Server]) -> None:
    or_skip(kind.find)
    command = [sys.executable, "-c", HOLD_A_SERVER.format(kind=kind.__name__)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as owner:
        assert owner.stdout is not None
        pid, directory = owner.stdout.readline().split()
        handle = os.pidfd_open(int(pid))
        try:
            owner.kill()
            ended, _, _ = select.select([handle], [], [], 20)
        finally:
            os.close(handle)
    shutil.rmtree(directory)
    assert ended


def test_hanging_server_takes_connections_and_answers_nothing(redis_server: RedisServer) -> None:
    with (
        redis.Redis.from_url(redis_server.url, socket_timeout=0.1, retry=None) as hasty,
        redis_server.frozen(),
        pytest.raises(redis.TimeoutError),
    ):
        hasty.ping()
    with redis_server.client() as patient:
        assert patient.ping()


def test_redis_databases_are_handed_out_empty(redis_server: RedisServer) -> None:
    for _ in range(redis_server.databases):
        with redis.Redis.from_url(redis_server.empty_database()) as client:
            assert client.dbsize() == 0
            client.set("left", "behind")
    redis_server.flush()
    with redis_server.client(1) as client:
        assert client.dbsize() == 0


def test_redis_fixture_gives_another_database_each_time(redis_url: str, redis_server: RedisServer) -> None:
    assert redis_url != redis_server.empty_database()


def test_flushed_memcached_is_empty(memcached_server: MemcachedServer) -> None:
    with closing(memcached_server.client()) as client:
        client.set("key", "value", noreply=False)
        assert client.get("key") == b"value"
        memcached_server.flush()
        assert client.get("key") is None


def test_postgres_keeps_what_was_committed_before_a_crash(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("kept")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE answer AS SELECT 42 AS value")
    postgres_server.crash()
    postgres_server.launch()
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT value FROM answer").scalar_one() == 42
    postgres_server.drop_database("kept")


def test_postgres_database_can_copy_another(postgres_server: PostgresServer) -> None:
    postgres_server.create_database("original")
    with postgres_server.connect("original") as connection:
        connection.execute("CREATE TABLE answer AS SELECT 42 AS value")
    postgres_server.create_database("copy", template="original")
    with postgres_server.connect("copy") as connection:
        assert connection.execute("SELECT value FROM answer").fetchall() == [(42,)]
    for name in ("original", "copy"):
        postgres_server.drop_database(name)


def test_dropping_a_database_cuts_off_its_clients(postgres_server: PostgresServer) -> None:
    postgres_server.create_database("doomed")
    client = postgres_server.connect("doomed")
    postgres_server.drop_database("doomed")
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")


def test_durable_postgres_waits_for_the_disk(postgres_url: str, postgres_server: PostgresServer) -> None:
    ask = "SHOW fsync"
    with postgres_server.connect() as connection:
        assert connection.execute(ask).fetchone() == ("off",)
    with (
        PostgresServer.start(durable=True, settings={"max_connections": "7"}) as durable,
        durable.connect() as db,
    ):
        assert db.execute(ask).fetchone() == ("on",)
        assert db.execute("SHOW max_connections").fetchone() == ("7",)


def test_server_that_refuses_to_start_shows_its_log() -> None:
    or_skip(RefusingServer.find)
    with pytest.raises(ServerFailed, match=r'invalid value for parameter "port": "nonsense"'):
        RefusingServer.start()


def test_missing_server_says_what_to_install() -> None:
    with pytest.raises(MissingServer, match="apt-get install no-package"):
        ServerOfNoPackage.start()


def test_missing_server_is_a_skip_at_home_and_a_failure_in_ci() -> None:
    with pytest.raises(pytest.skip.Exception, match="redis-server-of-no-package"):
        or_skip(ServerOfNoPackage.start, {})
    with pytest.raises(pytest.fail.Exception, match="redis-server-of-no-package"):
        or_skip(ServerOfNoPackage.start, {"CI": "true"})
