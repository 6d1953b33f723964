"""What `isotherm db purge` asks, tells and counts."""

import json

import pytest

from orchestrator.model.purge import KINDS, Removed
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal

DAY = 86400.0


@pytest.fixture(autouse=True)
def purged(service: FakeService) -> None:
    """Two stacks, and events in two steps."""
    service.purged = [
        Removed(kind="events", count=500),
        Removed(kind="events", count=20),
        Removed(kind="stacks", count=2),
    ]


def test_what_was_removed_is_counted_by_kind(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("db", "purge", "-f", "json")
    assert result.exit_code == 0
    counts = {**dict.fromkeys(KINDS, 0), "events": 520, "stacks": 2}
    assert json.loads(result.stdout) == {"dry_run": False, **counts}
    assert service.purges == [(30 * DAY, None, False)]
    shown = terminal.run("db", "purge").stdout.splitlines()
    assert [line.split() for line in shown] == [
        ["KIND", "REMOVED"],
        *([k, str(n)] for k, n in counts.items()),
    ]


@pytest.mark.parametrize(
    ("age", "seconds"),
    [("90", 90 * DAY), ("0", 0), ("90m", 5400), ("12h", 43200), ("1.5", 1.5 * DAY), ("2w", 14 * DAY)],
)
def test_an_age_is_in_days_unless_it_says_otherwise(
    age: str, seconds: float, terminal: Terminal, service: FakeService
) -> None:
    assert terminal.run("db", "purge", "--older-than", age, "--project", "p", "--yes").exit_code == 0
    assert service.purges == [(seconds, "p", False)]


@pytest.mark.parametrize("age", ["-1", "", "ever", "1 month", "nan", "99999999"])
def test_what_is_no_age_is_refused(age: str, terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("db", "purge", "--older-than", age)
    assert result.exit_code == 2
    assert "expected a number of days" in result.stderr
    assert service.purges == []


def test_a_dry_run_removes_nothing_and_asks_nothing(terminal: Terminal, service: FakeService) -> None:
    terminal.shell.can_answer = lambda: True
    result = terminal.run("db", "purge", "--dry-run")
    assert result.exit_code == 0
    assert "WOULD BE REMOVED" in result.stdout
    assert service.purges == [(30 * DAY, None, True)]


def test_people_are_asked_with_what_would_go(terminal: Terminal, service: FakeService) -> None:
    terminal.shell.can_answer = lambda: True
    refused = terminal.run("db", "purge", "--project", "tests", answer="n\n")
    assert refused.exit_code == 2
    assert "of the project tests: 2 stacks, 520 events?" in refused.stderr
    assert "Nothing was removed." in refused.stderr
    assert [dry_run for _, _, dry_run in service.purges] == [True]
    assert terminal.run("db", "purge", answer="y\n").exit_code == 0
    assert service.purges[-1] == (30 * DAY, None, False)


def test_an_interrupted_purge_ends_quietly(terminal: Terminal, service: FakeService) -> None:
    service.interrupt = KeyboardInterrupt()
    result = terminal.run("db", "purge", "--yes")
    assert (result.exit_code, result.stdout) == (130, "")
    assert service.closed == 1
