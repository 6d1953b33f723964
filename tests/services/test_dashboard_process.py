"""The dashboard as a process: two that want one address, one that is killed, and one that is asked to stop."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import tenacity

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from tests import keys
from tests.services.process import free_port
from tests.services.servers import RedisServer
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

BINARIES = Path(sys.executable).parent
BY_CELERY = (str(BINARIES / "celery"), "-A", "orchestrator.queue:app", "dashboard")
BY_ISOTHERM = (str(BINARIES / "isotherm"), "dashboard")
TEMPLATE = "heat_template_version: 2021-04-16\nresources: {one: {type: OS::Heat::None}}"


def started(command: tuple[str, ...], port: int, environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*command, f"--port={port}"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(httpx.TransportError),
    wait=tenacity.wait_fixed(0.05),
    stop=tenacity.stop_after_delay(300),
)
def asked(port: int, path: str) -> Any:
    """Return what a dashboard answers, once one is there."""
    answer = httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_dashboard_that_was_killed_is_replaced_and_one_that_is_asked_to_stop_does(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    embedded = Settings(state_directory=tmp_path)
    with Service.open(embedded) as service:
        made = service.create(StackJob(name="web", template=TEMPLATE))
        list(service.watch(made.id))
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if name == keys.VARIABLE or not name.startswith(("ISOTHERM_", "FLOWER_"))
        },
        "ISOTHERM_STATE_DIRECTORY": str(tmp_path),
        "ISOTHERM_DATABASE_URL": embedded.effective_database_url,
        "ISOTHERM_BROKER_URL": redis_server.empty_database(),
    }
    port = free_port()
    first = started(BY_CELERY, port, environment)
    try:
        before = asked(port, "/stacks/data")
        assert [row["name"] for row in before["rows"]] == ["web"]

        second = started(BY_CELERY, port, environment)
        _, said = second.communicate(timeout=PATIENCE_SECONDS)
        assert second.returncode == 2, said
        assert f"cannot listen on 127.0.0.1:{port}" in said
        assert "Traceback" not in said
    finally:
        first.kill()
        first.communicate()

    third = started(BY_ISOTHERM, port, environment)
    try:
        after = asked(port, "/stacks/data")
        assert after["rows"] == before["rows"]
        # Somebody looks on, and still it ends.
        with httpx.stream(
            "GET", f"http://127.0.0.1:{port}/stacks/stream", trust_env=False, timeout=PATIENCE_SECONDS
        ) as stream:
            assert stream.status_code == 200
            third.terminate()
            _, said = third.communicate(timeout=PATIENCE_SECONDS)
    finally:
        third.kill()
        third.wait()
    assert third.returncode == 0, said
    assert "Traceback" not in said


def test_what_a_dashboard_writes_is_for_its_own_user_alone(tmp_path: Path) -> None:
    environment = {
        **{
            name: value for name, value in os.environ.items() if not name.startswith(("ISOTHERM_", "FLOWER_"))
        },
        "ISOTHERM_STATE_DIRECTORY": str(tmp_path / "state"),
    }
    port = free_port()
    options = ("--persistent=true", f"--db={tmp_path / 'flower'}", f"--log_file_prefix={tmp_path / 'log'}")
    dashboard = subprocess.Popen(
        [*BY_ISOTHERM, f"--port={port}", *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        umask=0,
    )
    try:
        asked(port, "/stacks/data")
        dashboard.terminate()
        _, said = dashboard.communicate(timeout=PATIENCE_SECONDS)
    finally:
        dashboard.kill()
        dashboard.wait()
    assert dashboard.returncode == 0, said
    written = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert {"state", "isotherm.db", "log"} < set(written)
    assert any(name.startswith("flower") for name in written)
    assert {name: mode for name, mode in written.items() if mode & 0o077} == {}
