"""The example of docs/queue.md, in an environment with only what the page names, submits a stack."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import tenacity
from sqlalchemy import make_url

from orchestrator.config.settings import Settings
from orchestrator.errors import NotFound
from orchestrator.service import Service
from orchestrator.store import migrations
from orchestrator.views.stacks import StackView
from tests import keys
from tests.services.engine import running
from tests.services.fresh import CLIENT
from tests.unit.docs.pages import ROOT, Session, blocks

PAGE = ROOT / "docs" / "queue.md"
BLOCKS = blocks(PAGE)
ANSWER = next(block.text for block in BLOCKS if block.mark("example") == "answer")
DEADLINE_SECONDS = 300.0

until_deadline = tenacity.Retrying(
    retry=tenacity.retry_if_exception_type((NotFound, LookupError)),
    wait=tenacity.wait_fixed(0.05),
    stop=tenacity.stop_after_delay(DEADLINE_SECONDS),
    reraise=True,
)


@pytest.fixture
def session(
    tmp_path: Path, redis_url: str, postgres_url: str, fresh: Callable[[Path], Path]
) -> Iterator[Session]:
    """A reader of the page, with a coordinator and a worker running on an up-to-date database."""
    (tmp_path / CLIENT).symlink_to(fresh(PAGE))
    session = Session(tmp_path, replaced={"redis://127.0.0.1:6379/0": redis_url})
    # The reader has made them.
    del session.environment[keys.VARIABLE]
    session.environment |= {"ISOTHERM_BROKER_URL": redis_url, "ISOTHERM_DATABASE_URL": postgres_url}
    migrations.upgrade(postgres_url)
    subprocess.run(["isotherm", "key", "create"], env=session.environment, cwd=tmp_path, check=True)
    with running(
        [session.start_quickly("isotherm coordinator"), session.start_quickly("isotherm worker")]
    ) as engines:
        yield session
    assert "Traceback" not in "".join(engine.log for engine in engines)


@pytest.fixture
def service(redis_url: str, postgres_url: str, tmp_path: Path) -> Iterator[Service]:
    """What tells how the stack does."""
    settings = Settings(broker_url=redis_url, database_url=postgres_url, state_directory=tmp_path / "state")
    with Service.open(settings) as service:
        yield service


def follow_the_page(session: Session) -> None:
    for block in BLOCKS:
        if block.mark("file"):
            session.write(block)
        elif "distributed" in block.marks and "-m venv" not in block.text:
            # The environment is there already.
            session.type_in(block)


def submit(session: Session, broker_url: str, task: str, job: dict[str, object]) -> None:
    """Call the page's function."""
    code = f"from submit import submit; submit({broker_url!r}, {task!r}, {job!r})"
    python = str(session.directory / CLIENT / "bin" / "python")
    subprocess.run([python, "-c", code], cwd=session.directory, env=session.environment, check=True)


def ended(service: Service, name: str) -> StackView:
    """Return the stack when its operation is over, which must be before the deadline."""
    stack = until_deadline(service.stack, name)
    for progress in service.watch(stack.id, interval_seconds=0.05):
        stack = progress.stack
    return stack


def answer(postgres_url: str, job_id: str) -> tuple[str, str | None, str | None]:
    """Ask for a job's answer as the page says."""
    url = make_url(postgres_url)
    with psycopg.connect(
        host=url.host, port=url.port, user=url.username, dbname=url.database, autocommit=True
    ) as connection:
        row = connection.execute(
            ANSWER.replace(":job_id", "%(job_id)s").encode(), {"job_id": job_id}
        ).fetchone()
    if row is None:
        raise LookupError(job_id)
    status, state, reason = row
    return status, state, reason


def test_the_pages_example_creates_a_stack(session: Session, service: Service) -> None:
    follow_the_page(session)
    stack = ended(service, "hello")
    assert stack.state == "CREATE_COMPLETE"
    assert len(service.output("hello", "password").value) == 32


def test_jobs_are_answered_in_the_database_as_the_page_says(
    session: Session, service: Service, redis_url: str, postgres_url: str
) -> None:
    follow_the_page(session)
    made = ended(service, "hello")
    template = (session.directory / "hello.yaml").read_text()
    submit(session, redis_url, "stack.create", {"name": "hello", "template": template, "job_id": "again"})
    assert until_deadline(answer, postgres_url, "again") == ("refused", None, None)
    submit(
        session, redis_url, "stack.create", {"name": "x", "template": "oops", "colour": 1, "job_id": "bad"}
    )
    assert until_deadline(answer, postgres_url, "bad") == ("refused", None, None)
    submit(session, redis_url, "stack.delete", {"name": "hello", "job_id": "away"})
    assert until_deadline(answer, postgres_url, "away")[0] == "accepted"
    assert ended(service, made.id).state == "DELETE_COMPLETE"
    reason = "Stack DELETE completed successfully"
    assert answer(postgres_url, "away") == ("accepted", "DELETE_COMPLETE", reason)
