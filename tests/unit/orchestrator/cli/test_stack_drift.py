"""``isotherm stack drift`` and ``observe``, on the real service and a real file."""

import json
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.config.settings import Settings
from orchestrator.engine.drift_admin import DriftAdmin
from orchestrator.errors import Conflict
from orchestrator.store import tables
from orchestrator.store.store import Store
from tests.unit.orchestrator.cli.commands import run

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  page: {{type: "Isotherm::Node::File", properties: {{path: {path}, content: hello}}}}
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stack with one file."""
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("ISOTHERM_NODE_DIRECTORIES", json.dumps([str(tmp_path)]))
    path = tmp_path / "page"
    (tmp_path / "web.yaml").write_text(TEMPLATE.format(path=path))
    created = run("stack", "create", "web", "-t", str(tmp_path / "web.yaml"))
    assert created.exit_code == 0, created.output
    return path


def test_drift_is_detected_shown_and_listed(page: Path) -> None:
    assert run("stack", "list", "--drifted", "-f", "json").stdout == "[]\n"
    page.write_text("bye")
    detected = run("stack", "drift", "detect", "web", "-f", "json")
    assert detected.exit_code == 0, detected.output
    (found,) = json.loads(detected.stdout)
    told = {name: found[name] for name in ("resource", "key", "recorded", "observed", "times", "standing")}
    assert told == {
        "resource": "page",
        "key": "content",
        "recorded": "hello",
        "observed": "bye",
        "times": 1,
        "standing": "reported",
    }
    header, row = run("stack", "drift", "show", "web").stdout.splitlines()
    assert header.split() == ["RESOURCE", "PROPERTY", "RECORDED", "OBSERVED", "SINCE", "SEEN", "STANDING"]
    assert row.split()[:4] == ["page", "content", "hello", "bye"]
    (listed,) = json.loads(run("stack", "list", "--drifted", "-f", "json").stdout)
    assert listed["name"] == "web"
    page.unlink()
    assert "(gone)" in run("stack", "drift", "detect", "web").stdout


def test_a_policy_is_set_part_by_part(page: Path) -> None:
    first = run("stack", "observe", "set", "web", "--mode", "repair", "--ignore", "page/mode", "-f", "json")
    assert first.exit_code == 0, first.output
    run("stack", "observe", "set", "web", "--interval", "1h", "--replace")
    view = json.loads(run("stack", "observe", "show", "web", "-f", "json").stdout)
    told = {name: view[name] for name in ("mode", "interval_seconds", "ignore", "replace", "observed_at")}
    assert told == {
        "mode": "repair",
        "interval_seconds": 3600.0,
        "ignore": ["page/mode"],
        "replace": True,
        "observed_at": None,
    }
    assert view["due_at"] is not None
    off = json.loads(
        run("stack", "observe", "set", "web", "--mode", "off", "--ignore", "", "-f", "json").stdout
    )
    assert (off["due_at"], off["ignore"]) == (None, [])
    refused = run("stack", "observe", "set", "web", "--interval", "5s")
    assert refused.exit_code == 2
    assert "interval_seconds: expected 60 to 604800 seconds, found 5.0" in refused.stderr


def test_a_round_repairs_what_is_due_and_shows_what_it_did(page: Path, tmp_path: Path) -> None:
    run("stack", "observe", "set", "web", "--mode", "repair")
    assert run("stack", "observe", "run", "-f", "json").stdout == "[]\n"
    page.write_text("bye")
    with closing(Store(f"sqlite:///{tmp_path}/state/isotherm.db")) as store:
        store.database.change(sa.update(tables.observation).values(due_at=0.0))
    done = run("stack", "observe", "run", "-f", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == [
        {"stack": "web", "observed": True, "drifted": 0, "repaired": 1, "trouble": ""}
    ]
    assert page.read_text() == "hello"


def test_a_round_is_for_embedded_mode_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(broker_url="redis://localhost", state_directory=tmp_path)
    admin = DriftAdmin(
        settings,
        Store("sqlite://"),
        find=lambda _: pytest.fail("no stack is looked for"),
        submit=lambda *_, **__: "",
        record=lambda *_: pytest.fail("nothing is recorded"),
        start=lambda: pytest.fail("nothing is begun"),
    )
    with pytest.raises(Conflict, match="coordinators observe what is due by themselves"):
        admin.observe_due()
