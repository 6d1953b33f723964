"""A real PgBouncer in transaction mode, in front of a PostgreSQL of the tests."""

import shutil
from pathlib import Path
from typing import ClassVar, Self

import psycopg
import psycopg.sql
import sqlalchemy as sa

from orchestrator.store.database import SESSION
from tests.services.process import HOST, READY_SECONDS, MissingServer, Server
from tests.services.servers import PostgresServer


class PgBouncerServer(Server):
    """PgBouncer, which has few connections to each database and lends one for a transaction at a time."""

    program = "pgbouncer"
    package = "pgbouncer"
    not_ready = (psycopg.OperationalError,)
    #: How many connections it has to a database.
    connections: ClassVar[int] = 3

    def __init__(self, postgres: PostgresServer) -> None:
        super().__init__()
        self.postgres = postgres

    @classmethod
    def before(cls, postgres: PostgresServer) -> Self:
        """Return one that answers, before a PostgreSQL.

        Raises:
            MissingServer: PgBouncer is not installed.
            ServerFailed: it did not come up.
        """
        return cls(postgres)._started()

    @classmethod
    def find(cls) -> Path:
        """Return where the program is; Debian keeps it outside of users' ``PATH``."""
        found = shutil.which(cls.program, path="/usr/sbin:/usr/local/sbin") or shutil.which(cls.program)
        if not found:
            raise MissingServer(f"{cls.program} not found: run .ci/servers, or apt-get install {cls.package}")
        return Path(found)

    def arguments(self) -> list[str]:
        """Every database of the server, for anyone, by the server's one user."""
        settings = {
            "listen_addr": HOST,
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": "transaction",
            "default_pool_size": self.connections,
            "max_client_conn": 500,
        }
        lines = [
            "[databases]",
            f"* = host={HOST} port={self.postgres.port} user={self.postgres.user}",
            "[pgbouncer]",
            *(f"{name} = {value}" for name, value in settings.items()),
        ]
        file = self.directory / "pgbouncer.ini"
        file.write_text("\n".join([*lines, ""]))
        # Root writes it, and another user reads it.
        file.chmod(0o644)
        return [str(file)]

    def probe(self) -> None:
        """Run a statement on the server behind it."""
        with psycopg.connect(
            host=HOST,
            port=self.port,
            user=self.postgres.user,
            dbname="postgres",
            connect_timeout=int(READY_SECONDS),
        ) as connection:
            connection.execute("SELECT 1")

    @property
    def url(self) -> str:
        """The maintenance database."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """Return the URL of a database through it, as the settings take it."""
        return f"postgresql+psycopg://{self.postgres.user}@{HOST}:{self.port}/{database}?pooling=transaction"

    def prepared(self, url: str) -> str:
        """Set what docs/operations.md says for a database, given its direct URL; return its URL through this."""
        name = sa.make_url(url).database or ""
        with self.postgres.connect() as connection:
            for setting, value in SESSION.items():
                statement = psycopg.sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}")
                names = map(psycopg.sql.Identifier, (self.postgres.user, name, setting))
                connection.execute(statement.format(*names, psycopg.sql.Literal(value)))
        return self.url_of(name)
