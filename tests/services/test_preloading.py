"""Workers and coordinators have imported what a first stack needs before they say that they are ready."""

import re
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.shapes import template
from tests.services.engine import EngineProcess, running
from tests.unit.docs.pages import Session
from tests.waiting import until

#: A line that Python writes for a module that it has imported.
IMPORTED = re.compile(r"^import time: [ \d]+\|[ \d]+\| +(\S+)$", re.MULTILINE)
#: What takes long enough to be waited for.
SLOW = (
    "orchestrator",
    "workers",
    "cache",
    "hooks",
    "sqlalchemy",
    "psycopg",
    "celery",
    "structlog",
    "pydantic",
)


def imported(engine: EngineProcess) -> list[str]:
    """Return the modules that a process and its children have imported so far."""
    return [each for each in IMPORTED.findall(engine.log) if each.partition(".")[0] in SLOW]


def test_no_job_and_no_check_waits_for_an_import(tmp_path: Path, redis_url: str, postgres_url: str) -> None:
    migrations.upgrade(postgres_url)
    session = Session(tmp_path)
    session.environment |= {
        "ISOTHERM_BROKER_URL": redis_url,
        "ISOTHERM_DATABASE_URL": postgres_url,
        "PYTHONPROFILEIMPORTTIME": "1",
    }
    processes = ("isotherm coordinator --concurrency 1", "isotherm worker --concurrency 1")
    settings = Settings(broker_url=redis_url, database_url=postgres_url)
    with running([session.start(each) for each in processes]) as engines, Service.open(settings) as service:
        before = [imported(engine) for engine in engines]
        assert all(before)
        stack = service.create(StackJob(name="first", template=template("layers", 20))).id
        until(lambda: service.stack(stack).status == "COMPLETE")
        later = [imported(engine)[len(known) :] for engine, known in zip(engines, before, strict=True)]
    assert later == [[], []]
