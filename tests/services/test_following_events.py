"""The example that follows a stack from its events, on bare kombu, misses nothing, however often it is killed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store import migrations
from tests.faults.installation import PROCESSES, STACK, Installation, until
from tests.services.engine import running
from tests.unit.docs.pages import ROOT

pytestmark = pytest.mark.slow

LAYERS, WIDTH = 6, 18
#: Runs a program where neither Celery nor Isotherm can be imported.
ALONE = """
import runpy, sys
sys.modules |= dict.fromkeys(("celery", "orchestrator", "workers", "hooks", "cache"))
sys.path.insert(0, {directory!r})
sys.argv = {arguments!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def template() -> str:
    """Return a stack whose create takes a few seconds: in each layer, one resource waits for the layer before."""
    resources: dict[str, Any] = {}
    for layer in range(LAYERS):
        before = [f"value_{layer - 1}_{number}" for number in range(WIDTH)] if layer else []
        resources[f"pause_{layer}"] = {
            "type": "OS::Heat::Delay",
            "properties": {"min_wait": 0.3},
            "depends_on": before,
        }
        for number in range(WIDTH):
            resources[f"value_{layer}_{number}"] = {
                "type": "OS::Heat::Value",
                "properties": {"value": number},
                "depends_on": f"pause_{layer}",
            }
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


class Follower:
    """The example as a process, started again and again with the same record."""

    def __init__(self, installation: Installation, directory: Path) -> None:
        self.installation = installation
        self.record = directory / "seen"
        self.complaints = directory / "complaints"
        self.process = self.start()

    def start(self) -> "subprocess.Popen[str]":
        program = ROOT / "examples" / "events" / "follow.py"
        options = ["--record", str(self.record), "--until-done", "--patience", "7"]
        options += ["--history", str(Path(sys.executable).with_name("isotherm"))]
        arguments = [str(program), self.installation.settings.broker_url, STACK, *options]
        with self.complaints.open("a") as complaints:
            return subprocess.Popen(
                [sys.executable, "-c", ALONE.format(directory=str(program.parent), arguments=arguments)],
                env=self.installation.environment,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )

    def is_following(self) -> bool:
        return "following" in self.complaints.read_text()

    def kill(self) -> None:
        """End it as a power cut would; what it told a reader is of no interest any more."""
        self.process.kill()
        self.process.communicate()
        assert self.process.returncode == -9, "it had ended before"

    def start_again(self) -> None:
        self.process = self.start()

    def seen(self) -> list[int]:
        if not self.record.exists():
            return []
        return [
            json.loads(line)["id"]
            for line in self.record.read_bytes().splitlines(True)
            if line.endswith(b"\n")
        ]


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Installation]:
    """A coordinator and a worker, with the sink on the broker that carries the checks."""
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url)
    installation.environment["ISOTHERM_EVENT_SINKS"] = json.dumps(
        {"broker": {"enabled": True, "url": redis_url}}
    )
    with (
        installation.service,
        running([installation.start(name) for name in list(PROCESSES)[:2]]) as installation.engines,
    ):
        yield installation
        print(installation.log)


@pytest.fixture
def follower(installation: Installation, tmp_path: Path) -> Iterator[Follower]:
    follower = Follower(installation, tmp_path)
    until(follower.is_following)
    yield follower
    if follower.process.poll() is None:
        follower.process.kill()
        follower.process.communicate()
    print(follower.complaints.read_text())


def test_a_follower_that_is_killed_again_and_again_misses_nothing(
    installation: Installation, follower: Follower
) -> None:
    stack = installation.create(template())
    until(lambda: len(follower.seen()) > 20)
    follower.kill()
    assert not installation.service.progress(stack).finished
    follower.start_again()
    seen = len(follower.seen())
    until(lambda: len(follower.seen()) > seen + 20)
    follower.kill()
    assert not installation.service.progress(stack).finished
    # Meanwhile the broker loses what waits there.
    with installation.broker() as broker:
        until(lambda: broker.llen(f"follow.default.{STACK}") > 5)
        broker.delete(f"follow.default.{STACK}")
    follower.start_again()
    told, _ = follower.process.communicate(timeout=60)
    assert follower.process.returncode == 0, follower.complaints.read_text()
    happened = installation.events(stack)
    assert len(happened) == 2 * LAYERS * (WIDTH + 1) + 2
    assert set(follower.seen()) == {event.id for event in happened}
    assert len(follower.seen()) == len(happened)
    _, _, picture = told.partition(f"\n{STACK} CREATE_COMPLETE\n")
    resources = installation.service.resources(stack)
    assert sorted(picture.splitlines()) == sorted(f"{each.name} {each.state}" for each in resources)
    assert "reading in the history" in follower.complaints.read_text()
