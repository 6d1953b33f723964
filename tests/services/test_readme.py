"""The README's installation by hand, with real servers and real processes, exactly as it is written there."""

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import keys
from tests.services.engine import running
from tests.services.process import free_port
from tests.unit.docs.pages import ROOT, Block, Session, blocks
from tests.waiting import until

DISTRIBUTED = [block for block in blocks(ROOT / "README.md") if "distributed" in block.marks]
SETUP, KEYS, LIMITS, PROCESSES, ASK, USE = DISTRIBUTED


@pytest.fixture
def session(tmp_path: Path, redis_url: str, postgres_url: str) -> Session:
    """A reader of the README whose servers, and whose free port, are elsewhere."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    replaced = {
        "redis://127.0.0.1:6379/0": redis_url,
        "postgresql://isotherm@127.0.0.1:5432/isotherm": postgres_url,
        "8080": str(free_port()),
    }
    assert all(any(theirs in block.text for block in DISTRIBUTED) for theirs in replaced)
    session = Session(tmp_path, replaced=replaced)
    # The page makes them.
    del session.environment[keys.VARIABLE]
    return session


def started(session: Session, block: Block) -> Iterator["subprocess.Popen[str]"]:
    for step in block.steps:
        yield session.start(step.command)


def is_well(session: Session) -> bool:
    """Whether the doctor finds all processes, and nothing wrong.

    Servers and processes have a second to answer it, which on a busy machine some may need longer for.
    """
    (asking,) = ASK.steps
    command = [*shlex.split(asking.command), "-f", "json"]
    done = subprocess.run(command, env=session.environment, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    found = {check["name"]: check["detail"] for check in json.loads(done.stdout or "[]")}
    workers = [worker.partition("@")[0] for worker in found.get("workers", "").split(", ")]
    return (
        done.returncode == 0
        and workers == ["w1", "w2", "w3"]
        and found["coordinators"].startswith("coordinator@")
        and found["nodes"] == "answering: host1"
    )


def test_a_coordinator_three_workers_and_an_agent_carry_out_what_the_readme_says(session: Session) -> None:
    session.type_in(SETUP)
    session.type_in(KEYS)
    session.type_in(LIMITS)
    # Whoever runs the tests may be root, and no other user reaches their files.
    session.environment["ISOTHERM_AGENT__RUN_AS"] = "root"
    assert set(session.environment) >= {"ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"}
    assert "processes" in PROCESSES.marks
    with running(list(started(session, PROCESSES))) as engines:
        until(lambda: is_well(session))
        session.type_in(USE)
        logs = [engine.log for engine in engines]
    coordinator, *workers, agent = logs
    for task in ("stack.create", "stack.delete", "stack.finish"):
        assert f"Task {task}[" in coordinator
    assert any("Task resource.check[" in worker for worker in workers)
    assert "Task node.call[" in agent
    assert "Traceback" not in "".join(logs)
