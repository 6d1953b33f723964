"""The example ``examples/licence`` does what its page says, with the server that comes with it."""

import json
import threading
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm
from tests.services.licence_server import EXAMPLE
from tests.unit.docs.pages import ROOT

DIRECTORY = ROOT / "examples" / "licence"
TEMPLATE = ("-t", str(DIRECTORY / "crew.yaml"))
SECRET = "5d41402abc4b2a76b9719d911017c592"
TYPE = "OS::Heat::RandomString"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the server on a free port, with the settings of the example but for that port and the secret's place."""
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    said = tomllib.loads((DIRECTORY / "settings.toml").read_text())["lifecycle"]
    licences = EXAMPLE.Licences(str(tmp_path / "licences.db"), {TYPE: 5})
    server = EXAMPLE.serve(licences, [SECRET], 0)
    server.daemon_threads, server.block_on_close = True, False
    monkeypatch.setattr(server.RequestHandlerClass, "log_message", lambda *_: None)
    where = f"http://127.0.0.1:{server.server_address[1]}"
    said["license"] |= {"url": where, "secret_files": [str(tmp_path / "secret")]}
    monkeypatch.setenv("ISOTHERM_LIFECYCLE", json.dumps(said))
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield where
    server.shutdown()
    thread.join()
    server.server_close()


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def well(*words: str) -> str:
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done.stdout


def held(url: str) -> list[dict[str, int]]:
    """Return what stacks hold."""
    with urllib.request.urlopen(f"{url}/leases") as answer:
        return list(json.load(answer).values())


def test_licences_come_and_go_with_the_stack_and_there_are_no_more_than_there_are(url: str) -> None:
    well("stack", "create", "crew", *TEMPLATE, "-P", "size=4")
    assert held(url) == [{TYPE: 4}]
    well("stack", "update", "crew", *TEMPLATE, "-P", "size=2")
    assert held(url) == [{TYPE: 2}]
    refused = run("stack", "create", "other", *TEMPLATE, "-P", "size=4")
    assert refused.exit_code != 0
    assert f"{TYPE}: 6 licences would be in use, there are 5" in refused.output
    assert held(url) == [{TYPE: 2}]
    well("stack", "preview", "another", *TEMPLATE, "-P", "size=3")
    well("stack", "delete", "crew")
    assert held(url) == []


def test_the_server_needs_nothing_but_python_and_the_check_of_signatures() -> None:
    imported = {
        line.split()[1]
        for line in (DIRECTORY / "server.py").read_text().splitlines()
        if line.startswith("from ")
    }
    ours = {name for name in imported if name.startswith(("hooks", "orchestrator", "isotherm"))}
    assert ours == {"isotherm.hooks"}
