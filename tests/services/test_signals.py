"""SIGTERM, SIGHUP and Ctrl-C end every process in good order, whichever it is."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.service import Service
from orchestrator.store import migrations
from tests import keys
from tests.services.engine import EngineProcess
from tests.services.servers import RedisServer

pytestmark = pytest.mark.slow

ISOTHERM = str(Path(sys.executable).parent / "isotherm")
#: What is run, and the last words of the line by which it is known to be ready.
PROCESSES = {
    "coordinator": (["coordinator"], " ready."),
    "worker": (["worker", "--concurrency", "1"], " ready."),
    "threads": (["worker", "--concurrency", "1", "--pool", "threads"], " ready."),
    "agent": (["agent", "--node", "host1"], " ready."),
    "dashboard": (["dashboard", "--port=0"], "Ctrl-C ends it"),
}
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WAITING = """\
heat_template_version: 2021-04-16
resources:
  a: {type: OS::Heat::TestResource, properties: {action_wait_secs: {create: 3600}}}
"""


@pytest.fixture(autouse=True)
def hangup_is_not_ignored() -> Iterator[None]:
    """Let processes begin with the default at SIGHUP, also where the tests themselves run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


class Process(EngineProcess):
    """One that has a terminal's process group for itself."""

    def __init__(self, words: list[str], environment: dict[str, str], ready: str, *before: str) -> None:
        self.is_ready = ready
        super().__init__(
            subprocess.Popen(
                [*before, ISOTHERM, *words],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        )

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.append(line)
            if line.rstrip().endswith(self.is_ready):
                self._ready.set()
        self._ready.set()
        self.process.stdout.close()

    def send(self, number: signal.Signals) -> None:
        """Send a signal as a service manager does, or a terminal."""
        if number is signal.SIGTERM:
            self.process.send_signal(number)
        else:
            os.killpg(self.process.pid, number)


@pytest.fixture
def environment(tmp_path: Path, redis_server: RedisServer) -> dict[str, str]:
    settings = Settings(state_directory=tmp_path)
    migrations.upgrade(settings.effective_database_url)
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if name == keys.VARIABLE or not name.startswith(("ISOTHERM_", "FLOWER_"))
        },
        "ISOTHERM_STATE_DIRECTORY": str(tmp_path),
        "ISOTHERM_DATABASE_URL": settings.effective_database_url,
        "ISOTHERM_BROKER_URL": redis_server.empty_database(),
        "PYTHONUNBUFFERED": "1",
    }


@pytest.mark.parametrize("number", SIGNALS, ids=lambda each: each.name)
@pytest.mark.parametrize("kind", PROCESSES)
def test_every_process_ends_in_good_order(
    kind: str, number: signal.Signals, environment: dict[str, str]
) -> None:
    words, ready = PROCESSES[kind]
    process = Process(words, environment, ready)
    process.wait_until_ready()
    process.send(number)
    assert process.wait() == 0, process.log
    assert "Traceback" not in process.log
    assert "SIGKILL" not in process.log


@pytest.mark.parametrize("kind", ["worker", "dashboard"])
def test_nohup_outlives_its_terminal(kind: str, environment: dict[str, str]) -> None:
    words, ready = PROCESSES[kind]
    process = Process(words, environment, ready, "nohup")
    process.wait_until_ready()
    process.send(signal.SIGHUP)
    process.send(signal.SIGTERM)
    # Had SIGHUP ended it, it would have ended by that.
    assert process.wait() == 0, process.log


@pytest.mark.parametrize("number", SIGNALS, ids=lambda each: each.name)
def test_an_embedded_command_ends_in_good_order(
    number: signal.Signals, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "web.yaml").write_text(WAITING)
    del environment["ISOTHERM_BROKER_URL"]
    words = ["stack", "create", "web", "-t", str(tmp_path / "web.yaml")]
    process = Process(words, environment, "a CREATE_IN_PROGRESS")
    process.wait_until_ready()
    process.send(number)
    assert process.wait() == 128 + number, process.log
    assert "Interrupted: the stack stays as it is. Carry on with: isotherm stack watch web" in process.log
    assert "Traceback" not in process.log
    with Service.open(Settings(state_directory=tmp_path)) as service:
        assert service.stack("web").state == "CREATE_IN_PROGRESS"
