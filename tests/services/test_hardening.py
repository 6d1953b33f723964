"""The users of docs/hardening.md do their own work with real processes over TLS, and are refused that of others."""

import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
import redis.exceptions
import tenacity
from amqp.exceptions import AccessRefused
from kombu.connection import Connection

from cache.node_state.errors import StateStoreFailed
from cache.node_state.redis_store import RedisNodeStore
from tests.allowing import everything
from tests.services.engine import running
from tests.services.fixtures import or_skip
from tests.services.hardened import FILES, PAGE, HardenedPostgres, HardenedRabbit, HardenedRedis, Tls
from tests.services.process import HOST, free_port
from tests.unit.docs.pages import Session
from tests.waiting import PATIENCE_SECONDS, until
from tests.warm import warm_program

pytestmark = pytest.mark.slow

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  length: {type: number, default: 8}
resources:
  random: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  page:
    type: Isotherm::Node::File
    properties: {path: page.txt, content: {get_attr: [random, value]}}
"""
ROLES = ("client", "coordinator", "worker", "agent-host1", "dashboard")
#: The users of the database, by the process, as the table of the page has them.
DATABASE = {
    "owner": ("isotherm_owner", "owner-secret"),
    "client": ("isotherm_read", "read-secret"),
    "coordinator": ("isotherm_app", "app-secret"),
    "worker": ("isotherm_app", "app-secret"),
    "dashboard": ("isotherm_dashboard", "dashboard-secret"),
}


def secret_of(role: str) -> str:
    """Return a broker user's password on the page."""
    return f"{role.removesuffix('-host1')}-secret"


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return Tls(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def redis_server(tls: Tls) -> Iterator[HardenedRedis]:
    with or_skip(lambda: HardenedRedis(tls)._started()) as server:
        yield server


@pytest.fixture(scope="module")
def rabbit_server(tls: Tls) -> Iterator[HardenedRabbit]:
    with or_skip(lambda: HardenedRabbit(tls)._started()) as server:
        server.set_up()
        yield server


@pytest.fixture(scope="module")
def postgres_server(tls: Tls) -> Iterator[HardenedPostgres]:
    with or_skip(lambda: HardenedPostgres(tls)._started()) as server:
        server.execute("roles.sql")
        server.execute("grants.sql", "production")
        yield server


class Installation:
    """Processes and commands, each with the users of its role."""

    def __init__(self, directory: Path, urls: Callable[[str, str], str], database: HardenedPostgres) -> None:
        self._urls, self._database = urls, database
        self.session = Session(directory)
        (directory / "t.yaml").write_text(TEMPLATE)
        files = directory / "state" / "files"
        files.mkdir(parents=True)
        self._plain = {**self.session.environment, **everything(files)}

    def environment(self, role: str) -> Mapping[str, str]:
        """Return the variables of a process; an agent has no database."""
        database = {}
        if user := DATABASE.get(role):
            database = {"ISOTHERM_DATABASE_URL": self._database.url_as(*user)}
        return {**self._plain, **database, "ISOTHERM_BROKER_URL": self._urls(role, secret_of(role))}

    def start(self, role: str, command: str) -> "subprocess.Popen[str]":
        """Start a process."""
        self.session.environment = dict(self.environment(role))
        return self.session.start_quickly(command)

    def run(self, role: str, *words: str, code: int = 0) -> str:
        """Run a command, which must end with a code; return what it writes."""
        done = self._done(role, *words)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def _is_well(self) -> bool:
        """Whether the doctor finds nothing wrong: on a busy machine an agent may not answer it within a second."""
        done = self._done("coordinator", "doctor")
        print(done.stdout)
        return done.returncode == 0 and "answering: host1" in done.stdout

    def _done(self, role: str, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(warm_program()), *words],
            cwd=self.session.directory,
            env=self.environment(role),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def work(self, *meanwhile: Callable[[], None]) -> None:
        """Make, change and delete a stack with one process of each kind; call functions while it is there."""
        self.run("owner", "db", "upgrade")
        self._database.execute("dashboard.sql", "production")
        processes = [
            self.start("coordinator", "isotherm coordinator"),
            self.start("worker", "isotherm worker --concurrency 2"),
            self.start("agent-host1", "isotherm agent --node host1"),
        ]
        with running(processes) as engines:
            made = self.run("client", "stack", "create", "s", "-t", "t.yaml")
            assert "s CREATE_COMPLETE" in made
            page = self.session.directory / "state" / "files" / "page.txt"
            assert len(page.read_text()) == 8
            changed = self.run("client", "stack", "update", "s", "--existing", "-P", "length=9")
            assert "s UPDATE_COMPLETE" in changed
            assert len(page.read_text()) == 9
            refused = self.run("client", "stack", "resource", "mark-unhealthy", "s", "random", code=3)
            assert "Error: the database refuses: permission denied for table" in refused
            shown = self.run("coordinator", "node", "show", "host1")
            assert "Isotherm::Node::File" in shown
            until(self._is_well)
            for function in meanwhile:
                function()
            assert "s DELETE_COMPLETE" in self.run("client", "stack", "delete", "s", "--yes")
            assert not page.exists()
        log = "".join(engine.log for engine in engines)
        assert "Traceback" not in log
        assert "permission" not in log.lower()

    def see(self) -> None:
        """Start the dashboard, and read the pages that need the most."""
        port = free_port()
        self.session.environment = {
            **self.environment("dashboard"),
            "SSL_CERT_FILE": str(self._database.tls.ca),
        }
        log = self.session.directory / "dashboard.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [str(warm_program()), "dashboard", f"--port={port}"],
                cwd=self.session.directory,
                env=self.session.environment,
                stdout=stream,
                stderr=stream,
            )
        try:
            for path in ("stacks", "workers", "broker", "stacks/nodes/host1/data"):
                assert _status(f"http://{HOST}:{port}/{path}", process) == 200, log.read_text()
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
        assert "ermission" not in log.read_text()


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(ConnectionError),
    wait=tenacity.wait_fixed(0.1),
    stop=tenacity.stop_after_delay(300),
    reraise=True,
)
def _status(url: str, process: "subprocess.Popen[bytes]") -> int:
    """Return the status of a page of a process that may not listen yet."""
    assert process.poll() is None
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return int(error.code)
    except urllib.error.URLError as error:
        raise ConnectionError from error


def the_servers_refused_nothing(database: HardenedPostgres, before: int) -> None:
    # What a client was to be refused: an action, and its record.
    refused = re.findall(r"permission denied for table (\w+)", database.log[before:])
    assert set(refused) <= {"stack", "audit_record"}, refused


def test_a_stack_comes_and_goes_by_redis(
    tmp_path: Path, redis_server: HardenedRedis, postgres_server: HardenedPostgres
) -> None:
    installation = Installation(tmp_path, redis_server.url_as, postgres_server)
    with closing(redis_server.client()) as admin:
        admin.acl_log_reset()
        before = len(postgres_server.log)
        installation.work(installation.see)
        refused = [(each["username"], each["context"], each["object"]) for each in admin.acl_log()]
        assert refused == []
    the_servers_refused_nothing(postgres_server, before)


def test_a_stack_comes_and_goes_by_rabbitmq(
    tmp_path: Path, rabbit_server: HardenedRabbit, postgres_server: HardenedPostgres
) -> None:
    installation = Installation(tmp_path, rabbit_server.url_as, postgres_server)
    installation._plain["ISOTHERM_NODE_STATE_CACHE__BACKEND"] = "file"
    before = len(postgres_server.log)
    begun = len(rabbit_server.log)
    installation.work(installation.see)
    assert "access_refused" not in rabbit_server.log[begun:].lower()
    the_servers_refused_nothing(postgres_server, before)


# -- what each is refused ----------------------------------------------------------------------------------------

#: Commands that no role may use, but for those behind it.
FOREIGN_COMMANDS: Mapping[str, tuple[str, ...]] = {
    # Jobs are written by clients, and read by coordinators.
    "BRPOP stacks 1": ("coordinator",),
    "LRANGE stacks 0 -1": ("coordinator",),
    "DEL stacks": ("coordinator",),
    "LPUSH stacks x": ("client", "coordinator", "worker", "dashboard"),
    # Checks are written by the engine, and read by workers.
    "BRPOP checks 1": ("worker",),
    "LRANGE checks 0 -1": ("worker",),
    "LPUSH checks x": ("coordinator", "worker"),
    "BRPOP coordinator 1": ("coordinator",),
    "LPUSH coordinator x": ("coordinator", "worker"),
    # The calls of a node are written by the engine, and read by its agent.
    "BRPOP node.host1 1": ("agent-host1",),
    "LPUSH node.host1 x": ("coordinator", "worker", "agent-host1"),
    "BRPOP node.host2 1": (),
    "BRPOP node.host11 1": (),
    "LPUSH node.host2 x": ("coordinator", "worker"),
    # What was received and is not acknowledged.
    "HGETALL unacked": ("coordinator", "worker"),
    "HSET unacked tag x": ("coordinator", "worker"),
    "HGET unacked.node.host1 x": ("agent-host1",),
    "HGET unacked.node.host2 x": (),
    "HGET unacked.dashboard x": ("dashboard",),
    # Mailboxes: requests to agents, and replies to those who read.
    "PSUBSCRIBE /0.node.mailboxes/node.host1": ("coordinator", "worker", "agent-host1", "dashboard"),
    "PSUBSCRIBE /0.node.mailboxes/node.host2": ("coordinator", "worker", "dashboard"),
    "PSUBSCRIBE /0.node.mailboxes/asker.x": ("coordinator", "worker", "dashboard"),
    "PSUBSCRIBE *": ("coordinator", "worker", "dashboard"),
    "PUBLISH /0.node.mailboxes/node.host2 x": ("coordinator", "worker", "dashboard"),
    "PUBLISH /0.celery.pidbox x": ("coordinator", "worker", "agent-host1", "dashboard"),
    # The shared caches.
    "GET {nsc}:gen:host2": ("coordinator", "worker", "dashboard"),
    "SET {nsc}:lease:host2 x": ("coordinator", "worker", "dashboard"),
    "SET {nsc}:gen:host1 x": ("coordinator", "worker", "agent-host1", "dashboard"),
    "GET isotherm:http:x": ("coordinator", "worker"),
    "SADD _kombu.binding.reply.celery.pidbox x": ("coordinator", "worker", "dashboard"),
    # The server itself.
    "KEYS *": (),
    "SCAN 0": ("coordinator", "worker", "dashboard"),
    "FLUSHALL": (),
    "CONFIG GET *": (),
    "ACL LIST": (),
    "SHUTDOWN": (),
    "MONITOR": (),
    "GET anything": (),
}


@pytest.mark.parametrize("role", ROLES)
def test_redis_refuses_each_role_what_is_not_its_own(redis_server: HardenedRedis, role: str) -> None:
    with closing(redis_server.client()) as admin:
        # Untyped in redis-py.
        execute: Any = admin.execute_command
        for command, permitted in FOREIGN_COMMANDS.items():
            answer = execute("ACL DRYRUN", role, *command.split())
            assert (answer == b"OK") is (role in permitted), f"{role}: {command}: {answer!r}"
    with closing(redis_server.client_as(role, secret_of(role))) as client:
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.keys("*")
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.get("anything")


def test_redis_takes_nobody_without_a_user_and_tls(redis_server: HardenedRedis, tmp_path: Path) -> None:
    for user, secret in (("default", ""), ("client", "wrong"), ("client", "coordinator-secret")):
        with (
            closing(redis_server.client_as(user, secret)) as client,
            pytest.raises(redis.exceptions.AuthenticationError),
        ):
            client.ping()
    plain = redis.Redis(host=HOST, port=redis_server.port, username="client", password="client-secret")
    with closing(plain), pytest.raises(redis.exceptions.ConnectionError):
        plain.ping()


class Elsewhere:
    """URLs of the same servers that a client must not trust: by another name, and by another authority."""

    def __init__(self, directory: Path) -> None:
        self._other = Tls(directory)

    def of(self, url: str, tls: Tls) -> list[str]:
        return [url.replace(HOST, "localhost"), url.replace(str(tls.ca), str(self._other.ca))]


def test_no_broker_is_trusted_under_another_name_or_by_another_authority(
    tmp_path: Path, redis_server: HardenedRedis, rabbit_server: HardenedRabbit, tls: Tls
) -> None:
    elsewhere = Elsewhere(tmp_path)
    for good in (
        redis_server.url_as("client", "client-secret"),
        rabbit_server.url_as("client", "client-secret"),
    ):
        with Connection(good, connect_timeout=PATIENCE_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=PATIENCE_SECONDS)
        for bad in elsewhere.of(good, tls):
            with (
                Connection(bad, connect_timeout=PATIENCE_SECONDS) as connection,
                pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"),
            ):
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE_SECONDS)


def test_no_cache_is_trusted_under_another_name_or_by_another_authority(
    tmp_path: Path, redis_server: HardenedRedis, tls: Tls
) -> None:
    good = redis_server.url_as("worker", "worker-secret")
    with closing(RedisNodeStore(good, timeout_seconds=PATIENCE_SECONDS)) as store:
        store.look(["host1"])
    for bad in Elsewhere(tmp_path).of(good, tls):
        with (
            closing(RedisNodeStore(bad, timeout_seconds=PATIENCE_SECONDS)) as store,
            pytest.raises(StateStoreFailed, match="CERTIFICATE_VERIFY"),
        ):
            store.look(["host1"])


#: What is done on a channel of RabbitMQ, and who may.
ACTIONS: Mapping[str, tuple[Callable[[Any], object], tuple[str, ...]]] = {
    "read jobs": (lambda channel: channel.basic_get("stacks"), ("coordinator",)),
    "purge jobs": (lambda channel: channel.queue_purge("stacks"), ("coordinator",)),
    "read checks": (lambda channel: channel.basic_get("checks"), ("worker",)),
    "read ends": (lambda channel: channel.basic_get("coordinator"), ("coordinator",)),
    "read calls": (lambda channel: channel.basic_get("node.host1"), ("agent-host1",)),
    "read foreign calls": (lambda channel: channel.basic_get("node.host2"), ()),
    "delete checks": (lambda channel: channel.queue_delete("checks"), ("coordinator", "worker")),
    "declare any queue": (lambda channel: channel.queue_declare("anything"), ()),
    "listen to mailboxes": (
        lambda channel: channel.exchange_bind("anything", "node.mailboxes"),
        (),
    ),
    "write to queues": (
        lambda channel: _published(channel, "", "stacks"),
        ("client", "coordinator", "worker", "dashboard"),
    ),
    "write to mailboxes": (
        lambda channel: _published(channel, "node.mailboxes", "node.host1"),
        ("coordinator", "worker", "agent-host1", "dashboard"),
    ),
    "command processes": (
        lambda channel: _published(channel, "celery.pidbox", ""),
        ("coordinator", "worker", "dashboard"),
    ),
}


def _published(channel: Any, exchange: str, routing_key: str) -> None:
    channel.basic_publish(channel.prepare_message(b"x"), exchange, routing_key)
    # A refusal comes with the next answer.
    channel.exchange_declare("amq.direct", "direct", passive=True)


@pytest.mark.parametrize("role", ROLES)
def test_rabbitmq_refuses_each_role_what_is_not_its_own(rabbit_server: HardenedRabbit, role: str) -> None:
    with Connection(rabbit_server.url_as("coordinator", "coordinator-secret")) as connection:
        channel = connection.channel()
        for queue in ("stacks", "checks", "coordinator", "node.host1", "node.host2"):
            channel.queue_declare(queue, durable=True, auto_delete=False)
        for exchange, kind in (("node.mailboxes", "direct"), ("celery.pidbox", "fanout")):
            channel.exchange_declare(exchange, kind, durable=kind == "direct", auto_delete=False)
    with Connection(rabbit_server.url_as(role, secret_of(role))) as connection:
        for what, (act, permitted) in ACTIONS.items():
            with closing(connection.channel()) as channel:
                try:
                    act(channel)
                    is_refused = False
                except AccessRefused:
                    is_refused = True
            assert is_refused is not (role in permitted), f"{role}: {what}"


def test_rabbitmq_takes_nobody_else(rabbit_server: HardenedRabbit) -> None:
    for user, secret, host in (
        ("guest", "guest", "production"),
        ("client", "wrong", "production"),
        ("client", "client-secret", "/"),
    ):
        with (
            Connection(rabbit_server.url_as(user, secret, host=host)) as connection,
            pytest.raises(Exception, match=r"ACCESS_REFUSED|NOT_ALLOWED"),
        ):
            connection.connect()


@pytest.fixture
def schema(tmp_path: Path, postgres_server: HardenedPostgres) -> None:
    installation = Installation(tmp_path, lambda role, _: "", postgres_server)
    installation.run("owner", "db", "upgrade")
    postgres_server.execute("dashboard.sql", "production")


#: Statements, and who may run them; each is rolled back.
STATEMENTS: Mapping[str, tuple[str, ...]] = {
    "SELECT count(*) FROM stack": ("owner", "coordinator", "dashboard", "client"),
    "DELETE FROM stack": ("owner", "coordinator"),
    "UPDATE job SET id = id": ("owner", "coordinator"),
    "UPDATE machine SET boot_id = boot_id": ("owner", "coordinator", "dashboard"),
    "DELETE FROM machine": ("owner", "coordinator"),
    "TRUNCATE event": ("owner",),
    "DROP TABLE event": ("owner",),
    "ALTER TABLE event ADD COLUMN more text": ("owner",),
    "CREATE TABLE more (id int)": ("owner",),
    "CREATE TEMPORARY TABLE more (id int)": ("owner",),
    "CREATE SCHEMA more": ("owner",),
    "CREATE ROLE more": (),
    "COPY event TO PROGRAM 'true'": (),
    "SELECT pg_read_file('/etc/passwd')": (),
}


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("role", ["owner", "coordinator", "dashboard", "client"])
def test_postgresql_refuses_each_role_what_is_not_its_own(
    postgres_server: HardenedPostgres, role: str
) -> None:
    with closing(postgres_server.connect_as(*DATABASE[role])) as connection:
        for statement, permitted in STATEMENTS.items():
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(statement.encode())
                is_refused = False
            except psycopg.errors.InsufficientPrivilege:
                is_refused = True
            assert is_refused is not (role in permitted), f"{role}: {statement}"


def test_postgresql_takes_nobody_without_tls_and_is_trusted_by_its_name_alone(
    postgres_server: HardenedPostgres, tls: Tls, tmp_path: Path
) -> None:
    user = DATABASE["client"]
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        postgres_server.connect_as(*user, sslmode="disable")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        postgres_server.connect_as("isotherm_read", "owner-secret")
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
        postgres_server.connect_as(*user, dbname="postgres")
    good = postgres_server.url_as(*user).replace("postgresql+psycopg", "postgresql")
    for bad in Elsewhere(tmp_path).of(good, tls):
        with pytest.raises(psycopg.OperationalError, match=r"certificate|host name|SSL error"):
            psycopg.connect(bad)


def test_the_table_of_the_page_is_what_is_tested() -> None:
    rows = re.findall(r"^\| (`isotherm .*?) \| (\S+) \| (\S+) \|$", PAGE.read_text(), flags=re.MULTILINE)
    users = {broker.strip("`"): database.strip("`") for _, broker, database in rows}
    assert users.pop("none") == DATABASE["owner"][0]
    assert users.keys() == set(ROLES)
    assert users == {role: DATABASE.get(role, ("none",))[0] for role in ROLES}
    for role in ROLES:
        assert f"user {role} on >{secret_of(role)} " in FILES["users.acl"]
        assert f"rabbitmqctl add_user {role} {secret_of(role)}\n" in FILES["rabbitmq.sh"]
