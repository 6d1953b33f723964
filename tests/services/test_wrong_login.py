"""A broker that refuses the password ends every command and process with 3 and what to correct."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import make_url

from orchestrator.store import migrations
from tests.services.rabbit import RabbitServer
from tests.waiting import PATIENCE_SECONDS

COMMANDS = ["worker", "coordinator", "agent --node a", "dashboard --port=0", "stack create web -t t.yaml"]
TEMPLATE = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"


def refused(command: str, url: str, database: str, directory: Path) -> str:
    """Run a command with a wrong password; return its stderr."""
    migrations.upgrade(database)
    (directory / "t.yaml").write_text(TEMPLATE)
    wrong = (
        make_url(url).set(username="guest", password="SECRET").render_as_string(hide_password=False)
    )  # wrong
    environment = {
        **os.environ,
        "ISOTHERM_CONFIG": os.devnull,
        "ISOTHERM_BROKER_URL": wrong,
        "ISOTHERM_DATABASE_URL": database,
        "ISOTHERM_STATE_DIRECTORY": str(directory),
    }
    done = subprocess.run(
        [sys.executable, "-m", "isotherm", *command.split()],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "ISOTHERM_BROKER_URL" in done.stderr or "broker does not answer" in done.stderr
    for never in ("Traceback", "a bug", "SECRET"):
        assert never not in done.stderr
    return done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_by_redis(command: str, redis_url: str, postgres_url: str, tmp_path: Path) -> None:
    assert "password" in refused(command, redis_url, postgres_url, tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_by_rabbitmq(command: str, rabbit_server: RabbitServer, postgres_url: str, tmp_path: Path) -> None:
    assert "ACCESS_REFUSED" in refused(command, rabbit_server.url, postgres_url, tmp_path)
