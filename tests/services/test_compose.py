"""The processes of compose.yaml, started without containers: they become healthy, and do not stay so when stopped."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tenacity
import yaml

from tests import keys
from tests.services.process import free_port
from tests.services.servers import RedisServer
from tests.waiting import PATIENCE_SECONDS
from tests.warm import warm_program

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
#: How long a check waits for an answer that does not come: a container has more time than a test.
HASTE = ("--timeout 5", "--timeout 1")
#: The port that the dashboard has in its container.
DASHBOARD_PORT = "5555"
#: Where the service of the keys has the agent's volume.
AGENT_STATE = "/var/lib/agent"

pytestmark = pytest.mark.slow


class Installation:
    """Runs the commands of services as compose would, but without containers."""

    def __init__(self, environment: Mapping[str, str], directory: Path) -> None:
        self.dashboard_port = str(free_port())
        options = {"FLOWER_PORT": self.dashboard_port, "FLOWER_URL_PREFIX": "ops"}
        self.environment = {**environment, **options}
        self.directory = directory

    def environment_of(self, name: str) -> dict[str, str]:
        """Return the variables of a service: of an agent, with the volume that is its own, and without the database."""
        if name != "agent":
            return self.environment
        environment = {**self.environment, "ISOTHERM_STATE_DIRECTORY": str(self.directory / "agent")}
        del environment["ISOTHERM_DATABASE_URL"]
        return environment

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Start a service in the background."""
        command = [
            *SERVICES[name]["command"],
            *([] if name in ("dashboard", "agent") else ["--concurrency", "1"]),
        ]
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command, env=self.environment_of(name), cwd=self.directory, stdout=log, stderr=log
            )

    def check(self, name: str) -> bool:
        """Run a service's health check once."""
        kind, *words = SERVICES[name]["healthcheck"]["test"]
        command = ["sh", "-c", words[0].replace("$$", "$").replace(*HASTE)] if kind == "CMD-SHELL" else words
        command = [word.replace(f":{DASHBOARD_PORT}/", f":{self.dashboard_port}/") for word in command]
        result = subprocess.run(
            command, env=self.environment_of(name), cwd=self.directory, capture_output=True, check=False
        )
        return result.returncode == 0

    def becomes_healthy(self, name: str) -> bool:
        """Run a service's health check until it succeeds."""
        waiting = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda healthy: not healthy),
            stop=tenacity.stop_after_delay(300),
            wait=tenacity.wait_fixed(0.1),
        )
        return waiting(self.check, name)


@pytest.fixture
def installation(tmp_path: Path, redis_server: RedisServer, postgres_url: str) -> Installation:
    # What makes the tables is a short command; what goes on is the program itself.
    binaries = f"{warm_program().parent}:{Path(sys.executable).parent}"
    environment = keys.others()
    environment |= {
        "PATH": f"{binaries}:{environment['PATH']}",
        "ISOTHERM_BROKER_URL": redis_server.empty_database(),
        "ISOTHERM_DATABASE_URL": postgres_url,
        "ISOTHERM_STATE_DIRECTORY": str(tmp_path / "state"),
    }
    # They make the keys themselves.
    environment = {name: value for name, value in environment.items() if name != keys.VARIABLE}
    installation = Installation(environment, tmp_path)
    for name in ("migrate", "keys"):
        words = [word.replace(AGENT_STATE, str(tmp_path / "agent")) for word in SERVICES[name]["command"]]
        subprocess.run(words, env=environment, cwd=tmp_path, check=True)
    return installation


@pytest.mark.parametrize("name", ["worker", "coordinator", "dashboard", "agent"])
def test_process_is_healthy_until_it_is_stopped(name: str, installation: Installation) -> None:
    process = installation.start(name)
    try:
        assert installation.becomes_healthy(name)
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
    assert not installation.check(name)
