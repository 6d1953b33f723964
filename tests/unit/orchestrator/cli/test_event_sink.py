"""What `isotherm event-sink` shows of event sinks, and what it forgets."""

import json

import pytest

from orchestrator.views.sinks import SinkView
from orchestrator.views.times import iso
from tests.unit.orchestrator.cli.fake_service import NOON, FakeService, Terminal


@pytest.fixture(autouse=True)
def sinks(service: FakeService) -> None:
    """One that listens, one that does not, one that never was told, and one of a stack."""
    service.sinks_held = [
        SinkView(name="log", type="log", enabled=True, position=12, owner="coordinator@a:1:2.00"),
        SinkView(
            name="mail",
            type="mail",
            enabled=False,
            position=7,
            backlog=5,
            behind_seconds=3600.0,
            lost=2,
            failing_since=NOON,
            failing_seconds=60.0,
            failures=9,
            error="connection refused",
        ),
        SinkView(name="new", type="new", enabled=True),
        SinkView(
            name="id-of-web:0", type="webhook", stack="web", stack_id="id-of-web", enabled=True, position=3
        ),
    ]


def test_each_sink_is_a_row(terminal: Terminal) -> None:
    result = terminal.run("event-sink", "list")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()[1:]]
    assert rows == [
        ["log", "log", "yes", "12", "0", "0"],
        ["mail", "mail", "no", "7", "5", "2", "2024-03-01T12:00:00Z", "connection", "refused"],
        ["new", "new", "yes", "0", "0"],
        ["id-of-web:0", "webhook", "web", "yes", "3", "0", "0"],
    ]


def test_programs_get_all_of_it(terminal: Terminal) -> None:
    log, mail, new, web = json.loads(terminal.run("event-sink", "list", "-f", "json").stdout)
    assert (log["owner"], log["error"], log["failing_since"]) == ("coordinator@a:1:2.00", "", None)
    assert (mail["enabled"], mail["failing_since"], mail["failures"], mail["lost"]) == (
        False,
        iso(NOON),
        9,
        2,
    )
    assert (mail["backlog"], mail["behind_seconds"]) == (5, 3600.0)
    assert new["position"] is None
    assert (web["stack"], web["stack_id"]) == ("web", "id-of-web")


def test_a_sink_that_is_gone_is_forgotten(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("event-sink", "forget", "mail", "-f", "json")
    assert json.loads(result.stdout) == {"name": "mail", "state": "forgotten"}
    assert "mail" not in [view.name for view in service.sinks_held]
    again = terminal.run("event-sink", "forget", "mail")
    assert again.exit_code == 2
    assert "no event sink 'mail' is known" in again.stderr
