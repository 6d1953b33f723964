"""Processes that tell an event sink are killed in the middle: it misses nothing, and nothing comes too early."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.config.settings import Settings
from orchestrator.service import Service
from orchestrator.store import migrations
from tests import keys
from tests.bench.shapes import template
from tests.faults.installation import PROCESSES, Installation
from tests.services.engine import running
from tests.waiting import PATIENCE_SECONDS, until
from tests.warm import warm_program

pytestmark = pytest.mark.slow

SIZE = 120

#: A package as others make them; its sink takes its time, so that there is always something left to tell.
RECORDER = """
    import json, os, time
    from hooks.events import EventSink

    class Recorder(EventSink):
        def restore(self, state):
            self.count = int(state or b"0")

        def consume(self, events):
            for event in events:
                time.sleep(0.004)
                line = json.dumps([os.getpid(), event.id, event.stack_id, time.time() - event.at])
                with open(os.environ["RECORD"], "a") as record:
                    record.write(line + "\\n")
            self.count += len(events)

        def save(self):
            return str(self.count).encode()
"""


class Recorded:
    """What the sink was told, by whom."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def lines(self) -> list[tuple[int, int, str, float]]:
        """Return process, event, stack, and how many seconds it took, in the order of arrival."""
        if not self.file.exists():
            return []
        return [tuple(json.loads(line)) for line in self.file.read_text().splitlines()]

    def first(self, stack_id: str) -> list[int]:
        """Return a stack's events, each where it came first."""
        return list(dict.fromkeys(event for _, event, stack, _ in self.lines() if stack == stack_id))


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "record")


@pytest.fixture
def installed(tmp_path: Path, recorded: Recorded) -> dict[str, str]:
    """Return the variables with which programs find the package, and where it records."""
    packages = tmp_path / "packages"
    metadata = packages / "recorder-1.0.dist-info"
    metadata.mkdir(parents=True)
    (packages / "recorder.py").write_text(textwrap.dedent(RECORDER))
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: recorder\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[isotherm.event_sinks]\nrecorder = recorder:Recorder\n")
    path = [str(packages), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(path), "RECORD": str(recorded.file)}


@pytest.fixture
def installation(
    tmp_path: Path, redis_url: str, postgres_url: str, installed: dict[str, str]
) -> Iterator[Installation]:
    """A coordinator and workers, with the package installed."""
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url)
    installation.environment |= installed
    with (
        installation.service,
        running([installation.start(name) for name in PROCESSES]) as installation.engines,
    ):
        until(lambda: [row for row in installation.service._store.sink_cursors.all() if row.owner])
        yield installation
        print(installation.log)


def test_a_sink_misses_nothing_whichever_process_is_killed(
    installation: Installation, recorded: Recorded
) -> None:
    stack = installation.create(template("layers", SIZE))
    until(lambda: len(recorded.lines()) > 20)
    # The process that tells it, alone: another child of the same coordinator goes on.
    first = recorded.lines()[-1][0]
    psutil.Process(first).kill()
    until(lambda: recorded.lines()[-1][0] != first)
    before = len(recorded.lines())
    until(lambda: len(recorded.lines()) > before + 20)
    # The coordinator with all its children: the next one goes on.
    installation.engine("coordinator").kill()
    told = {process for process, *_ in recorded.lines()}
    installation.start_another("coordinator")
    until(lambda: {process for process, *_ in recorded.lines()} - told)
    assert installation.ended(stack).state == "CREATE_COMPLETE"
    happened = [event.id for event in installation.events(stack)]
    until(lambda: set(happened) <= set(recorded.first(stack)))
    assert recorded.first(stack) == happened
    until(lambda: installation.service._store.sink_cursors.all()[0].backlog == 0)
    cursor = installation.service._store.sink_cursors.all()[0]
    assert (cursor.lost, cursor.error) == (0, "")


def test_a_sink_misses_nothing_when_a_command_without_a_broker_is_killed(
    tmp_path: Path, recorded: Recorded, installed: dict[str, str]
) -> None:
    settings = Settings(state_directory=tmp_path / "state")
    (tmp_path / "t.yaml").write_text(template("layers", SIZE))
    others = keys.others()
    environment = {**others, **installed, "ISOTHERM_STATE_DIRECTORY": str(settings.state_directory)}
    isotherm = str(Path(sys.executable).with_name("isotherm"))
    creating = subprocess.Popen(
        [isotherm, "stack", "create", "web", "-t", "t.yaml"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: len(recorded.lines()) > 20)
    creating.kill()
    # It has ended, though nobody has looked for it yet: the next one takes over at once all the same.
    os.waitid(os.P_PID, creating.pid, os.WEXITED | os.WNOWAIT)
    watching = subprocess.run(
        [str(warm_program()), "stack", "watch", "web"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    creating.wait()
    assert watching.returncode == 0, watching.stderr
    with Service.open(settings) as service:
        stack = service.stack("web")
        happened = [event.id for event in service.events("web", limit=10_000)]
    assert stack.state == "CREATE_COMPLETE"
    assert recorded.first(stack.id) == happened
    assert len({process for process, *_ in recorded.lines()}) == 2
