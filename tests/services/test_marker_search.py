"""One marker in every kind of secret, searched as bytes in everything that an installation leaves behind.

PostgreSQL's files with its write-ahead log and a dump, Redis' files with the log of all that was ever sent, logs of all
processes, commands, pages, and the arguments of processes. With a key, the secrets are nowhere. Without one, they are
where ``UNENCRYPTED`` says, and nowhere else.
"""

import base64
import json
import os
import secrets
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import httpx
import psutil
import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet

from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings
from orchestrator.model.messages import UpdateJob
from orchestrator.queue.celery_app import make_app, send_job
from orchestrator.store import migrations
from orchestrator.store.store import Store
from tests import keys
from tests.allowing import everything
from tests.faults.installation import HASTE
from tests.services.engine import EngineProcess
from tests.services.fixtures import or_skip
from tests.services.http_api import HttpApi
from tests.services.process import free_port, unprivileged
from tests.services.rabbit import RabbitServer
from tests.services.servers import PostgresServer, RedisServer, Server
from tests.waiting import PATIENCE_SECONDS, until
from tests.warm import start, warm_program

pytestmark = pytest.mark.slow

#: Of this run alone: all processes of the machine are searched.
KEY: Final = Fernet.generate_key().decode()
RUN: Final = secrets.token_hex(4)
LEFT: Final = "the-job-that-is-left"
HIDDEN, FILE, CREDENTIAL = (
    f"marker-of-a-hidden-{what}-{RUN}" for what in ("parameter", "file", "credential")
)
#: Where secrets are found without an encryption key: in what the database and the broker keep.
UNENCRYPTED: Final = {"database", "dump", "broker"}
#: Where they may be always: in attributes, which those who may see the stack read, and in what a process itself has
#: printed, which is in its log on its node, for the agent's user alone.
ALWAYS: Final = {("commands", "stack resource list web -f json"), ("state of n1", "log")}
#: No secret holds so many of them.
ZEROS: Final = bytes(512)

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  secret: {type: string, hidden: true}
  text: {type: string, hidden: true}
resources:
  password: {type: OS::Heat::RandomString, properties: {length: 40}}
  held:
    type: OS::Heat::TestResource
    metadata: {secret: {get_param: secret}}
    properties: {value: {list_join: [/, [{get_param: secret}, {get_attr: [password, value]}]]}}
  file:
    type: Isotherm::Node::File
    properties: {path: DIRECTORY/made, content: {get_param: text}}
  object:
    type: Isotherm::Http::Object
    properties:
      create: {path: /things}
      body: {name: thing, secret: {get_param: secret}}
  it:
    type: Isotherm::Node::Process
    depends_on: [file, held]
    properties:
      command: [sh, -c, 'echo "$SECRET $OTHER"; echo "$SECRET" | base64; exit CODE']
      env: {SECRET: {get_param: secret}, OTHER: {get_attr: [password, value]}}
      ready: {exit: true}
"""


class LoggingRedis(RedisServer):
    """Redis that keeps a log of everything that was ever written to it."""

    def arguments(self) -> list[str]:
        """Keep a log, and never rewrite it."""
        always = ("--appendonly", "yes", "--auto-aof-rewrite-percentage", "0")
        return [each for each in super().arguments() if each not in ("--appendonly", "no")] + [*always]


class Site:
    """An installation with one node and a dashboard, and all that it leaves behind."""

    def __init__(
        self,
        directory: Path,
        *,
        postgres: PostgresServer,
        redis: RedisServer,
        broker: Server,
        api: HttpApi,
        has_key: bool,
    ) -> None:
        self.directory, self.postgres, self.redis, self.broker = directory, postgres, redis, broker
        self.has_key = has_key
        self.database_url = postgres.create_database()
        migrations.upgrade(self.database_url)
        self.made = directory / "node"
        self.made.mkdir()
        self.port = free_port()
        api.tokens[CREDENTIAL] = "tenant"
        clients = {"http": {"base_url": api.url, "auth": {"token_env": "API_TOKEN"}, "shared": True}}
        values = {
            **HASTE,
            "broker_url": broker.url,
            "database_url": self.database_url,
            "clients": json.dumps(clients),
            "node_directories": json.dumps([str(self.made)]),
            "node_state_cache": json.dumps(
                {"heartbeat_seconds": 0.5, "rpc_timeout_seconds": PATIENCE_SECONDS}
            ),
            "log_level": "DEBUG",
            "cache_backend": "redis",
            "cache_url": redis.url_of(1),
            **({"encryption_keys": json.dumps([KEY])} if has_key else {}),
        }
        ours = {f"ISOTHERM_{name.upper()}": value for name, value in values.items()}
        self.environment = keys.others() | everything(self.made) | ours | {"API_TOKEN": CREDENTIAL}
        self.engines: list[EngineProcess] = []
        #: What commands wrote, by their words.
        self.shown: dict[str, str] = {}

    def start(self, *words: str, place: str) -> "subprocess.Popen[str]":
        return start(words, directory=self.directory, environment=self._environment(place))

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [str(warm_program()), *words],
            cwd=self.directory,
            env=self._environment("client"),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        self.shown[" ".join(words)] = done.stdout + done.stderr
        return done

    def submit(self, secret: str) -> None:
        """Put a job into the queue that no coordinator takes."""
        given = {"secret": secret, "text": ""}
        job = UpdateJob(name="web", template=TEMPLATE, job_id=LEFT, parameters=given)
        send_job(make_app(self.settings), job, stack=job.name)

    @property
    def settings(self) -> Settings:
        """The settings that the processes have."""
        encrypting = (Secret(KEY),) if self.has_key else ()
        return Settings(
            database_url=self.database_url, broker_url=self.broker.url, encryption_keys=encrypting
        )

    def state(self) -> str:
        shown = self.run("stack", "show", "web", "-f", "json")
        return str(json.loads(shown.stdout)["state"])

    def write(self, code: int, turn: str, *, hooks: bool = False) -> None:
        """Write the template whose process ends with a code, and the environment of this turn."""
        text = TEMPLATE.replace("CODE", str(code)).replace("DIRECTORY", str(self.made))
        (self.directory / "web.yaml").write_text(text)
        given: dict[str, Any] = {"parameters": {"secret": f"{HIDDEN}/{turn}", "text": f"{FILE}/{turn}"}}
        if hooks:
            given["resource_registry"] = {"resources": {"held": {"hooks": "pre-update"}}}
        (self.directory / "given.yaml").write_text(json.dumps(given))

    def _environment(self, place: str) -> dict[str, str]:
        return {**self.environment, "ISOTHERM_STATE_DIRECTORY": str(self.directory / place)}


CASES: Final = {
    "Redis, with a key": (False, True),
    "Redis, without a key": (False, False),
    "RabbitMQ, with a key": (True, True),
    "RabbitMQ, without a key": (True, False),
}


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def site(request: pytest.FixtureRequest, tmp_path: Path, http_api: HttpApi) -> Iterator[Site]:
    has_rabbit, has_key = request.param
    with ExitStack() as servers:
        postgres = servers.enter_context(or_skip(PostgresServer.start))
        redis = servers.enter_context(or_skip(LoggingRedis.start))
        broker = servers.enter_context(or_skip(RabbitServer.start)) if has_rabbit else redis
        site = Site(tmp_path, postgres=postgres, redis=redis, broker=broker, api=http_api, has_key=has_key)
        lasting = [site.start(kind, place="engine") for kind in ("coordinator", "worker")]
        lasting.append(site.start("agent", "--node", "n1", place="n1"))
        # Their logs are those of debugging, which say more than those of other tests.
        site.engines = [EngineProcess(process) for process in lasting]
        try:
            for engine in site.engines:
                engine.wait_until_ready()
            yield site
        finally:
            for engine in site.engines:
                engine.process.terminate()
            for engine in site.engines:
                engine.wait()


def live(site: Site) -> str:
    """Create, update, hold, fail and show a stack; return the password that was generated."""
    site.write(0, "first")
    created = site.run("stack", "create", "web", "-t", "web.yaml", "-e", "given.yaml")
    assert created.returncode == 0, created.stdout + created.stderr
    password = generated(site)
    assert site.run("stack", "snapshot", "create", "web").returncode == 0
    site.write(3, "second", hooks=True)
    site.run("stack", "update", "web", "-t", "web.yaml", "-e", "given.yaml", "--no-wait")
    until(lambda: "held" in site.run("stack", "hook", "list", "web").stdout)
    assert site.run("stack", "hook", "clear", "web", "held").returncode == 0
    until(lambda: not site.state().endswith("IN_PROGRESS"))
    assert site.state() == "UPDATE_FAILED"
    return password


def generated(site: Site) -> str:
    """Return the password, which no output shows."""
    store = Store.of(site.settings)
    try:
        stack = store.stacks.find("web", project="default")
        return str(store.stacks.resource(stack.id, "password").reference_id)
    finally:
        store.close()


#: Every command that shows something of a stack; those that show values on purpose are left out.
COMMANDS: Final = (
    ("stack", "list"),
    ("stack", "history", "web"),
    ("stack", "timeline", "web"),
    ("stack", "failure", "web"),
    ("stack", "graph", "web"),
    ("stack", "event", "list", "web"),
    ("stack", "resource", "list", "web"),
    ("stack", "hook", "list", "web"),
    ("node", "list"),
    ("node", "show", "n1"),
    ("queue", "refused", "list"),
    ("doctor",),
)
PAGES: Final = (
    *("/stacks", "/stacks/data", "/stacks/nodes/data", "/stacks/nodes/n1/data", "/stacks/cache/data"),
    *("/stacks/workers/data", "/stack/web", "/stack/ID/head.json", "/stack/ID/graph.json"),
    *("/stack/ID/failure.json", "/stack/ID/actions.json", "/stack/ID/events-file.json", "/tasks", "/workers"),
)


def pages(site: Site) -> Iterator[tuple[str, bytes]]:
    """Yield what the dashboard answers at each address."""
    from orchestrator.dashboard.handlers.stack import TABS

    stack_id = json.loads(site.run("stack", "show", "web", "-f", "json").stdout)["id"]
    site.engines.append(EngineProcess(site.start("dashboard", f"--port={site.port}", place="dashboard")))
    at = f"http://127.0.0.1:{site.port}"
    until(lambda: _answers(f"{at}/stacks/data"))
    names = [path.replace("ID", stack_id) for path in PAGES]
    names += [f"/stack/{stack_id}/{tab}{form}" for tab, _ in TABS for form in ("", ".json")]
    names += [f"/stack/{stack_id}/vertex/{number}.json" for number in range(8)]
    for name in names:
        yield (
            name,
            httpx.get(at + name, trust_env=False, timeout=PATIENCE_SECONDS, follow_redirects=True).content,
        )


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False, timeout=PATIENCE_SECONDS).status_code == 200
    except httpx.TransportError:
        return False


def kept(site: Site) -> Iterator[tuple[str, str, bytes]]:
    """Yield everything that is left behind: of which kind it is, what it is, and its bytes."""
    with site.postgres.connect() as connection:
        connection.execute("CHECKPOINT")
        connection.execute("SELECT pg_switch_wal()")
    name = str(sa.make_url(site.database_url).database)
    dump = site.postgres.binary.with_name("pg_dump")
    at = ["-h", "127.0.0.1", "-p", str(site.postgres.port), "-U", site.postgres.user, name]
    dumped = subprocess.run([*unprivileged(), str(dump), *at], capture_output=True, check=True)
    yield "dump", "pg_dump", dumped.stdout
    for kind, directory in {
        "database": site.postgres.directory,
        "broker": site.broker.directory,
        "cache": site.redis.directory,
        **{f"state of {each}": site.directory / each for each in ("engine", "client", "n1", "dashboard")},
    }.items():
        yield from ((kind, str(path), content) for path, content in files_in(directory))
    for engine in site.engines:
        yield "logs", str(engine.process.args), engine.log.encode()
    for words, text in site.shown.items():
        yield "commands", words, text.encode()


def files_in(directory: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files below a directory, with their contents."""
    for path in directory.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()


def squeezed(everything: Iterable[tuple[str, str, bytes]]) -> Mapping[bytes, Sequence[tuple[str, str]]]:
    """Return the places of each content, of which nothing is left out but long runs of zeros.

    Much of what PostgreSQL keeps are copies of the database that it came with, and files that are not full.
    """
    places: dict[bytes, list[tuple[str, str]]] = {}
    for kind, name, content in everything:
        places.setdefault(content.replace(ZEROS, b""), []).append((kind, name))
    return places


def arguments_of_processes() -> bytes:
    """Return the arguments of all processes, as ``ps`` shows them."""
    found = []
    for process in psutil.process_iter():
        try:
            found += process.cmdline()
        except psutil.Error:
            continue
    return "\n".join(found).encode(errors="surrogateescape")


def spellings(secret: str) -> Iterator[bytes]:
    """Yield how a secret's bytes may be written."""
    text = secret.encode()
    yield text
    yield text.hex().encode()
    for shift in range(3):
        # As a part of something longer, which begins at any of three places.
        coded = base64.b64encode(b"\0" * shift + text)
        yield coded[4 if shift else 0 : len(coded) - 4]


def secrets_of_keys() -> Mapping[str, bytes]:
    """Return the secrets of the file of keys, in both of its spellings."""
    found = json.loads(Path(os.environ[keys.VARIABLE]).read_text())["keys"]
    texts = {f"key {each['id']}": each["secret"].encode() for each in found if each.get("secret")}
    return {**texts, **{f"{name}, raw": base64.b64decode(text) for name, text in texts.items()}}


def leave_a_job(site: Site) -> None:
    """Stop what takes jobs, send another, and wait until the broker has it in its files."""
    for engine in site.engines:
        engine.process.terminate()
    for engine in site.engines:
        engine.wait()
    site.submit(f"{HIDDEN}/left")
    until(lambda: any(LEFT.encode() in content for _, content in files_in(site.broker.directory)))


def test_a_secret_is_found_nowhere_or_where_the_threat_model_says(site: Site) -> None:
    password = live(site)
    for words in COMMANDS:
        for form in ((), ("-f", "json")):
            site.run(*words, *form)
    shown = [("pages", name, text) for name, text in pages(site)]
    ps = arguments_of_processes()
    leave_a_job(site)
    values = {"a hidden parameter": HIDDEN, "a hidden file": FILE, "a generated password": password}
    stored = {name: list(spellings(secret)) for name, secret in values.items()}
    never = {
        name: list(spellings(secret)) for name, secret in {"a credential": CREDENTIAL, "a key": KEY}.items()
    }
    never |= {name: [text] for name, text in secrets_of_keys().items()}
    everything = [*kept(site), *shown, ("ps", "ps", ps)]
    found = {
        (kind, name, what)
        for content, places in squeezed(everything).items()
        for what, texts in (stored | never).items()
        if any(text in content for text in texts)
        for kind, name in places
        if (kind, name.rpartition("/")[2]) not in ALWAYS
    }
    assert {kind for kind, *_ in everything} > {
        "database",
        "dump",
        "broker",
        "logs",
        "commands",
        "pages",
        "ps",
    }
    if site.has_key:
        assert not found, sorted(found)
        return
    # Where Redis is the broker, the cache is another database of it, with the same files.
    shared = {"cache"} if site.broker is site.redis else set()
    assert {kind for kind, *_ in found} == UNENCRYPTED | shared, sorted(found)
    assert {what for *_, what in found} == stored.keys()
    # The job that nobody took is among what the search finds, so that it searches where messages are.
    left = list(spellings(f"{HIDDEN}/left"))
    assert any(each in content for kind, _, content in everything if kind == "broker" for each in left)
