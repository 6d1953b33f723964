"""``isotherm stack resource signal``: the data of a signal, and what becomes of it."""

from pathlib import Path

import pytest

from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal, stack_view


def test_signal_hands_on_the_object(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("stack", "resource", "signal", "web", "server", "-d", '{"status": "SUCCESS"}')
    assert result.exit_code == 0
    assert service.signals == [("web", "server", {"status": "SUCCESS"})]


@pytest.mark.parametrize("data", ["{status: 1}", "[1]", '"text"', ""])
def test_signal_refuses_what_is_no_json_object(data: str, terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("stack", "resource", "signal", "web", "server", "-d", data)
    assert result.exit_code == 2
    assert "--data: expected" in result.stderr
    assert service.signals == []


@pytest.mark.parametrize("given", ["@file.json", "@-"])
def test_signal_reads_the_object_from_a_file_or_stdin(
    given: str, terminal: Terminal, service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.json").write_text('{"data": "ready"}')
    result = terminal.run(
        "stack", "resource", "signal", "web", "server", "-d", given, answer='{"data": "ready"}'
    )
    assert result.exit_code == 0, result.stderr
    assert service.signals == [("web", "server", {"data": "ready"})]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "--data @file.json: the file cannot be read: No such file or directory"),
        (b"\xff", "--data @file.json: expected text in UTF-8"),
        (b"{", "--data @file.json: expected JSON, but at line 1, column 2"),
        (b"[]", "--data @file.json: expected a JSON object such as"),
    ],
)
def test_signal_names_the_file_that_has_no_json_object(
    content: bytes | None,
    told: str,
    terminal: Terminal,
    service: FakeService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("file.json").write_bytes(content)
    result = terminal.run("stack", "resource", "signal", "web", "server", "-d", "@file.json")
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert service.signals == []


def test_a_signal_that_changes_a_stack_is_followed_where_nobody_else_does_the_work(
    terminal: Terminal, service: FakeService
) -> None:
    service.stacks_held["group"] = stack_view("group", "UPDATE", "IN_PROGRESS")
    service.changed_by_signals = "group"
    embedded = terminal.run("stack", "resource", "signal", "web", "server")
    assert embedded.exit_code == 0
    assert "group UPDATE_COMPLETE" in embedded.stdout
    service.stacks_held["group"] = changing = stack_view("group", "UPDATE", "IN_PROGRESS")
    with_broker = Terminal(service, terminal.state_directory, "redis://nowhere")
    left = with_broker.run("stack", "resource", "signal", "web", "server")
    assert left.exit_code == 0
    assert f"group changes: isotherm stack watch {changing.id}" in left.stderr
    service.ending = "FAILED"
    assert terminal.run("stack", "resource", "signal", "web", "server").exit_code == 1
