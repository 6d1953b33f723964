"""``isotherm worker``, ``coordinator`` and ``db``."""

import json

import pytest

from tests.unit.orchestrator.cli.fake_service import Terminal


@pytest.mark.parametrize("command", ["worker", "coordinator", "agent --node n1"])
def test_a_process_without_a_broker_is_refused_with_a_hint(command: str, terminal: Terminal) -> None:
    result = terminal.run(*command.split())
    assert result.exit_code == 2
    assert "settings.broker_url: " in result.stderr
    assert "hint: set ISOTHERM_BROKER_URL" in result.stderr


@pytest.mark.parametrize(
    "words", [["--concurrency", "0"], ["--pool", "fork"], ["--pool", "gevent"], ["--loglevel", "loud"]]
)
def test_wrong_options_of_a_process_are_bad_input(words: list[str], terminal: Terminal) -> None:
    assert terminal.run("worker", *words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--label", "rack=r1"], "Missing option '--node'"),
        (["--node", "n1", "--label", "rack"], "expected NAME=VALUE, got 'rack'"),
        (
            ["--node", "n1", "--label", "rack=r1", "--label", "rack=r2"],
            "expected each name once, got 'rack' twice",
        ),
    ],
    ids=["no name", "no value", "twice"],
)
def test_wrong_options_of_an_agent_are_bad_input(words: list[str], said: str, terminal: Terminal) -> None:
    result = terminal.run("agent", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_schema_is_made_once_and_then_current(terminal: Terminal) -> None:
    missing = terminal.run("db", "current")
    assert missing.exit_code == 3
    assert not terminal.state_directory.exists(), "asking makes nothing"

    first = json.loads(terminal.run("db", "upgrade", "-f", "json").stdout)
    assert first["before"] is None
    again = json.loads(terminal.run("db", "upgrade", "-f", "json").stdout)
    assert again["before"] == again["after"] == first["after"]
    now = json.loads(terminal.run("db", "current", "-f", "json").stdout)
    assert now == {"current": first["after"], "needed": first["after"], "up_to_date": True}
