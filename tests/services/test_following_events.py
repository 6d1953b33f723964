"""The example that follows a stack from its events, on bare kombu, misses nothing, however often it is killed."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from orchestrator.store import migrations
from tests.faults.installation import PROCESSES, STACK, Installation
from tests.services.engine import running
from tests.unit.docs.pages import ROOT
from tests.waiting import PATIENCE_SECONDS, until
from tests.warm import warm_program

pytestmark = pytest.mark.slow

WIDTH, PARTS = 30, 4
#: Where kombu keeps what waits, and who wants to know.
QUEUE, BINDINGS = f"follow.default.{STACK}", "_kombu.binding.isotherm.events"
EXAMPLE = ROOT / "examples" / "events"


def template() -> str:
    """Return a stack in parts, of which all but the first wait until somebody lets them on."""
    resources: dict[str, Any] = {}
    for part in range(PARTS):
        earlier = list(resources)
        after = []
        if part:
            resources[f"handle_{part}"] = {"type": "OS::Heat::WaitConditionHandle"}
            resources[f"gate_{part}"] = {
                "type": "OS::Heat::WaitCondition",
                "properties": {"handle": {"get_resource": f"handle_{part}"}, "timeout": 600},
                "depends_on": earlier,
            }
            after = [f"gate_{part}"]
        for number in range(WIDTH):
            resources[f"value_{part}_{number}"] = {
                "type": "OS::Heat::Value",
                "properties": {"value": number},
                "depends_on": after,
            }
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


class Follower:
    """The example as a process, started again and again with the same record."""

    def __init__(self, installation: Installation, directory: Path, client: Path) -> None:
        self.installation, self.client = installation, client
        self.record = directory / "seen"
        self.complaints = directory / "complaints"
        self.starts = 0
        self.process = self.start()

    def start(self, *more: str) -> "subprocess.Popen[str]":
        program = EXAMPLE / "follow.py"
        options = ["--record", str(self.record), "--patience", "6", *more]
        options += ["--history", str(warm_program())]
        self.starts += 1
        arguments = [str(program), self.installation.settings.broker_url, STACK, *options]
        with self.complaints.open("a") as complaints:
            return subprocess.Popen(
                [str(self.client / "bin" / "python"), *arguments],
                env=self.installation.environment,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )

    def is_following(self) -> bool:
        return self.complaints.read_text().count("following") >= self.starts

    def kill(self) -> None:
        """End it as a power cut would; what it told a reader is of no interest any more."""
        self.process.kill()
        self.process.communicate()
        assert self.process.returncode == -9, "it had ended before"

    def start_again(self, *more: str) -> None:
        self.process = self.start(*more)

    def ended(self) -> list[str]:
        """Return what it shows at its end."""
        told, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert self.process.returncode == 0, self.complaints.read_text()
        _, _, picture = told.partition("\n\n")
        return picture.splitlines()

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
    """A coordinator and a worker, with sinks; the broker carries the checks too."""
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url)
    sinks = {
        "broker": {"enabled": True, "url": redis_url},
        "log": {"enabled": True, "file": str(tmp_path / "events.jsonl")},
        "prometheus": {"enabled": True, "textfile": str(tmp_path / "isotherm.prom")},
    }
    installation.environment["ISOTHERM_EVENT_SINKS"] = json.dumps(sinks)
    with (
        installation.service,
        running([installation.start(name) for name in list(PROCESSES)[:2]]) as installation.engines,
    ):
        yield installation
        print(installation.log)


@pytest.fixture
def follower(installation: Installation, tmp_path: Path, fresh: Callable[[Path], Path]) -> Iterator[Follower]:
    follower = Follower(installation, tmp_path, fresh(EXAMPLE / "README.md"))
    until(follower.is_following)
    yield follower
    if follower.process.poll() is None:
        follower.process.kill()
        follower.process.communicate()
    print(follower.complaints.read_text())


def logged(directory: Path) -> list[int]:
    """Return the ids in the sink's file, each where it came first; of a line that is being written, none."""
    lines = (directory / "events.jsonl").read_bytes().splitlines(keepends=True)
    return list(dict.fromkeys(json.loads(line)["id"] for line in lines if line.endswith(b"}\n")))


def counted(directory: Path, name: str) -> Counter[str]:
    """Return the sums of a counter, by state."""
    sums: Counter[str] = Counter()
    for family in parse((directory / "isotherm.prom").read_text()):
        for each in family.samples:
            if each.name == name:
                sums[f"{each.labels['action']}_{each.labels['status']}"] += int(each.value)
    return sums


def test_nothing_is_missed_whoever_is_killed(
    installation: Installation, follower: Follower, tmp_path: Path
) -> None:
    stack = installation.create(template())
    until(lambda: len(follower.seen()) > 20)
    follower.kill()
    follower.start_again()
    # With the first part, the handles of the gates are there.
    until(lambda: installation.service.progress(stack).done >= WIDTH + PARTS - 1)
    seen = len(follower.seen())
    installation.service.signal(stack, "handle_1", {})
    until(lambda: len(follower.seen()) > seen + 20)
    follower.kill()
    # Those die too who tell the sinks, and the broker forgets who wants to know, and what waits there.
    installation.engine("coordinator").kill()
    with installation.broker() as broker:
        broker.delete(QUEUE, BINDINGS)
    installation.start_another("coordinator")
    installation.service.signal(stack, "handle_2", {})
    until(lambda: installation.service.progress(stack).done > 3 * WIDTH)
    until(lambda: all(cursor.backlog == 0 for cursor in installation.service._store.sink_cursors.all()))
    follower.start_again("--until-done")
    until(follower.is_following)
    installation.service.signal(stack, "handle_3", {})
    picture = follower.ended()
    history = installation.events(stack)
    assert sorted(follower.seen()) == [event.id for event in history]
    assert "reading in the history" in follower.complaints.read_text()
    assert picture[0] == f"{STACK} CREATE_COMPLETE"
    resources = installation.service.resources(stack)
    assert len(resources) > 100
    assert sorted(picture[1:]) == sorted(f"{each.name} {each.state}" for each in resources)
    # The other sinks missed nothing either, and what is counted was counted once.
    until(lambda: logged(tmp_path) == [event.id for event in history])
    of_resources = Counter(event.state for event in history if event.resource and not event.cause)
    until(lambda: counted(tmp_path, "isotherm_resource_actions_total") == of_resources)
    of_stacks = Counter(event.state for event in history if not event.resource)
    assert counted(tmp_path, "isotherm_stack_operations_total") == of_stacks
    # The stack goes, and with it what there is to follow.
    follower.start_again()
    installation.service.delete(STACK)
    assert follower.ended() == [f"{STACK} DELETE_COMPLETE"]
    with installation.broker() as broker:
        assert broker.exists(QUEUE, BINDINGS) == 0
