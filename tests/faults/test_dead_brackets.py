"""A coordinator is killed at every point of a create with three lifecycle plugins: the brackets match all the same.

A stack for each point: all of them stand at theirs when the one coordinator is killed, and another goes on with all.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import StackJob
from orchestrator.queue.celery_app import make_app, send_job
from orchestrator.store import migrations, tables
from orchestrator.store.store import Store
from orchestrator.store.traversals.operation_rows import OperationRow
from orchestrator.views.stacks import StackView
from tests.faults import threaded_coordinator
from tests.faults.installation import Installation
from tests.operations import operations_of
from tests.services.engine import EngineProcess, running
from tests.unit.packages import install
from tests.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PLUGINS = ("a", "b", "c")
#: Before and after each word that a plugin says.
POINTS = tuple("-".join(point) for point in product(("before", "after"), ("enter", "leave"), PLUGINS))
#: Between the last word before the operation and the transaction that begins it: there is no plugin there.
BETWEEN = "between"
#: As long as a plugin may take, for all to be at their points; nobody goes on with what they did before that is over.
PATIENCE_SECONDS = 300.0
#: A coordinator that stands still for some seconds is not taken for dead: what it had called would be called again.
UNHURRIED = {"lease_seconds": "20", "job_lease_seconds": "20"}
TEMPLATE = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"

#: Three plugins as others make them. Each writes down what it is asked and told; at the point that a stack is named
#: after it stands still, the first time that it comes there.
WRITERS = """
    import json, os, threading
    from hooks.lifecycle import LifecyclePlugin

    def write(*words):
        line = json.dumps(words) + "\\n"
        file = os.open(os.environ["BOOK"], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(file, line.encode())
        os.close(file)

    class Writer(LifecyclePlugin):
        def do_pre_op(self, context, stack, current_stack, action):
            self.stand(stack, "before-enter")
            write(stack.name, "enter", self.name, context.operation_id, action, None)
            self.stand(stack, "after-enter")

        def do_post_op(self, context, stack, current_stack, action, is_stack_failure):
            self.stand(stack, "before-leave")
            write(stack.name, "leave", self.name, context.operation_id, action, is_stack_failure)
            self.stand(stack, "after-leave")

        def stand(self, stack, where):
            if stack.name == f"{where}-{self.name}":
                try:
                    os.close(os.open(os.environ["BOOK"] + "." + stack.name, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    return
                threading.Event().wait()
"""


#: The word, the plugin, the operation, the action, whether it failed.
Line = tuple[str, str, str, str, bool | None]


class Book:
    """What the plugins wrote down, and who stands where."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def lines(self, stack: str) -> list[Line]:
        """Return what was said of a stack."""
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [tuple(line[1:]) for line in lines if line[0] == stack]

    def stand(self) -> bool:
        """Whether everybody is at his point."""
        return all(self.file.with_name(f"{self.file.name}.{point}").exists() for point in POINTS)


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Installation]:
    """A coordinator and a worker, with the plugins installed."""
    packages = tmp_path / "packages"
    packages.mkdir()
    entries = {"isotherm.lifecycle": [f"{name} = writers:Writer" for name in PLUGINS]}
    install(packages, "writers", WRITERS, entries)
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url, **UNHURRIED)
    path = [str(packages), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    limits = {name: {"time_limit_seconds": PATIENCE_SECONDS} for name in PLUGINS}
    installation.environment |= {
        "PYTHONPATH": os.pathsep.join(path),
        "BOOK": str(tmp_path / "book"),
        "ISOTHERM_LIFECYCLE": json.dumps(limits),
    }
    processes = [installation.run(COORDINATOR), installation.start("w1")]
    with installation.service, running(processes) as installation.engines:
        yield installation
        print(installation.log)


#: Every stack may stand still in it, and there is somebody left who sweeps.
COORDINATOR = (sys.executable, "-m", threaded_coordinator.__name__, str(len(POINTS) + 4))


@contextmanager
def no_stack_begun(url: str, name: str) -> Iterator[sa.Engine]:
    """Keep whoever begins a stack of this name waiting in the middle of it, and keep no trace of that."""
    stack = tables.stack
    values = {each.name: "" for each in stack.c if not each.nullable and each.server_default is None}
    times = dict.fromkeys(("timeout_minutes", "created_at", "updated_at"), 0.0)
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        connection.execute(stack.insert().values({**values, **times, "project": "default", "name": name}))
        yield engine
    engine.dispose()


def test_brackets_match_wherever_in_a_create_the_coordinator_is_killed(
    installation: Installation, tmp_path: Path
) -> None:
    book = Book(tmp_path / "book")
    app = make_app(installation.settings)
    ids = {}
    with no_stack_begun(installation.settings.database_url or "", BETWEEN) as engine:
        for name in (*POINTS, BETWEEN):
            job = StackJob(name=name, template=TEMPLATE, job_id=name)
            send_job(app, job, stack=name)
        until(book.stand)
        until(lambda: waits(engine))
        installation.engines[0].kill()
    assert [word for word, *_ in book.lines(BETWEEN)] == ["enter"] * 3
    assert not called(installation, BETWEEN)
    another = EngineProcess(installation.run(COORDINATOR))
    installation.engines.append(another)
    another.wait_until_ready()
    for name in (*POINTS, BETWEEN):
        (stack,) = until(partial(called, installation, name))
        assert installation.ended(stack.id).state == "CREATE_COMPLETE"
        ids[name] = stack.id
    store = installation.service._store
    for name, stack_id in ids.items():
        operations = until(partial(over, store, stack_id))
        lines = book.lines(name)
        assert {each[2] for each in lines} == {each.id for each in operations}
        # One that nobody had gone on with in time was unwound, and begun anew.
        (begun,) = [each for each in operations if each.outcome == "complete"]
        for operation in operations:
            mine = [each for each in lines if each[2] == operation.id]
            check_brackets(mine, complete=operation is begun)
        words = [each[:3] for each in lines]
        # Only the call in whose middle the coordinator died comes twice.
        _, _, cut_short = name.partition("after-")
        twice = ["-".join(word) for *word, _ in (Counter(words) - Counter(set(words)))]
        assert twice == ([cut_short] if cut_short and len(operations) == 1 else [])


def check_brackets(lines: Sequence[Line], *, complete: bool) -> None:
    """Check that whoever was asked about an operation was told, in the reverse order, how it ended."""
    entered, left = (
        list(dict.fromkeys(plugin for said, plugin, *_ in lines if said == word))
        for word in ("enter", "leave")
    )
    assert [word for word, *_ in lines] == sorted(word for word, *_ in lines)
    assert entered == list(PLUGINS[: 3 if complete else len(entered)])
    # Whoever was about to be asked when the process died is told to be sure.
    unsure = 0 if complete else 1
    assert left in [list(reversed(PLUGINS[: len(entered) + more])) for more in range(unsure + 1)]
    assert {action for *_, action, _ in lines} == {"CREATE"}
    assert {failed for word, *_, failed in lines if word == "leave"} == {not complete}


def called(installation: Installation, name: str) -> list[StackView]:
    """Return the stacks of this name."""
    return [each for each in installation.service.stacks() if each.name == name]


def over(store: Store, stack_id: str) -> list[OperationRow]:
    """Return a stack's operations, if all are over."""
    rows = operations_of(store, stack_id)
    return rows if all(row.state == "over" for row in rows) else []


def waits(engine: sa.Engine) -> bool:
    """Whether somebody waits for what another has."""
    with engine.connect() as connection:
        return bool(connection.execute(sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar())
