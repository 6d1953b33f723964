"""Moves by the command line on the real service: planned, done once, on record, and harmless afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  first:
    type: OS::Heat::TestResource
    properties: {value: hello}
  second:
    type: OS::Heat::TestResource
    properties: {value: {get_attr: [first, output]}}
"""
RENAMED = TEMPLATE.replace("first", "greeting")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("ISOTHERM_KEY_FILE", str(tmp_path / "keys.json"))
    Path("web.yaml").write_text(TEMPLATE)
    Path("renamed.yaml").write_text(RENAMED)
    Path("moved.yaml").write_text("moved:\n  - {from: first, to: greeting}\n")


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def data(*words: str) -> Any:
    """Return what a command writes as JSON."""
    done = run(*words, "-f", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def objects() -> dict[str, str]:
    return {each["name"]: each["physical_id"] for each in data("stack", "resource", "list", "web")}


def test_a_move_is_planned_done_once_and_on_record() -> None:
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    before = objects()
    given = ("web", "-t", "renamed.yaml", "-e", "moved.yaml")
    shown = run("stack", "update", *given, "--dry-run").stdout
    assert "2 unchanged, 1 of them to move" in shown
    assert "moved from 'first'" in shown
    planned = data("stack", "update", *given, "--dry-run")
    assert [(each["name"], each["action"], each["moved_from"]) for each in planned["resources"]] == [
        ("greeting", "UNCHANGED", "first"),
        ("second", "UNCHANGED", ""),
    ]
    assert run("stack", "plan", *given, "--exit-code").exit_code == 2
    markdown = run("stack", "plan", *given, "-f", "markdown").stdout
    assert "| greeting | OS::Heat::TestResource | unchanged | moved from 'first' |" in markdown
    assert run("stack", "plan", *given, "-o", "web.plan").exit_code == 0
    assert run("stack", "apply", "web.plan", "--comment", "ticket 7").exit_code == 0
    assert objects() == {"greeting": before["first"], "second": before["second"]}
    events = [each for each in data("stack", "event", "list", "web") if each["action"] == "MOVE"]
    (moved,) = events
    assert (moved["resource"], moved["status"], moved["reason"]) == (
        "greeting",
        "COMPLETE",
        "its name was 'first'",
    )
    assert moved["user"]
    assert run("stack", "plan", *given, "--exit-code").exit_code == 0
    assert run("stack", "update", *given).exit_code == 0
    assert objects() == {"greeting": before["first"], "second": before["second"]}


def test_a_plan_warns_of_an_entry_that_finds_nothing() -> None:
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    Path("moved.yaml").write_text("moved:\n  - {from: frist, to: greeting}\n")
    done = run("stack", "update", "web", "-t", "renamed.yaml", "-e", "moved.yaml", "--dry-run")
    assert done.exit_code == 0
    expected = "nothing is moved: the stack has no resource 'frist', and 'greeting' is made"
    assert expected in " ".join((done.stdout + done.stderr).split())


def test_a_mistake_is_shown_with_its_place_and_the_nearest_name() -> None:
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    Path("moved.yaml").write_text("moved:\n  - {from: first, to: greetings}\n")
    for words in (["stack", "update", "web"], ["template", "validate"]):
        done = run(*words, "-t", "renamed.yaml", "-e", "moved.yaml")
        assert done.exit_code == 2, done.output
        assert "moved.yaml:2:" in done.stderr
        assert "did you mean 'greeting'?" in done.stderr
