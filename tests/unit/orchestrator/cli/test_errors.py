"""How errors reach people and programs, and that none gets through as a traceback."""

import io
import json
import re
from pathlib import Path
from typing import NoReturn

import pytest
from rich.cells import cell_len
from rich.console import Console

from orchestrator.cli import errors
from orchestrator.cli.errors import exit_code, report, snippet
from orchestrator.errors import (
    Conflict,
    InvalidInput,
    IsothermError,
    NotFound,
    PluginMistake,
    Position,
    Problem,
    Unavailable,
)
from tests.unit.orchestrator.cli.fake_service import Terminal

TEMPLATE = "resources:\n  web:\n\ttype: X\n"


@pytest.fixture
def refused(tmp_path: Path) -> InvalidInput:
    """Two problems, the first with a place in a file that is there."""
    path = tmp_path / "web.yaml"
    path.write_text(TEMPLATE)
    position = Position(file=str(path), line=2, column=3)
    problem = Problem(
        message="there is no type 'X'", path="resources.web", position=position, hint="did you mean 'Y'?"
    )
    return InvalidInput([problem, Problem(message="no such parameter", path="parameters.a")])


def refuse(terminal: Terminal, error: BaseException) -> None:
    """Make the next command end with an error."""

    def connect(_settings: object) -> NoReturn:
        raise error

    terminal.shell.connect = connect


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput([Problem(message="wrong")]), 2),
        (NotFound("no such stack"), 2),
        (Conflict("taken"), 2),
        (Unavailable("the broker does not answer"), 3),
        (PluginMistake("the plugin X broke a rule"), 1),
        (IsothermError("something else"), 1),
    ],
)
def test_each_error_has_its_exit_code(error: IsothermError, code: int, terminal: Terminal) -> None:
    assert exit_code(error) == code
    refuse(terminal, error)
    result = terminal.run("stack", "list")
    assert result.exit_code == code
    assert str(error) in result.stderr
    assert "Traceback" not in result.stderr


def test_problems_are_places_then_paths_then_sentences(terminal: Terminal, refused: InvalidInput) -> None:
    refuse(terminal, refused)
    result = terminal.run("stack", "list")
    assert result.stderr.splitlines() == [
        f"{refused.problems[0].position}: resources.web: there is no type 'X'",
        "  hint: did you mean 'Y'?",
        "parameters.a: no such parameter",
        "2 problems",
    ]


def test_one_problem_is_not_counted(terminal: Terminal, refused: InvalidInput) -> None:
    refuse(terminal, InvalidInput(refused.problems[1:]))
    assert terminal.run("stack", "list").stderr == "parameters.a: no such parameter\n"


def test_errors_are_a_json_list_on_stderr_when_asked(terminal: Terminal, refused: InvalidInput) -> None:
    refuse(terminal, refused)
    result = terminal.run("stack", "list", "-f", "json")
    assert result.stdout == ""
    first, second = json.loads(result.stderr)
    assert first["error"] == "InvalidInput"
    assert first["position"] == {"file": refused.problems[0].position.file, "line": 2, "column": 3}  # type: ignore[union-attr]  # the fixture gives one
    assert first["hint"] == "did you mean 'Y'?"
    assert second == {
        "error": "InvalidInput",
        "message": "no such parameter",
        "path": "parameters.a",
        "position": None,
        "hint": "",
    }


def test_mistakes_in_the_command_line_are_json_too(terminal: Terminal) -> None:
    result = terminal.run("stack", "create", "shop", "-f", "json")
    assert result.exit_code == 2
    (problem,) = json.loads(result.stderr)
    assert problem["error"] == "UsageError"
    assert "--template" in problem["message"]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal 40 columns wide gets."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system="standard", width=40)
    monkeypatch.setattr(errors, "console_for_messages", lambda: console)
    return written


def bare(screen: io.StringIO) -> list[str]:
    """Return the lines without their colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", screen.getvalue()).splitlines()


def test_a_terminal_sees_the_line_and_a_caret(refused: InvalidInput, screen: io.StringIO) -> None:
    report(refused, "table")
    assert bare(screen)[1:3] == ["     2 |   web:", "       |   ^"]
    assert bare(screen)[-1] == "2 problems"
    assert "\x1b[1;31m       |   ^" in screen.getvalue()


@pytest.mark.parametrize("file", ["nowhere.yaml", "https://example.com/web.yaml", "/dev/null", ""])
def test_a_place_in_a_file_that_is_not_here_is_told_without_its_line(file: str, screen: io.StringIO) -> None:
    problem = Problem(message="wrong", position=Position(file=file, line=1, column=1))
    report(InvalidInput([problem]), "table")
    assert bare(screen) == [f"{file}:1:1: wrong"]


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize("column", [1, 2, 30, 57, 100, 150, 200])
@pytest.mark.parametrize("text", ["0123456789" * 20, "データ123" * 33, "x" * 9])
def test_of_a_long_line_what_is_around_the_caret_is_shown(
    text: str, column: int, width: int, tmp_path: Path
) -> None:
    path = tmp_path / "web.json"
    path.write_text(text)
    line, caret = snippet(Position(file=str(path), line=1, column=column), width)
    assert cell_len(line) <= width
    assert ("…" in line) == (cell_len(text) > width - len("     1 | "))
    if column <= len(text):
        # However wide the characters before it are.
        shown = next(line[at:] for at in range(len(line)) if cell_len(line[:at]) == caret.index("^"))
        assert shown[0] == text[column - 1]


def test_a_caret_stands_below_its_column_behind_tabs(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(TEMPLATE)
    line, caret = snippet(Position(file=str(path), line=3, column=2))
    assert line.index("type") == caret.index("^")


@pytest.mark.parametrize("line", [0, 4, 10**9])
def test_a_place_that_is_not_there_has_no_snippet(line: int, tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(TEMPLATE)
    assert snippet(Position(file=str(path), line=line, column=1)) == []
    assert snippet(Position(file=str(tmp_path), line=1, column=1)) == []
    assert snippet(Position(file="nowhere\0", line=1, column=1)) == []


def test_text_from_outside_cannot_steer_the_terminal(terminal: Terminal) -> None:
    refuse(terminal, NotFound("no stack '\x1b]0;owned\x07[bold]'"))
    result = terminal.run("stack", "show", "x")
    assert "\x1b" not in result.stderr
    assert "\\x1b]0;owned\\x07[bold]" in result.stderr


def test_what_nobody_foresaw_is_called_a_bug_without_traceback(terminal: Terminal) -> None:
    refuse(terminal, ZeroDivisionError("by zero"))
    result = terminal.run("stack", "list")
    assert result.exit_code == 1
    assert "this is a bug" in result.stderr
    assert "ZeroDivisionError: by zero" in result.stderr
    assert "Traceback" not in result.stderr
    (as_json,) = json.loads(terminal.run("stack", "list", "-f", "json").stderr)
    assert as_json["error"] == "Bug"


@pytest.mark.parametrize(("name", "value"), [("ISOTHERM_DEBUG", "1"), ("ISOTHERM_LOG_LEVEL", "DEBUG")])
def test_a_traceback_is_shown_to_those_who_debug(
    name: str, value: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    refuse(terminal, ZeroDivisionError("by zero"))
    assert "Traceback" in terminal.run("stack", "list").stderr


def test_an_interrupt_anywhere_ends_quietly(terminal: Terminal) -> None:
    refuse(terminal, KeyboardInterrupt())
    result = terminal.run("stack", "list")
    assert (result.exit_code, result.output) == (130, "")


@pytest.mark.parametrize(
    ("name", "value"), [("LOG_LEVEL", "loud"), ("LOG_FORMAT", "xml"), ("LEASE_SECONDS", "x")]
)
def test_wrong_settings_are_bad_input(
    name: str, value: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.config.settings import load_settings

    terminal.shell.load = load_settings
    monkeypatch.setenv(f"ISOTHERM_{name}", value)
    result = terminal.run("stack", "list")
    assert result.exit_code == 2
    assert f"settings.{name.lower()}" in result.stderr
    assert f"ISOTHERM_{name}" in result.stderr
