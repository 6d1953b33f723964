"""What `isotherm attention` lists: the findings of the dashboard's page, each with a command."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.attention import attention
from orchestrator.cli.main import isotherm
from orchestrator.cli.shell import Shell
from orchestrator.config.settings import Settings
from orchestrator.queries.findings import MOST, grouped
from orchestrator.service import Service
from orchestrator.views.attention import AttentionView, Finding
from tests.unit.orchestrator.cli.fake_service import NOON, FakeService, Terminal


def finding(kind: str, subject: str, **more: str) -> Finding:
    return Finding(kind=kind, subject=subject, what="it is wrong", why="", since=NOON, **more)


@pytest.fixture
def found(service: FakeService) -> FakeService:
    """Two findings are shown, and there are three more of one kind."""
    findings = [
        finding("sink", "webhook", stack="web", command="isotherm event-sink list"),
        finding("failed", "web", stack="web", command="isotherm stack update web --existing"),
    ]
    groups = grouped(findings, {"failed": 4})
    service.attention_held = AttentionView(project="default", as_of=NOON, groups=groups)
    return service


def test_the_most_urgent_finding_is_first_and_each_has_a_command(
    terminal: Terminal, found: FakeService
) -> None:
    result = terminal.run("attention")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "KIND    SUBJECT         SINCE                 FINDING      COMMAND",
        "failed  web             2024-03-01T12:00:00Z  it is wrong  isotherm stack update web --existing",
        "sink    webhook of web  2024-03-01T12:00:00Z  it is wrong  isotherm event-sink list",
        "and 3 more of the kind failed",
    ]
    assert found.attention_asked == [(True, True)]


def test_programs_get_the_findings_by_kind(terminal: Terminal, found: FakeService) -> None:
    told = json.loads(terminal.run("attention", "-f", "json").stdout)
    assert told == json.loads(json.dumps(found.attention_held.to_dict()))
    assert [(group["kind"], group["total"]) for group in told["groups"]] == [("failed", 4), ("sink", 1)]


@pytest.mark.parametrize("form", ["table", "json"])
def test_the_exit_code_tells_whether_there_are_findings_if_asked(
    form: str, terminal: Terminal, found: FakeService
) -> None:
    assert terminal.run("attention", "--exit-code", "-f", form).exit_code == 1
    found.attention_held = AttentionView(project="default", as_of=NOON)
    result = terminal.run("attention", "--exit-code", "-f", form)
    assert result.exit_code == 0
    assert form == "json" or result.stdout == "nothing needs attention\n"


def test_a_broker_that_is_away_is_a_finding_and_hides_no_other(tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path / "state")
    with Service.open(settings):
        pass
    url = settings.effective_database_url
    # A port on which nothing listens.
    update = {"broker_url": "redis://127.0.0.1:1/0", "database_url": url, "cache_backend": "memory"}
    away = settings.with_values(**update)
    words = ["attention", "-f", "json"]
    result = CliRunner().invoke(isotherm, words, obj=Shell(load=lambda: away), catch_exceptions=False)
    told = json.loads(result.stdout)
    assert [(group["kind"], group["findings"][0]["subject"]) for group in told["groups"]] == [
        ("broker", "broker"),
        ("process", "workers"),
    ]


def test_the_help_names_the_limit_of_findings() -> None:
    assert f"At most {MOST} findings" in (attention.help or "")
