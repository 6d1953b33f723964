"""Errors on stderr: sentences with positions and snippets, or JSON; and the exit codes."""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from orchestrator.cli.formats import as_json, console_for_messages, printable
from orchestrator.cli.outages import as_outage
from orchestrator.errors import (
    Conflict,
    InvalidInput,
    IsothermError,
    NotAllowed,
    NotFound,
    NotVerified,
    Position,
    Problem,
    Unavailable,
    typed_message,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Exit codes. Ctrl-C has the shell's own 130.
DONE, STACK_FAILED, BAD_INPUT, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130
#: Of a dry run with ``--exit-code`` that is not without effect.
CHANGES: Final = 4
#: Of ``isotherm attention --exit-code`` that found something.
FINDINGS: Final = 1

#: The size of a file up to which snippets of it are shown; a larger one is no template.
MAX_SNIPPET_BYTES: Final = 8 * 1024 * 1024


def exit_code(error: IsothermError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, (Unavailable, NotVerified)):
        return UNREACHABLE
    return BAD_INPUT if isinstance(error, (InvalidInput, NotFound, Conflict, NotAllowed)) else STACK_FAILED


def report(error: IsothermError, form: str) -> None:
    """Write an error on stderr, each of its problems with its position and hint."""
    _write(type(error).__name__, _problems(error), form)


def report_usage(error: click.UsageError, form: str) -> None:
    """Write an error in the command line itself on stderr, in click's words."""
    if form == "json":
        _write("UsageError", (Problem(message=error.format_message()),), form)
    else:
        error.show()


def report_unexpected(error: Exception, form: str, directories: Sequence[str], log_level: str) -> int:
    """Write an error that no command expects on stderr; return the exit code.

    It is a library's message of an outage, or else a bug. ``directories`` are those that this process writes to.
    """
    if (outage := as_outage(error, directories)) is not None:
        _drop_unwritten()
        report(outage, form)
        if debugging(log_level):
            sys.excepthook(type(error), error, error.__traceback__)
        return exit_code(outage)
    report_bug(error, form, with_traceback=debugging(log_level))
    return STACK_FAILED


def _drop_unwritten() -> None:
    """Drop what stdout does not take, such as on a full disk: Python would try it again at the end, and fail."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report_bug(error: Exception, form: str, *, with_traceback: bool) -> None:
    """Write an unexpected error on stderr, and how to get its traceback."""
    hint = "this is a bug in Isotherm, or in a plugin: please report it"
    if not with_traceback:
        hint += "; set ISOTHERM_DEBUG=1 to see where it comes from"
    _write("Bug", (Problem(message=typed_message(error), hint=hint),), form)
    if with_traceback:
        sys.excepthook(type(error), error, error.__traceback__)


def debugging(log_level: str) -> bool:
    """Whether tracebacks are shown: ``ISOTHERM_DEBUG`` is set and not false, or the log level is DEBUG."""
    value = os.environ.get("ISOTHERM_DEBUG", "").lower()
    return value not in {"", "0", "false", "no"} or log_level.upper() == "DEBUG"


def snippet(position: Position, width: int = 110) -> list[str]:
    """Return the line at a position and a caret below it; nothing if the file cannot be read.

    A line longer than ``width`` columns is cut on both sides of the caret.
    """
    line = _line_of(position)
    if line is None:
        return []
    number = f"{position.line:>6} | "
    room = max(width - len(number), 10)
    at = position.column - 1
    # No more fits, and a template may be one line of megabytes.
    before, after = line[max(at - room, 0) : at], line[at : at + room + 1]
    shown, caret = _window(_plain(before + after), len(_plain(before)), room)
    return [number + shown, " " * (len(number) - 2) + "| " + " " * caret + "^"]


def _line_of(position: Position) -> str | None:
    """Return the line without its line end; None if the position is in no local file, such as a URL."""
    path = Path(position.file)
    try:
        if not path.is_file() or path.stat().st_size > MAX_SNIPPET_BYTES:
            return None
        with path.open(encoding="utf-8", errors="replace") as file:
            line = next(islice(file, position.line - 1, None), None)
    except (OSError, ValueError):
        return None
    return None if line is None else line.rstrip("\r\n")


def _plain(text: str) -> str:
    return printable(text).expandtabs(4)


def _window(line: str, at: int, width: int) -> tuple[str, int]:
    """Return the part of a line near the character ``at`` that fits ``width`` columns, and that character's column."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(line) <= width:
        return line, cell_len(line[:at])
    start = at
    while start and cell_len(line[start - 1 : at]) <= width // 3:
        start -= 1
    lead = "…" if start else ""
    cut = set_cell_size(lead + line[start:], width - 1).rstrip()
    is_cut = cell_len(lead + line[start:]) >= width
    return cut + ("…" if is_cut else ""), cell_len(lead + line[start:at])


def _problems(error: IsothermError) -> tuple[Problem, ...]:
    if isinstance(error, InvalidInput):
        return error.problems
    if isinstance(error, NotVerified):
        return (error.problem,)
    return (Problem(message=str(error), hint=error.hint if isinstance(error, Unavailable) else ""),)


def warn(warnings: Sequence[Problem], form: str = "table") -> None:
    """Write warnings on stderr if the format is ``table``; in other formats the result holds them."""
    if form != "table" or not warnings:
        return
    _print(console_for_messages(), warnings, is_warning=True)


def _write(kind: str, problems: tuple[Problem, ...], form: str) -> None:
    """Write problems one below the other, and their number; on a terminal with snippets."""
    if form == "json":
        click.echo(as_json([{"error": kind, **problem.to_wire()} for problem in problems]), err=True)
        return
    console = console_for_messages()
    _print(console, problems)
    if len(problems) > 1:
        console.print(f"{len(problems)} problems", style="bold", soft_wrap=True)


def _print(console: "Console", problems: Sequence[Problem], *, is_warning: bool = False) -> None:
    for problem in problems:
        width = console.width if console.is_terminal else 0
        for line in _lines(problem, snippet_width=width, is_warning=is_warning):
            console.print(line, soft_wrap=True)


def _lines(problem: Problem, *, snippet_width: int, is_warning: bool = False) -> Iterator["Text"]:
    """Yield the lines of a problem; a ``snippet_width`` of 0 means no snippet."""
    from rich.text import Text

    place = f"{problem.position}: " if problem.position else ""
    path = f"{problem.path}: " if problem.path else ""
    lead = "" if place or path else "Error: "
    mark = ("Warning: ", "bold yellow") if is_warning else (lead, "bold red")
    yield Text.assemble(
        mark, (printable(place), "bold"), (printable(path), "cyan"), printable(problem.message)
    )
    if snippet_width and problem.position:
        for line, style in zip(snippet(problem.position, snippet_width), ("dim", "bold red"), strict=False):
            yield Text(line, style=style)
    if problem.hint:
        yield Text.assemble(("  hint: ", "green"), printable(problem.hint))
