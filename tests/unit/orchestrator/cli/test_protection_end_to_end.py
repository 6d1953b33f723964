"""Protection by the command line on the real service: marks, refusals, and the way around them, on record."""

import json
from pathlib import Path

import pytest

from isotherm import connect
from orchestrator.errors import Conflict
from tests.unit.orchestrator.cli.commands import TEMPLATE, run


def data(*words: str) -> list[dict[str, object]]:
    """Return what a command writes as JSON."""
    done = run(*words, "-f", "json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_what_is_protected_is_shown_and_kept_until_an_order_overrides_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "web.yaml").write_text(TEMPLATE)
    (tmp_path / "first.yaml").write_text(TEMPLATE.partition("  second:")[0])
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    assert data("stack", "protect", "web", "second", "--comment", "holds the orders") == [
        {"stack": "web", "resource": "second", "protected": True}
    ]
    assert data("stack", "protect", "web") == [{"stack": "web", "resource": "", "protected": True}]
    assert "protected" in run("stack", "show", "web").stdout
    assert [each["protected"] for each in data("stack", "resource", "list", "web")] == [False, True]
    for order in (["delete", "web", "--yes"], ["abandon", "web", "--yes"]):
        refused = run("stack", *order)
        assert refused.exit_code == 2
        assert "stack 'web' is protected; resource 'second' is protected" in refused.stderr
        assert "--unprotect" in refused.stderr
    planned = run("stack", "update", "web", "-t", "first.yaml", "--dry-run")
    assert "refused" in planned.stdout
    assert run("stack", "update", "web", "-t", "first.yaml").exit_code == 2
    with connect() as stacks, pytest.raises(Conflict, match="is protected"):
        stacks.delete("web")
    assert data("stack", "unprotect", "web") == [{"stack": "web", "resource": "", "protected": False}]
    assert run("stack", "delete", "web", "--yes").exit_code == 2
    assert run("stack", "delete", "web", "--yes", "--unprotect", "--comment", "moved").exit_code == 0
    events = data("stack", "event", "list", "web")
    assert [(each["action"], each["reason"]) for each in events if "PROTECT" in str(each["action"])] == [
        ("PROTECT", "holds the orders"),
        ("PROTECT", ""),
        ("UNPROTECT", ""),
        ("UNPROTECT", "permitted to DELETE (--unprotect): moved"),
    ]
    recorded = {(each["action"], each["detail"]) for each in data("audit", "list", "--limit", "50")}
    assert {("stack.protect", "holds the orders"), ("stack.unprotect", "moved")} <= recorded
