"""``isotherm stack check``, ``suspend`` and ``resume``: what they ask of the service, and how they end."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.views.resource_page import LogLineView, StepLogView
from orchestrator.views.stacks import StackView
from tests.unit.orchestrator.cli.commands import TEMPLATE, run
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal, resource_view

commands = pytest.mark.parametrize("command", ["check", "suspend", "resume"])


@commands
def test_an_operation_is_followed_to_its_end(terminal: Terminal, command: str) -> None:
    result = terminal.run("stack", command, "web")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"web {command.upper()}_COMPLETE")


@commands
def test_one_that_fails_ends_with_one(terminal: Terminal, service: FakeService, command: str) -> None:
    service.ending = "FAILED"
    result = terminal.run("stack", command, "web")
    assert result.exit_code == 1
    assert f"web {command.upper()}_FAILED" in result.stdout


@commands
def test_a_busy_stack_is_left_alone(terminal: Terminal, service: FakeService, command: str) -> None:
    service.stacks_held["web"] = replace(service.stacks_held["web"], action="UPDATE", status="IN_PROGRESS")
    result = terminal.run("stack", command, "web")
    assert result.exit_code == 2
    assert "is UPDATE_IN_PROGRESS" in result.stderr


@commands
def test_the_result_is_json_where_it_is_asked_for(terminal: Terminal, command: str) -> None:
    result = terminal.run("stack", command, "web", "-f", "json")
    assert json.loads(result.stdout)["state"] == f"{command.upper()}_COMPLETE"


@commands
def test_nobody_would_carry_on_without_a_broker(terminal: Terminal, command: str) -> None:
    result = terminal.run("stack", command, "web", "--no-wait")
    assert result.exit_code == 2
    assert "no other process would carry on" in result.stderr


def test_with_a_broker_a_command_returns_once_it_is_accepted(service: FakeService, tmp_path: Path) -> None:
    terminal = Terminal(service, tmp_path, broker_url="redis://127.0.0.1:1/0")
    result = terminal.run("stack", "suspend", "web", "--no-wait")
    assert result.exit_code == 0, result.output
    assert "web SUSPEND_IN_PROGRESS" in result.stdout


def test_a_cancelled_suspend_is_the_end_that_was_asked_for(terminal: Terminal, service: FakeService) -> None:
    view = replace(service.stacks_held["web"], action="SUSPEND", status="IN_PROGRESS")
    service.stacks_held["web"] = view
    service.ending = "FAILED"

    def cancel(name: str, *, rollback: bool, unprotect: bool) -> StackView:
        return replace(view, status="FAILED")

    service.cancel = cancel  # type: ignore[method-assign]
    result = terminal.run("stack", "cancel", "web")
    assert result.exit_code == 0, result.output


def test_an_update_may_be_told_to_look(terminal: Terminal, service: FakeService, tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    template.write_text("heat_template_version: 2021-04-16\n")
    for more in ([], ["--refresh"], ["--refresh", "--dry-run"]):
        terminal.run("stack", "update", "web", "-t", str(template), *more)
    assert [job.refresh for job in (*service.jobs, *service.planned)] == [False, True, True]


def test_a_stack_is_checked_suspended_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("ISOTHERM_BROKER_URL", "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    assert run("stack", "create", "s", "-t", "t.yaml").exit_code == 0
    assert "s CHECK_COMPLETE" in run("stack", "check", "s").stdout
    assert "s SUSPEND_COMPLETE" in run("stack", "suspend", "s").stdout
    refused = run("stack", "update", "s", "-t", "t.yaml")
    assert refused.exit_code == 2
    assert "resume it first" in refused.stderr
    assert run("stack", "suspend", "s").exit_code == 0
    assert "s RESUME_COMPLETE" in run("stack", "resume", "s").stdout
    assert run("stack", "update", "s", "-t", "t.yaml", "--refresh").exit_code == 0
    again = run("stack", "resume", "s")
    assert again.exit_code == 2
    assert "it is not suspended" in again.stderr


def test_a_resource_is_marked_and_the_mark_taken_back(terminal: Terminal, service: FakeService) -> None:
    service.resources_held = [resource_view("server", metadata={"role": "web"})]
    result = terminal.run("stack", "resource", "mark-unhealthy", "web", "server", "--reason", "it hums")
    assert result.exit_code == 0, result.output
    assert "CHECK_FAILED" in result.stdout
    assert "it hums" in result.stdout
    result = terminal.run("stack", "resource", "mark-unhealthy", "web", "server", "--reset", "-f", "json")
    assert json.loads(result.stdout)["state"] == "CHECK_COMPLETE"
    result = terminal.run("stack", "resource", "mark-unhealthy", "web", "sever")
    assert result.exit_code == 2


def test_metadata_are_shown_alone(terminal: Terminal, service: FakeService) -> None:
    service.resources_held = [resource_view("server", metadata={"role": "web"})]
    result = terminal.run("stack", "resource", "metadata", "web", "server", "-f", "json")
    assert json.loads(result.stdout) == {"role": "web"}
    assert "web" in terminal.run("stack", "resource", "metadata", "web", "server").stdout


def test_log_lines_are_shown_in_the_order_in_which_they_were_written(
    terminal: Terminal, service: FakeService
) -> None:
    def step(at: float, *messages: str, left_out: int = 0) -> StepLogView:
        lines = tuple(LogLineView(at=at, level="info", message=each) for each in messages)
        return StepLogView(
            traversal_id="t", action="CREATE", worker="w", at=at, lines=lines, left_out=left_out
        )

    service.logs_held = (step(20.5, "tried again"), step(10.25, "refused", "waits", left_out=7))
    result = terminal.run("stack", "resource", "logs", "web", "server")
    places = [result.stdout.index(each) for each in ("refused", "waits", "7 more had no room", "tried again")]
    assert places == sorted(places)
    assert "1970-01-01T00:00:20.500000Z" in result.stdout
    told = json.loads(terminal.run("stack", "resource", "logs", "web", "server", "-f", "json").stdout)
    assert [each["left_out"] for each in told] == [7, 0]
    assert told[1]["lines"] == [
        {"at": "1970-01-01T00:00:20.500000Z", "level": "info", "message": "tried again"}
    ]
    assert terminal.run("stack", "resource", "logs", "web", "sever").exit_code == 2
