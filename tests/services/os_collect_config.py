"""os-collect-config, unmodified, in the environment of the clients of OpenStack: what a server of a stack runs."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services.openstack_client import PYTHON
from tests.waiting import PATIENCE_SECONDS

_PROGRAM = PYTHON.parent / "os-collect-config"


def collected(directory: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what its collector ``cfn`` prints, given a section of the metadata of a server or of its user data."""
    if not _PROGRAM.exists():
        assert not os.environ.get("CI"), f"{_PROGRAM} is missing: run make test"
        pytest.skip("os-collect-config is not installed: run make test")
    section = "\n".join(f"{name} = {value}" for name, value in options["cfn"].items())
    file = directory / "os-collect-config.conf"
    file.write_text(f"[DEFAULT]\ncollectors = cfn\n[cfn]\n{section}\n")
    caches = [f"--{name}={directory / name}" for name in ("cachedir", "backup-cachedir")]
    done = subprocess.run(
        [str(_PROGRAM), f"--config-file={file}", "--print", "--one-time", *caches],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["cfn"]
    return found


def inputs_of(deployment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the inputs of one of the deployments that it prints."""
    return {each["name"]: each["value"] for each in deployment["inputs"]}


def notify(deployment: Mapping[str, Any], **outputs: Any) -> int:
    """Signal the outputs of a deployment, as heat-config-notify does; return the status of the answer."""
    inputs = inputs_of(deployment)
    answer = httpx.request(
        inputs["deploy_signal_verb"],
        inputs["deploy_signal_id"],
        content=json.dumps(outputs),
        headers={"content-type": "application/json"},
        timeout=PATIENCE_SECONDS,
    )
    return answer.status_code
