"""``isotherm stack snapshot``: what it asks of the service, what it writes, how it ends."""

import json

import pytest

from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal, snapshot_view


@pytest.fixture(autouse=True)
def _with_a_snapshot(service: FakeService) -> None:
    service.snapshots_held.append(snapshot_view("first", resources=(("disk", "OS::Heat::TestResource"),)))


def test_a_snapshot_is_followed_to_its_end(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("stack", "snapshot", "create", "web", "--name", "second")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("web SNAPSHOT_COMPLETE after")
    assert [view.name for view in service.snapshots_held] == ["first", "second"]


def test_a_snapshot_that_fails_ends_with_one(terminal: Terminal, service: FakeService) -> None:
    service.ending = "FAILED"
    assert terminal.run("stack", "snapshot", "create", "web").exit_code == 1


def test_snapshots_are_listed_for_people_and_programs(terminal: Terminal) -> None:
    result = terminal.run("stack", "snapshot", "list", "web")
    assert "first  CREATE_COMPLETE  2024-03-01T12:00:00Z  id-of-first" in result.stdout
    (told,) = json.loads(terminal.run("stack", "snapshot", "list", "web", "-f", "json").stdout)
    assert (told["name"], told["state"]) == ("first", "CREATE_COMPLETE")


@pytest.mark.parametrize("word", ["first", "id-of-first"])
def test_a_snapshot_is_shown_by_name_and_id(terminal: Terminal, word: str) -> None:
    result = terminal.run("stack", "snapshot", "show", "web", word)
    assert "CREATE_COMPLETE" in result.stdout
    assert "disk  OS::Heat::TestResource" in result.stdout


def test_a_restore_is_followed_to_its_end(terminal: Terminal, service: FakeService) -> None:
    words = ("stack", "snapshot", "restore", "web", "first", "--rollback", "--timeout", "3")
    result = terminal.run(*words)
    assert result.exit_code == 0, result.output
    assert "web RESTORE_COMPLETE" in result.stdout
    assert "http://10.0.0.7" in result.stdout
    assert service.restored == [("first", 3.0, True)]


def test_a_deleted_snapshot_is_gone(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("stack", "snapshot", "delete", "web", "first")
    assert result.exit_code == 0
    assert "deleted" in result.stdout
    assert service.snapshots_held == []


def test_a_deletion_that_fails_says_why(terminal: Terminal, service: FakeService) -> None:
    service.ending = "FAILED"
    result = terminal.run("stack", "snapshot", "delete", "web", "first")
    assert result.exit_code == 1
    assert "DELETE_FAILED" in result.stdout
    assert "stuck" in result.stdout


@pytest.mark.parametrize("command", ["show", "delete", "restore"])
def test_a_snapshot_that_is_not_there_is_named(terminal: Terminal, command: str) -> None:
    result = terminal.run("stack", "snapshot", command, "web", "frist")
    assert result.exit_code == 2
    assert "frist" in result.stderr


@pytest.mark.parametrize("words", [("create", "web"), ("restore", "web", "first")])
def test_without_a_broker_nobody_else_would_do_it(terminal: Terminal, words: tuple[str, ...]) -> None:
    result = terminal.run("stack", "snapshot", *words, "--no-wait")
    assert result.exit_code == 2
    assert "--no-wait" in result.stderr
