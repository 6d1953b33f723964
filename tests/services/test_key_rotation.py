"""Keys are rotated while processes run, and no stack notices."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.keys.envelope import KEY
from orchestrator.keys.key import ACTIVE, AGENT, ENGINE, JOB, NODE, Key
from orchestrator.keys.key_file import read_keys
from orchestrator.store import migrations
from tests.faults.installation import Installation
from tests.keys import VARIABLE
from tests.services.engine import running
from tests.warm import start as warm_start

pytestmark = pytest.mark.slow

NODE_NAME = "host1"
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  file:
    type: Isotherm::Node::File
    properties: {{node: host1, path: {name}.txt, content: {name}}}
"""


class Machines:
    """A machine with a coordinator and a worker, and another with an agent, each with a file of keys of its own."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.keys, self.agents = installation.directory / "keys.json", installation.directory / "agent.json"
        installation.environment[VARIABLE] = str(self.keys)
        self.isotherm("key", "create", "--node", NODE_NAME)
        self.bring()
        agent = {**installation.environment, VARIABLE: str(self.agents)}
        words = ("agent", "--node", NODE_NAME)
        self.processes = [
            installation._start("coordinator"),
            installation._start("worker"),
            warm_start(words, directory=installation.directory, environment=agent),
        ]

    def isotherm(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = self.installation.isotherm(*words)
        assert done.returncode == 0, done.stderr
        return done

    def bring(self) -> None:
        """Bring the agent its keys."""
        self.isotherm("key", "export", "--node", NODE_NAME, "-o", str(self.agents))

    def active(self) -> dict[str, str]:
        """Return the ids of the keys that sign."""
        found: list[Key] = read_keys(self.keys)
        return {key.use: key.id for key in found if key.state == ACTIVE}

    def create(self, name: str) -> None:
        """Make a stack by all of them: a job, a check, a request and its reply."""
        (self.installation.directory / "t.yaml").write_text(TEMPLATE.format(name=name))
        self.isotherm("stack", "create", name, "-t", "t.yaml")


@pytest.fixture
def machines(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Machines]:
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url)
    machines = Machines(installation)
    with installation.service, running(machines.processes) as installation.engines:
        yield machines
        print(installation.log)


def test_keys_are_rotated_while_stacks_are_made(machines: Machines) -> None:
    first = machines.active()
    assert first.keys() == {JOB, ENGINE, NODE, AGENT}
    machines.create("before")
    # At once after each step: a message with a key that a process has not read yet makes it look.
    for step, words in enumerate([("create",), ("create", "--node", NODE_NAME), ("rotate",), ("remove",)]):
        machines.isotherm("key", *words)
        machines.bring()
        machines.create(f"after-{step}")
    assert not set(machines.active().values()) & set(first.values())
    assert len(read_keys(machines.keys)) == len(first)
    # What was signed with a removed key, such as an order of a process that had not read the file yet, is sent again.
    assert {each.reason for each in machines.installation.service.refused.counts()} <= {KEY}
    assert "Traceback" not in machines.installation.log
