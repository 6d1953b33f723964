"""A stack is created and updated by real processes on a real broker and a real database."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.service import Service
from orchestrator.store import migrations
from orchestrator.store.store import Store
from tests.services.engine import running
from tests.unit.docs.pages import Session
from tests.waiting import until
from tests.warm import warm_program

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  length: {type: number, default: 8}
  said: {type: string, default: hello}
resources:
  random: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  copy: {type: OS::Heat::TestResource, properties: {value: {get_attr: [random, value]}}}
  word: {type: OS::Heat::TestResource, properties: {value: {get_param: said}}}
outputs:
  copied: {value: {get_attr: [copy, output]}}
  said: {value: {get_attr: [word, output]}}
"""


@pytest.fixture
def session(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Session]:
    """Somebody with a template, and a coordinator and two workers on an up-to-date database."""
    session = Session(tmp_path)
    session.environment |= {"ISOTHERM_BROKER_URL": redis_url, "ISOTHERM_DATABASE_URL": postgres_url}
    (session.directory / "t.yaml").write_text(TEMPLATE)
    isotherm(session, "db", "upgrade")
    processes = ("isotherm coordinator", "isotherm worker --name one", "isotherm worker --name two")
    with running([session.start_quickly(each) for each in processes]) as engines:
        yield session
    assert "Traceback" not in "".join(engine.log for engine in engines)
    store = Store(postgres_url)
    assert {view.state for view in store.processes.all(project="default")} == {"stopped"}
    store.close()


def isotherm(session: Session, *words: str, code: int = 0) -> str:
    """Type a command, which must end with a code; return what it writes."""
    done = subprocess.run(
        [str(warm_program()), *words],
        cwd=session.directory,
        env=session.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def service(redis_url: str, postgres_url: str, tmp_path: Path) -> Iterator[Service]:
    """What tells how the stack does."""
    settings = Settings(broker_url=redis_url, database_url=postgres_url, state_directory=tmp_path / "state")
    migrations.upgrade(postgres_url)
    with Service.open(settings) as service:
        yield service


def are_there(service: Service) -> None:
    """Find that every process that was started says so, and that what was done tells which of them did it."""
    views = service.observer.processes()
    assert {view.state for view in views} == {"present"}
    belonging = {(view.kind, view.celery_name.partition("@")[0], view.queues) for view in views}
    assert belonging == {
        ("coordinator", "coordinator", ("coordinator", "stacks")),
        ("worker", "one", ("checks",)),
        ("worker", "two", ("checks",)),
    }
    did = {event.worker for event in service.events("s") if event.resource}
    assert did <= {view.name for view in views if view.kind == "worker"}
    assert did


def physical_ids(service: Service) -> dict[str, str | None]:
    listed = service.resources("s")
    assert len(listed) == 3
    return {view.name: view.physical_id for view in listed}


def outputs(service: Service) -> dict[str, Any]:
    return {view.key: view.value for view in service.outputs("s")}


def test_a_stack_is_updated_with_a_replacement(session: Session, service: Service) -> None:
    isotherm(session, "stack", "create", "s", "-t", "t.yaml")
    are_there(service)
    before, first = physical_ids(service), outputs(service)

    words = ("stack", "update", "s", "--existing", "-P", "length=12", "-P", "said=bye")
    plan = json.loads(isotherm(session, *words, "--dry-run", "-f", "json"))
    assert {each["name"]: each["action"] for each in plan["resources"]} == {
        "random": "REPLACE",
        "copy": "DEPENDS",
        "word": "UPDATE",
    }
    assert (physical_ids(service), outputs(service)) == (before, first)

    assert isotherm(session, *words).startswith("s UPDATE_COMPLETE")
    after, second = physical_ids(service), outputs(service)
    assert {name for name in after if after[name] != before[name]} == {"random"}
    assert (len(second["copied"]), second["said"]) == (12, "bye")

    # What is refused leaves everything as it is.
    isotherm(session, "stack", "update", "s", "--existing", "-P", "lenght=1", code=2)
    assert (physical_ids(service), outputs(service)) == (after, second)

    # Ordered by the stack's id, and followed from elsewhere.
    isotherm(session, "stack", "update", service.stack("s").id, "-t", "t.yaml", "--no-wait")
    assert "UPDATE_COMPLETE" in isotherm(session, "stack", "watch", "s")
    assert outputs(service)["said"] == "hello"


def test_what_fails_or_is_cancelled_is_as_it_was_before(session: Session, service: Service) -> None:
    isotherm(session, "stack", "create", "s", "-t", "t.yaml")
    before = physical_ids(service)
    failing = TEMPLATE.replace("default: 8", "default: 9").replace(
        "outputs:",
        "  bad: {type: OS::Heat::TestResource, depends_on: copy, properties: {fail: true}}\noutputs:",
    )
    (session.directory / "bad.yaml").write_text(failing)
    written = isotherm(session, "stack", "update", "s", "-t", "bad.yaml", "--rollback", code=1)
    assert written.startswith("s ROLLBACK_COMPLETE")
    # The password may have been replaced, and the old one cleaned up, before the failure came.
    assert physical_ids(service).keys() == before.keys()
    assert physical_ids(service)["word"] == before["word"]
    assert (len(outputs(service)["copied"]), outputs(service)["said"]) == (8, "hello")

    # It is not over before it is cancelled.
    (session.directory / "hook.yaml").write_text(
        "resource_registry: {resources: {word: {hooks: pre-update}}}\n"
    )
    words = ("stack", "update", "s", "-t", "t.yaml", "-e", "hook.yaml", "-P", "said=bye", "--no-wait")
    isotherm(session, *words)
    until(lambda: service.progress(service.stack("s").id).hooks)
    assert isotherm(session, "stack", "cancel", "s").startswith("s ROLLBACK_COMPLETE")
    assert outputs(service)["said"] == "hello"


def test_a_stack_is_brought_back_to_a_snapshot_given_up_and_adopted(
    session: Session, service: Service
) -> None:
    isotherm(session, "stack", "create", "s", "-t", "t.yaml")
    before, first = physical_ids(service), outputs(service)
    isotherm(session, "stack", "snapshot", "create", "s", "--name", "first")
    isotherm(session, "stack", "update", "s", "--existing", "-P", "said=bye")
    assert isotherm(session, "stack", "snapshot", "restore", "s", "first").startswith("s RESTORE_COMPLETE")
    assert (physical_ids(service), outputs(service)) == (before, first)
    isotherm(session, "stack", "snapshot", "delete", "s", "first")
    assert service.snapshots("s") == []

    isotherm(session, "stack", "abandon", "s", "-o", "s.json")
    entries = json.loads((session.directory / "s.json").read_text())["resources"]
    assert {name: entry["resource_id"] for name, entry in entries.items()} == before
    assert isotherm(session, "stack", "adopt", "s", "--adopt-file", "s.json").startswith("s ADOPT_COMPLETE")
    assert (physical_ids(service), outputs(service)) == (before, first)
