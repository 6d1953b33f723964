"""Two projects and an administrator, through every command, address and message: who is let through is in table.md.

The commands, routes and kinds of messages are enumerated, so that none can be added without being in the table. Run
with WRITE_ACCESS_TABLE=1 to write it anew, and read the difference.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner
from flower.urls import handlers as flowers
from kombu.message import Message
from tornado.web import RequestHandler, url

from orchestrator import tasks
from orchestrator.access.tokens import Token, TokenFile
from orchestrator.cli.access import COMMANDS, LOCAL, leaves
from orchestrator.cli.main import isotherm
from orchestrator.cli.shell import Shell
from orchestrator.config.settings import Settings
from orchestrator.dashboard.access import ACTIONS
from orchestrator.dashboard.handlers.streams import StreamHandler
from orchestrator.dashboard.many import FOR_MANY
from orchestrator.engine.coordinator import Coordinator
from orchestrator.keys.envelope import Envelope, Refused
from orchestrator.keys.key import JOB, Key, KeyRing
from orchestrator.keys.key_file import LiveKeys, write_keys
from orchestrator.keys.rotation import OWN, created
from orchestrator.model.messages import JOBS, NODE_TASK, DeleteJob, Job, StackJob
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import ROUTES, default_app
from orchestrator.queue.consumer import verified
from orchestrator.queue.serializers import SEALED
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.migrated import migrate
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.unit.orchestrator.dashboard.test_every_address import ADDRESSES

EXPECTED = Path(__file__).with_name("table.md")
#: The role and the project of each; all ask for things of the project acme.
CALLERS = {
    "reader": ("reader", "acme"),
    "operator": ("operator", "acme"),
    "administrator": ("administrator", "acme"),
    "other project": ("administrator", "beta"),
    "installation": ("administrator", "*"),
}
MARK = "plum-4711"
TEMPLATE = f"""
heat_template_version: 2021-04-16
description: {MARK}
resources:
  it: {{type: OS::Heat::Value, properties: {{value: {MARK}}}}}
outputs:
  it: {{value: {MARK}}}
"""


class Reached(Exception):
    """A command was let through; what it would do is not done."""


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An installation with the stack ``theirs`` of the project beta, and nothing in acme."""
    directory = tmp_path_factory.mktemp("access")
    settings = Settings(state_directory=directory, project="beta")
    with Service.open(settings) as service:
        made = service.create(StackJob(name="theirs", template=TEMPLATE, project="beta"))
        assert list(service.watch(made.id))[-1].stack.status == "COMPLETE"
    (directory / "t.yaml").write_text("heat_template_version: 2021-04-16")
    return settings.with_values(project="acme")


@pytest.fixture(scope="module")
def theirs(installation: Settings) -> str:
    """The id of the stack of the other project."""
    store = Store.of(installation)
    found = store.stacks.find("theirs", project="beta").id
    store.close()
    return found


@pytest.fixture(scope="module")
def tokens(installation: Settings) -> dict[str, str]:
    """A token of each caller."""
    file, texts = TokenFile(installation.effective_token_file), {}
    for name, (role, project) in CALLERS.items():
        made, texts[name] = Token.generate(name, {project: role})
        file.add(made)
    return texts


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)


# -- commands --------------------------------------------------------------------------------------------------


def arguments_of(command: click.Command, directory: Path, **given: str) -> list[str]:
    """Return what a command needs to be understood."""
    words = []
    for parameter in command.params:
        if not parameter.required:
            continue
        is_number = isinstance(parameter.type, (click.IntRange, type(click.INT)))
        value = given.get(str(parameter.name)) or ("1" if is_number else "x")
        of_kind = {
            "role": "reader",
            "template": str(directory / "t.yaml"),
            "given": "stacks=1",
            "objects": "x=1",
        }
        value = of_kind.get(str(parameter.name), value)
        words += [value] if isinstance(parameter, click.Argument) else [parameter.opts[-1], value]
    return words


def typed(settings: Settings, words: str, token: str, **given: str) -> tuple[int, str]:
    """Return the exit code of a command in the project acme, and all that it wrote."""
    environment = {
        "ISOTHERM_STATE_DIRECTORY": str(settings.state_directory),
        "ISOTHERM_PROJECT": "acme",
        "ISOTHERM_TOKEN": token,
    }
    arguments = arguments_of(leaves(isotherm)[words], settings.state_directory, **given)
    if words == "stack update":
        arguments += ["-t", str(settings.state_directory / "t.yaml")]
    result = CliRunner().invoke(isotherm, [*words.split(), *arguments], env=environment)
    return result.exit_code, result.output


@contextmanager
def verdict_only(shell: Shell, operation: str, words: str = "") -> Iterator[None]:
    with REAL(shell, operation, words):
        if operation:
            raise Reached
        yield


REAL: Callable[..., Any] = Shell.allowed


def of_commands(
    settings: Settings, tokens: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    monkeypatch.setattr(Shell, "allowed", verdict_only)
    for words in sorted(leaves(isotherm)):
        if COMMANDS[words] == LOCAL:
            yield [f"`isotherm {words}`", *["yes"] * len(CALLERS)]
            continue
        row = [f"`isotherm {words}`"]
        for name in CALLERS:
            _, output = typed(settings, words, tokens[name])
            # What other tests of this process had refused is logged at some time or other.
            told = "\n".join(line for line in output.splitlines() if "messages were refused" not in line)
            assert ("Reached" in told) != ("needs the role" in told), output
            row.append("yes" if "Reached" in told else "-")
        yield row


# -- addresses -------------------------------------------------------------------------------------------------


def of_addresses(settings: Settings, tokens: Mapping[str, str]) -> Iterator[list[str]]:
    guarded = settings.with_values(
        authenticator="tokens", broker_url="memory://", database_url=settings.effective_database_url
    )
    with ExitStack() as stack:
        made = stack.enter_context(served(guarded, Store.of(guarded), stack_actions=True))
        clients = {
            name: stack.enter_context(client(made, headers={"Authorization": f"Bearer {text}"}))
            for name, text in tokens.items()
        }
        # The addresses of actions have a row for each.
        ours = [("GET", each) for each in sorted(ADDRESSES) if "/act/" not in each]
        actions = [("POST", f"/stack/valued/act/{action}") for action in ACTIONS]
        actions += [("POST", f"/stacks/act/{step}") for step in ("validate", "preview", "plan", "create")]
        actions += [("POST", f"/stacks/act/{action}/preview") for action in FOR_MANY]
        actions += [
            ("POST", f"/stack/valued/act/{step}")
            for step in ("validate", "preview", "plan", "update", "import_preview", "import")
        ]
        actions += [("POST", f"/stacks/act/plan/{step}") for step in ("show", "apply")]
        actions += [("POST", "/stack/valued/act/plan_deletion")]
        for method, address in (*ours, *actions, *flowers_addresses()):
            codes = [answer_of(asker, address, posts=method == "POST") for asker in clients.values()]
            yield [f"`{method} {address}`", *map(let_through, codes)]


def flowers_addresses() -> Iterator[tuple[str, str]]:
    """Yield the method and an address of every route of Flower's own."""
    for rule in flowers:
        pattern, handler = (rule.regex.pattern, rule.handler_class) if isinstance(rule, url) else rule[:2]
        address = re.sub(r"\(.*?\)", "x", pattern.removesuffix("$").replace(".*", "x")).replace("\\", "")
        for method in ("GET", "POST"):
            if getattr(handler, method.lower()) is not getattr(RequestHandler, method.lower()):
                yield method, address


def let_through(code: int) -> str:
    """Return the cell of an answer's status; there is no stack, so that it may be 404."""
    assert code != 401
    return "-" if code == 403 else "yes"


def answer_of(asker: httpx.Client, address: str, *, posts: bool) -> int:
    """Return the status of an answer; the content of a stream is not waited for."""
    if posts:
        return asker.post(address, json={}).status_code
    with asker.stream("GET", address) as answer:
        return answer.status_code


# -- messages --------------------------------------------------------------------------------------------------


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Key]:
    """A key of each caller; the installation has its own."""
    ring = created([], OWN)
    own = next(key for key in ring if key.use == JOB)
    for name, (role, project) in CALLERS.items():
        if name != "installation":
            ring += created(ring, [JOB], user=name, projects=project, role=role)
    write_keys(tmp_path / "keys.json", ring)
    monkeypatch.setattr(default_app(), "keys", LiveKeys(tmp_path / "keys.json"))
    return {"installation": own, **{key.user: key for key in ring if key.user}}


@pytest.fixture
def runtime(installation: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    made = Runtime(installation, SimpleNamespace(publish=lambda _: None), kind="coordinator")
    migrate(installation.effective_database_url)
    monkeypatch.setattr(tasks, "runtime", lambda: made)
    # There is no broker.
    monkeypatch.setattr(tasks, "announce_job", lambda _: None)
    monkeypatch.setattr(tasks._Turns, "unread", lambda _: 0)
    yield made
    made.close()


def carry_out(task: str, job: Mapping[str, Any], key_id: str) -> None:
    """Do what the coordinators do about a message."""
    tasks.accept(task, job, signed_by=key_id)
    tasks.begin_next()


MORE: Mapping[str, Mapping[str, Any]] = {
    "stack.create": {"template": "t"},
    "stack.update": {"template": "t"},
    "stack.adopt": {"template": "t", "resources": {}},
    "stack.import": {"template": "t", "resources": {}},
    "stack.signal": {"resource": "it"},
    "stack.restore": {"snapshot": "one"},
    "stack.delete_snapshot": {"snapshot": "one"},
}


def of_jobs(
    runtime: Runtime, keys: Mapping[str, Key], monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    begun: list[Job] = []
    monkeypatch.setattr(Coordinator, "begin", lambda _, job: begun.append(job))
    kinds: list[tuple[str, dict[str, Any]]] = [(task, {}) for task in sorted(JOBS)]
    for task, more in [*kinds, (DeleteJob.task, {"abandon": True})]:
        row = [f"the job `{task}`{' that abandons' if more else ''}"]
        for name in CALLERS:
            begun.clear()
            job = {
                "name": "s",
                "project": "acme",
                "job_id": f"{time.monotonic()}",
                **MORE.get(task, {}),
                **more,
            }
            carry_out(task, job, keys[name].id)
            row.append("yes" if begun else "-")
        yield row


def of_other_messages(keys: Mapping[str, Key]) -> Iterator[list[str]]:
    """Yield rows of the messages among processes, signed with the callers' keys for jobs: nobody's are taken."""
    names = sorted({*ROUTES, NODE_TASK} - set(JOBS))
    app = SimpleNamespace(
        tasks=dict.fromkeys(names), settings=Settings(), keys=lambda: KeyRing(keys.values())
    )
    for task in names:
        row = [f"the message `{task}`"]
        for name in CALLERS:
            queue = ROUTES.get(task, "node")
            envelope = Envelope(
                kind=task,
                addressee=queue,
                id="1",
                sent_at=time.time(),
                lifetime_seconds=60.0,
                content=b"\x80",
            )
            message = Message(
                body=envelope.seal(keys[name]),
                headers={"task": task, "id": "1"},
                content_type=f"application/x-{SEALED}",
            )
            try:
                verified(message, app, frozenset({queue}))
            except Refused:
                row.append("-")
            else:
                row.append("yes")
        yield row


def test_who_is_let_through_is_in_the_table(
    installation: Settings,
    tokens: dict[str, str],
    keys: dict[str, Key],
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [["asked for, in the project acme", *CALLERS], ["---"] * (1 + len(CALLERS))]
    rows += of_jobs(runtime, keys, monkeypatch)
    rows += of_other_messages(keys)
    rows += of_addresses(installation, tokens)
    rows += of_commands(installation, tokens, monkeypatch)
    text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    if os.environ.get("WRITE_ACCESS_TABLE"):
        EXPECTED.write_text(text)
    assert text == EXPECTED.read_text(), "if it is meant: run this test with WRITE_ACCESS_TABLE=1"


# -- what the other project has ---------------------------------------------------------------------------------


NAMED = sorted(
    words
    for words, command in leaves(isotherm).items()
    if words.startswith("stack ")
    # A plan of a name that is not there is that of a create; a file of a plan names its project.
    and words
    not in (
        *("stack create", "stack list", "stack preview", "stack adopt", "stack plan", "stack apply"),
        # It is about all stacks of the project.
        "stack observe run",
    )
)


@pytest.mark.parametrize("words", NAMED)
def test_no_command_finds_a_stack_of_another_project(
    words: str, installation: Settings, tokens: dict[str, str], theirs: str
) -> None:
    for name in ("theirs", theirs):
        code, output = typed(installation, words, tokens["installation"], name=name, names=name)
        assert code == 2, output
        assert f"project 'acme' has no stack '{name}'" in re.sub(r"\s+", " ", output)
        assert MARK not in output


def test_lists_show_nothing_of_another_project(installation: Settings, tokens: dict[str, str]) -> None:
    for words in ("stack list", "queue refused list", "event-sink list"):
        code, output = typed(installation, words, tokens["installation"])
        assert code == 0, output
        assert "theirs" not in output


def test_no_address_shows_a_stack_of_another_project(
    installation: Settings, tokens: dict[str, str], theirs: str
) -> None:
    settings = installation.with_values(
        authenticator="tokens", broker_url="memory://", database_url=installation.effective_database_url
    )
    headers = {"Authorization": f"Bearer {tokens['installation']}"}
    with (
        served(settings, Store.of(settings), stack_actions=True) as made,
        client(made, headers=headers) as asker,
    ):
        for address, kind in ADDRESSES.items():
            for name in ("theirs", theirs):
                at = address.replace("valued", name)
                if "/act/" in address:
                    order = {"stack_id": theirs, "traversal_id": "t", "confirm": "theirs"}
                    assert asker.post(at, json=order).status_code in (400, 404)
                    draft = {"stack_id": theirs, "traversal_id": "t", "name": "theirs", "template": "{}"}
                    assert asker.post(at, json=draft).status_code in (400, 404)
                elif not issubclass(kind, StreamHandler) or "valued" in address:
                    answer = asker.get(at)
                    # A node of that name is looked for by the page's script, and there is none either.
                    is_about_it = "valued" in address and address != "/stacks/nodes/valued"
                    # The address without a page leads to the list of stacks.
                    usual = (302,) if address == "/" else (200,)
                    assert answer.status_code in ((302, 404) if is_about_it else usual), at
                    assert MARK not in answer.text


@pytest.mark.parametrize("task", sorted(JOBS))
def test_no_job_reaches_a_stack_of_another_project(
    task: str, runtime: Runtime, keys: dict[str, Key], theirs: str
) -> None:
    before = runtime.store.past.traversals(theirs, limit=99)
    job_id = f"reaching {task}"
    job = {"name": theirs, "project": "acme", "job_id": job_id, **MORE.get(task, {})}
    carry_out(task, job, keys["operator"].id)
    row = runtime.store.stacks.job(job_id)
    assert row is not None
    assert row.status == "refused"
    assert runtime.store.past.traversals(theirs, limit=99) == before
