"""The example ``examples/http`` does what its page says, with the API that comes with it."""

import importlib.util
import json
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm
from tests.unit.docs.pages import ROOT

DIRECTORY = ROOT / "examples" / "http"
TEMPLATE = str(DIRECTORY / "servers.yaml")


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Run the API of the example on a free port, with the settings of the example but for that port."""
    spec = importlib.util.spec_from_file_location("example_api", DIRECTORY / "api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BUILD_SECONDS", 0.1)
    settings = tomllib.loads((DIRECTORY / "settings.toml").read_text())
    with module.Api(0, "open-sesame") as server:
        settings["clients"]["http"]["base_url"] = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("ISOTHERM_CLIENTS", json.dumps(settings["clients"]))
        monkeypatch.setenv("API_TOKEN", "open-sesame")
        monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
        for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
            monkeypatch.delenv(name, raising=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def well(*words: str) -> str:
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def test_it_is_valid_where_no_api_is_known() -> None:
    assert well("template", "validate", "-t", TEMPLATE)


def test_servers_and_disks_come_change_and_go(api: Any) -> None:
    refused = run("stack", "create", "other", "-t", TEMPLATE, "-P", "image=huge")
    assert refused.exit_code == 2
    assert "there is no path '/images/huge'" in refused.output
    assert api.objects == {}

    well("stack", "create", "shop", "-t", TEMPLATE)
    assert well("stack", "output", "show", "shop", "address", "-f", "value") == "192.0.2.1"
    assert well("stack", "output", "show", "shop", "gigabytes", "-f", "value") == "10"
    well("stack", "update", "shop", "-t", TEMPLATE, "-P", "size=2")
    assert [(each["id"], each["size"]) for path, each in api.objects.items() if "servers" in path] == [
        ("1", 2)
    ]
    well("stack", "check", "shop")
    api.objects["/servers/1"]["size"] = 3
    drifted = run("stack", "check", "shop")
    assert drifted.exit_code == 1
    assert "changed by others: body" in drifted.output
    well("stack", "delete", "shop", "-y")
    assert api.objects == {}


def test_who_does_not_know_the_token_is_told_nothing(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "wrong-token")
    refused = run("stack", "create", "shop", "-t", TEMPLATE)
    assert refused.exit_code == 3
    assert "it answered 401 (Unauthorized)" in refused.output
    assert "wrong-token" not in refused.output
