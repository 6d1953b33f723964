"""Redis, RabbitMQ and PostgreSQL with exactly the configuration of docs/hardening.md; addresses and paths are ours."""

import os
import pwd
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import redis
from kombu.connection import Connection

# Which transport a scheme of a URL has is decided there.
import orchestrator.queue.celery_app  # noqa: F401
from tests.services.certificates import Authority
from tests.services.process import HOST, READY_SECONDS, Server, unprivileged
from tests.services.rabbit import RabbitServer
from tests.services.servers import PostgresServer, RedisServer
from tests.unit.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "hardening.md"
#: The files of the page, by their names.
FILES = {name: block.text for block in blocks(PAGE) if (name := block.mark("file"))}
CTL = "/usr/lib/rabbitmq/bin/rabbitmqctl"


class Tls:
    """An authority, and a certificate of loopback for each server."""

    def __init__(self, directory: Path) -> None:
        authority = Authority(directory)
        self.ca = authority.file
        self._certificate, self._key = authority.issue(HOST)

    def place(self, server: Server) -> dict[str, str]:
        """Give a server its files; return its paths by those of the page."""
        ours = {}
        for source in (self.ca, self._certificate, self._key):
            ours[source.name] = str(_owned(Path(shutil.copy(source, server.directory))))
        paths = {
            f"/etc/{name}/tls/{file}": ours[file]
            for name in ("redis", "rabbitmq", "postgresql")
            for file in ("server.crt", "server.key")
        }
        return {**paths, "/etc/isotherm/ca.crt": ours["ca.crt"]}


def _owned(file: Path) -> Path:
    """Give a file to the user that servers run as, and to no other."""
    file.chmod(0o600 if file.suffix == ".key" else 0o644)
    if os.geteuid() == 0:
        account = pwd.getpwnam("nobody")
        os.chown(file, account.pw_uid, account.pw_gid)
    return file


def with_our(text: str, places: dict[str, str]) -> str:
    """Return a text of the page with our addresses and paths."""
    for theirs, ours in places.items():
        text = text.replace(theirs, ours)
    return text


def url(name: str, places: dict[str, str]) -> str:
    """Return the one URL in a file of settings of the page."""
    (line,) = FILES[name].splitlines()
    (assignment,) = shlex.split(line)
    return with_our(assignment.partition("=")[2], places)


class HardenedRedis(RedisServer):
    """Redis with the page's users."""

    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self.tls = tls

    def prepare(self) -> None:
        """Write its configuration, and an administrator's user for tests."""
        users = FILES["users.acl"] + "user admin on >admin-secret ~* &* +@all\n"
        acl = self.directory / "users.acl"
        _owned_text(acl, users)
        paths = {**self.tls.place(self), "/etc/redis/users.acl": str(acl)}
        _owned_text(self.directory / "redis.conf", with_our(FILES["redis.conf"], paths))

    def arguments(self) -> list[str]:
        """Return the file, and what is ours: address, port and directory."""
        return [
            *(str(self.directory / "redis.conf"), "--tls-port", str(self.port), "--bind", HOST),
            *("--dir", str(self.directory), "--save", ""),
        ]

    def url_as(self, user: str, secret: str) -> str:
        """Return the page's URL for a user."""
        places = {"redis.example.com:6379": f"{HOST}:{self.port}", "/etc/isotherm/ca.crt": str(self.tls.ca)}
        return url("redis.env", places).replace("client:client-secret", f"{user}:{secret}")

    def client_as(self, user: str, secret: str) -> redis.Redis:
        """Return a client for a user."""
        return redis.Redis.from_url(self.url_as(user, secret), socket_timeout=READY_SECONDS)

    def client(self, number: int = 0) -> redis.Redis:
        """Return a client of the administrator."""
        return self.client_as("admin", "admin-secret")


class HardenedRabbit(RabbitServer):
    """RabbitMQ with the page's users."""

    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self.tls = tls

    def prepare(self) -> None:
        """Remember where its files are."""
        super().prepare()
        self._paths = self.tls.place(self)

    def arguments(self) -> list[str]:
        """Return the usual variables, but for what the page's file says."""
        conf = self.directory / "rabbitmq.conf"
        text = with_our(FILES["rabbitmq.conf"], self._paths).replace("= 5671", f"= {HOST}:{self.port}")
        _owned_text(conf, text)
        dropped = ("RABBITMQ_NODE_PORT", "RABBITMQ_NODE_IP_ADDRESS")
        ours = [each for each in super().arguments() if not any(_is(each, name) for name in dropped)]
        return [
            f"RABBITMQ_CONFIG_FILE={conf}" if _is(each, "RABBITMQ_CONFIG_FILE") else each for each in ours
        ]

    def probe(self) -> None:
        """Connect as the user that is there at first."""
        with Connection(self.url_as("guest", "guest", host="/"), connect_timeout=READY_SECONDS) as connection:
            connection.connect()

    def set_up(self) -> None:
        """Run the page's commands."""
        named = ("HOME", "RABBITMQ_NODENAME", "ERL_EPMD_PORT", "ERL_EPMD_ADDRESS")
        variables = [each for each in self.arguments() if any(_is(each, name) for name in named)]
        for line in FILES["rabbitmq.sh"].replace("\\\n", " ").splitlines():
            _, *words = shlex.split(line)
            subprocess.run([*unprivileged(), "env", *variables, CTL, *words], cwd=self.directory, check=True)

    def url_as(self, user: str, secret: str, *, host: str = "production") -> str:
        """Return the page's URL for a user, and a virtual host."""
        places = {
            "rabbitmq.example.com:5671/production": f"{HOST}:{self.port}/{host}",
            "/etc/isotherm/ca.crt": str(self.tls.ca),
        }
        return url("rabbitmq.env", places).replace("client:client-secret", f"{user}:{secret}")

    @property
    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text(errors="replace")


def _is(assignment: str, name: str) -> bool:
    return assignment.partition("=")[0] == name


class HardenedPostgres(PostgresServer):
    """PostgreSQL with the page's roles."""

    user = "postgres"

    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self.tls = tls

    def prepare(self) -> None:
        """Make the cluster with the page's files, and a line for the administrator at the socket."""
        super().prepare()
        hba = self.directory / "pg_hba.conf"
        _owned_text(hba, f"local all postgres trust\n{FILES['pg_hba.conf']}")
        paths = {**self.tls.place(self), "/etc/postgresql/pg_hba.conf": str(hba)}
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write(with_our(FILES["postgresql.conf"], paths))

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """Return a connection of the administrator, at the socket."""
        return psycopg.connect(
            host=str(self.directory), port=self.port, user=self.user, dbname=database, autocommit=True
        )

    def execute(self, file: str, database: str = "postgres") -> None:
        """Run a file of the page, statement by statement as psql does."""
        with self.connect(database) as connection:
            for statement in FILES[file].split(";\n"):
                connection.execute(statement.encode())

    def url_as(self, user: str, secret: str) -> str:
        """Return the page's URL for a user."""
        places = {
            "postgres.example.com:5432": f"{HOST}:{self.port}",
            "/etc/isotherm/ca.crt": str(self.tls.ca),
        }
        return url("postgres.env", places).replace("isotherm_read:read-secret", f"{user}:{secret}")

    def connect_as(self, user: str, secret: str, **options: Any) -> psycopg.Connection:
        """Return a connection of a user."""
        plain = self.url_as(user, secret).replace("postgresql+psycopg", "postgresql")
        return psycopg.connect(plain, autocommit=True, **options)

    @property
    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text(errors="replace")


def _owned_text(file: Path, text: str) -> None:
    file.write_text(text)
    _owned(file)
