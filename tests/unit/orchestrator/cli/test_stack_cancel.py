"""``isotherm stack cancel``, and ``--rollback``: what they ask of the service, and how they end."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.orchestrator.cli.commands import FAILING, TEMPLATE, run
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal


@pytest.fixture
def going(service: FakeService) -> FakeService:
    """The stack web is being updated."""
    service.stacks_held["web"] = replace(service.stacks_held["web"], action="UPDATE", status="IN_PROGRESS")
    return service


def test_a_cancel_is_followed_until_all_is_as_it_was(terminal: Terminal, going: FakeService) -> None:
    result = terminal.run("stack", "cancel", "web")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("web ROLLBACK_COMPLETE")


def test_a_rollback_that_fails_ends_with_one(terminal: Terminal, going: FakeService) -> None:
    going.ending = "FAILED"
    result = terminal.run("stack", "cancel", "web")
    assert result.exit_code == 1
    assert "web ROLLBACK_FAILED" in result.stdout


def test_without_a_rollback_failed_is_the_end_that_was_asked_for(
    terminal: Terminal, going: FakeService
) -> None:
    going.ending = "FAILED"
    result = terminal.run("stack", "cancel", "web", "--no-rollback")
    assert result.exit_code == 0, result.output
    assert "web UPDATE_FAILED" in result.stdout


def test_where_nothing_is_under_way_there_is_nothing_to_cancel(terminal: Terminal) -> None:
    result = terminal.run("stack", "cancel", "web")
    assert result.exit_code == 2
    assert "there is nothing to cancel" in result.stderr


@pytest.mark.parametrize("command", ["create", "update"])
def test_a_rollback_is_asked_for_with_the_job(
    terminal: Terminal, service: FakeService, command: str, tmp_path: Path
) -> None:
    template = tmp_path / "t.yaml"
    template.write_text("heat_template_version: 2021-04-16\n")
    name = {"create": "new", "update": "web"}[command]
    terminal.run("stack", command, name, "-t", str(template))
    terminal.run(
        "stack", command, f"{name}2" if command == "create" else name, "-t", str(template), "--rollback"
    )
    assert [job.rollback for job in service.jobs] == [False, True]


def test_a_failed_create_with_rollback_leaves_an_empty_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("ISOTHERM_BROKER_URL", "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text(FAILING)
    (tmp_path / "good.yaml").write_text(TEMPLATE)
    result = run("stack", "create", "s", "-t", "bad.yaml", "--rollback")
    assert result.exit_code == 1
    assert "s ROLLBACK_COMPLETE" in result.stdout
    assert "good" not in run("stack", "resource", "list", "s").stdout
    assert run("stack", "update", "s", "-t", "good.yaml").exit_code == 0
    result = run("stack", "update", "s", "-t", "bad.yaml", "--rollback")
    assert result.exit_code == 1
    assert "s ROLLBACK_COMPLETE" in result.stdout
    why = "UPDATE failed: Resource CREATE failed: resources.bad: "
    assert f"rolled back because {why}" in result.stdout.splitlines()[0]
    assert why in run("stack", "show", "s").stdout
    result = run("stack", "update", "s", "-t", "bad.yaml", "--rollback", "-f", "json")
    assert json.loads(result.stdout)["rolled_back"].startswith(why)
    told = run("stack", "failure", "s").stdout.splitlines()
    assert told[:4] == ["s ROLLBACK_COMPLETE", "  nothing has failed", "", "It takes back:"]
    assert told[4].startswith("s UPDATE_FAILED: Resource CREATE failed: resources.bad: ")
    assert told[6].startswith("likely root: bad ")
    assert run("stack", "output", "show", "s", "said", "-f", "value").stdout == "hello\n"
