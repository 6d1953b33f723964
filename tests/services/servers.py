"""Real servers for tests and measurements: Redis, memcached and PostgreSQL.

Nothing here needs pytest: ``with RedisServer.start() as redis: connect(redis.url)``. No server asks for a
password, none listens beyond loopback, and none touches a server that the machine itself runs.
"""

import itertools
import signal
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Self

import psycopg
import psycopg.sql
import pymemcache
import pymemcache.exceptions
import redis
import redis.backoff
import redis.retry

from tests.services.process import HOST, READY_SECONDS, MissingServer, Server, ServerFailed, unprivileged

__all__ = ["MemcachedServer", "MissingServer", "PostgresServer", "RedisServer", "Server", "ServerFailed"]


class RedisServer(Server):
    """Redis that keeps nothing: a restart empties it."""

    program = "redis-server"
    package = "redis-server"
    not_ready = (redis.RedisError,)
    #: How many numbered databases there are; tests take them in turn.
    databases: ClassVar[int] = 64

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.cycle(range(1, self.databases))

    def arguments(self) -> list[str]:
        """No snapshots, no log of writes."""
        return [
            *("--bind", HOST, "--port", str(self.port), "--dir", str(self.directory)),
            *("--save", "", "--appendonly", "no", "--databases", str(self.databases)),
        ]

    def probe(self) -> None:
        """Ask for a pong."""
        with self.client() as client:
            client.ping()

    @property
    def url(self) -> str:
        """The first database, as ``redis://host:port/0``."""
        return self.url_of(0)

    def url_of(self, number: int) -> str:
        """Return the URL of a numbered database."""
        return f"redis://{HOST}:{self.port}/{number}"

    def client(self, number: int = 0) -> redis.Redis:
        """Return a client of a numbered database that tries once, and waits for as long as it takes."""
        once = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        return redis.Redis(host=HOST, port=self.port, db=number, socket_timeout=READY_SECONDS, retry=once)

    def empty_database(self) -> str:
        """Return the URL of an empty numbered database, never the first; they come round after 63 calls."""
        number = next(self._numbers)
        with self.client(number) as client:
            client.flushdb()
        return self.url_of(number)

    def flush(self) -> None:
        """Empty all databases."""
        with self.client() as client:
            client.flushall()


class MemcachedServer(Server):
    """Memcached; a restart empties it."""

    program = "memcached"
    package = "memcached"
    # In good order takes it a second, and there is nothing to save.
    stop_signal = signal.SIGKILL
    not_ready = (OSError, pymemcache.exceptions.MemcacheError)

    def arguments(self) -> list[str]:
        """TCP only."""
        return ["-l", HOST, "-p", str(self.port), "-U", "0", "-m", "64"]

    def probe(self) -> None:
        """Ask for the version."""
        with closing(self.client()) as client:
            client.version()

    @property
    def url(self) -> str:
        """Host and port, as memcached clients take it."""
        return f"{HOST}:{self.port}"

    def client(self) -> pymemcache.Client:
        """Return a client."""
        return pymemcache.Client((HOST, self.port), connect_timeout=READY_SECONDS, timeout=READY_SECONDS)

    def flush(self) -> None:
        """Empty it."""
        with closing(self.client()) as client:
            client.flush_all(noreply=False)


class PostgresServer(Server):
    """PostgreSQL with an empty cluster of its own; a restart keeps what was committed."""

    program = "postgres"
    package = "postgresql"
    # Fast: clients are cut off. Immediate: no checkpoint either, the next launch recovers as after a crash.
    stop_signal = signal.SIGINT
    crash_signal = signal.SIGQUIT
    not_ready = (psycopg.OperationalError,)
    user: ClassVar[str] = "isotherm"

    def __init__(self, *, durable: bool = False, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.durable = durable
        self.settings = dict(settings or {})
        self._numbers = itertools.count(1)

    @classmethod
    def start(cls, *, durable: bool = False, settings: Mapping[str, str] | None = None) -> Self:
        """Return a server that answers.

        Args:
            durable: Write as safely and as slowly as in production; otherwise the disk is never waited for,
                which still survives ``crash``, as the operating system goes on.
            settings: Further server settings by their names in postgresql.conf.

        Raises:
            MissingServer: PostgreSQL is not installed.
            ServerFailed: it did not come up.
        """
        return cls(durable=durable, settings=settings)._started()

    @classmethod
    def find(cls) -> Path:
        """Return the newest installed server; Debian keeps it outside ``PATH``."""
        installed = Path("/usr/lib/postgresql").glob("*/bin/postgres")
        newest = max(installed, key=lambda path: float(path.parts[-3]), default=None)
        return newest or super().find().resolve()

    def prepare(self) -> None:
        """Make the cluster."""
        command = [str(self.binary.with_name("initdb")), "--pgdata", str(self._data), "--username", self.user]
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        result = subprocess.run(
            [*unprivileged(), *command, *options],
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise ServerFailed(f"initdb failed:\n{result.stderr}")

    def arguments(self) -> list[str]:
        """Loopback and a socket in the directory."""
        # synchronous_commit stays on: without it a crash of the server alone would lose commits.
        hasty = {} if self.durable else {"fsync": "off", "full_page_writes": "off"}
        settings = {
            **hasty,
            "unix_socket_directories": str(self.directory),
            "listen_addresses": HOST,
            **self.settings,
        }
        pairs = [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]
        return ["-D", str(self._data), "-p", str(self.port), *pairs]

    def probe(self) -> None:
        """Connect."""
        self.connect().close()

    @property
    def url(self) -> str:
        """The maintenance database, as SQLAlchemy takes it."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """Return the SQLAlchemy URL of a database."""
        return f"postgresql+psycopg://{self.user}@{HOST}:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """Return a connection in autocommit mode."""
        return psycopg.connect(
            host=HOST,
            port=self.port,
            user=self.user,
            dbname=database,
            autocommit=True,
            connect_timeout=int(READY_SECONDS),
        )

    def create_database(self, name: str = "", *, template: str = "template1") -> str:
        """Make a database and return its URL.

        Args:
            name: Its name; empty for one that is not taken.
            template: The database to copy; nobody may be connected to it meanwhile.
        """
        name = name or f"test_{next(self._numbers)}"
        self._execute("CREATE DATABASE {} TEMPLATE {}", name, template)
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, cutting off whoever is connected; harmless when there is none."""
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _execute(self, statement: str, *names: str) -> None:
        quoted = [psycopg.sql.Identifier(name) for name in names]
        with self.connect() as connection:
            connection.execute(psycopg.sql.SQL(statement).format(*quoted))

    @property
    def _data(self) -> Path:
        return self.directory / "data"
