"""The example ``examples/nodes`` does what its page says, with real processes on the one node of embedded mode."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm
from orchestrator.config.settings import load_settings
from orchestrator.nodes.rpc.client import NodeClient
from tests.unit.docs.pages import ROOT

TEMPLATE = str(ROOT / "examples" / "nodes" / "shop.yaml")


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def well(*words: str) -> Any:
    """Run a command that must succeed; return what it says as JSON."""
    done = run(*words, "-f", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let everything happen in a state directory of its own, and leave no process behind."""
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL", "ISOTHERM_NODE_DIRECTORIES"):
        monkeypatch.delenv(name, raising=False)
    yield
    run("stack", "delete", "shop", "-y")
    NodeClient.of(load_settings()).close()


def instances() -> dict[str, Any]:
    found = well("node", "instances", "local")["instances"]
    return {each["resource"]: each for each in found}


def test_a_shop_opens_grows_is_mended_and_closes() -> None:
    well("stack", "create", "shop", "-t", TEMPLATE)
    found = instances()
    assert set(found) == {"till", "bell", "counter_one", "counter_two"}
    assert {each["stack"] for each in found.values()} == {"shop"}
    assert {each["state"] for each in found.values()} == {"running"}
    assert set(well("stack", "output", "show", "shop", "nodes")["value"].values()) == {"local"}
    book = Path(well("stack", "output", "show", "shop", "book")["value"]) / "book"
    assert book.read_text() == "the till is open\n"

    [node] = well("node", "list")
    assert (node["instances"], node["promised"]["memory_mib"]) == (4, 4 * 32)
    well("stack", "update", "shop", "--existing", "-P", "book_size=32", "-P", "memory=48")
    [node] = well("node", "list")
    assert (node["promised"]["memory_mib"], node["promised"]["disk:default"]) == (4 * 48, 32)

    assert all(psutil.pid_exists(int(each["id"])) for each in instances().values())
    psutil.Process(int(instances()["bell"]["id"])).kill()
    assert run("stack", "check", "shop").exit_code == 1
    well("stack", "update", "shop", "--existing")
    assert instances()["bell"]["state"] == "running"
    well("stack", "delete", "shop", "-y")
    assert well("node", "instances", "local")["instances"] == []
    assert not book.exists()


def test_what_cannot_be_is_refused_before_anything_is_made() -> None:
    apart = run("stack", "create", "other", "-t", TEMPLATE, "-P", "strict=true")
    assert apart.exit_code == 2
    assert "another member of group 'apart' is on it" in apart.output
    large = run("stack", "create", "other", "-t", TEMPLATE, "-P", "memory=1000000")
    assert large.exit_code == 2
    assert "2000000 MiB of memory required" in large.output
    run("node", "drain", "local", "--reason", "new disks")
    drained = run("stack", "create", "other", "-t", TEMPLATE)
    assert drained.exit_code == 2
    assert "it is drained: new disks" in drained.output
    run("node", "undrain", "local")
    assert well("stack", "list") == []
    assert instances() == {}
