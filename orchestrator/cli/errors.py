"""How errors reach people and programs: sentences with places and snippets, or JSON; and their exit codes."""

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from orchestrator.cli.formats import as_json, console_for_messages, printable
from orchestrator.errors import (
    Conflict,
    InvalidInput,
    IsothermError,
    NotFound,
    Position,
    Problem,
    Unavailable,
)

if TYPE_CHECKING:
    from rich.text import Text

#: What a command's end means, for scripts. A person's Ctrl-C is the shell's own 130.
DONE, STACK_FAILED, BAD_INPUT, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130

#: A snippet is shown of files up to this size; a larger one is no template.
MAX_SNIPPET_BYTES: Final = 8 * 1024 * 1024


def exit_code(error: IsothermError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, Unavailable):
        return UNREACHABLE
    return BAD_INPUT if isinstance(error, (InvalidInput, NotFound, Conflict)) else STACK_FAILED


def report(error: IsothermError, form: str) -> None:
    """Write an error on stderr."""
    if form == "json":
        click.echo(
            as_json([_as_object(type(error).__name__, problem) for problem in _problems(error)]), err=True
        )
        return
    console = console_for_messages()
    for line in _lines(error, with_snippets=console.is_terminal):
        console.print(line, soft_wrap=True)


def report_usage(error: click.UsageError, form: str) -> None:
    """Write a mistake in the command line itself on stderr, in click's words."""
    if form == "json":
        problem = Problem(message=error.format_message())
        click.echo(as_json([_as_object("UsageError", problem)]), err=True)
    else:
        error.show()


def report_bug(error: Exception, form: str, *, with_traceback: bool) -> None:
    """Write an error that nobody foresaw on stderr, and how to see more of it."""
    hint = "this is a bug in Isotherm, or in a plugin: please report it"
    if not with_traceback:
        hint += "; set ISOTHERM_DEBUG=1 to see where it comes from"
    problem = Problem(message=f"{type(error).__name__}: {error}", hint=hint)
    if form == "json":
        click.echo(as_json([_as_object("Bug", problem)]), err=True)
    else:
        console = console_for_messages()
        for line in _problem_lines(problem, with_snippets=False):
            console.print(line, soft_wrap=True)
    if with_traceback:
        sys.excepthook(type(error), error, error.__traceback__)


def debugging(log_level: str) -> bool:
    """Whether a traceback is wanted: ``ISOTHERM_DEBUG`` means yes, or the level is DEBUG."""
    asked = os.environ.get("ISOTHERM_DEBUG", "").lower()
    return asked not in {"", "0", "false", "no"} or log_level.upper() == "DEBUG"


def snippet(position: Position) -> list[str]:
    """Return the line a position points at and a caret below it; nothing if the file cannot be read."""
    path = Path(position.file)
    try:
        if not path.is_file() or path.stat().st_size > MAX_SNIPPET_BYTES:
            return []
        with path.open(encoding="utf-8", errors="replace") as file:
            line = next(islice(file, position.line - 1, None), None)
    except (OSError, ValueError):
        return []
    if line is None:
        return []
    line = line.rstrip("\r\n")
    before = printable(line[: position.column - 1]).expandtabs(4)
    number = f"{position.line:>6} | "
    return [number + printable(line).expandtabs(4), " " * (len(number) - 2) + "| " + " " * len(before) + "^"]


def _problems(error: IsothermError) -> tuple[Problem, ...]:
    return error.problems if isinstance(error, InvalidInput) else (Problem(message=str(error)),)


def _as_object(kind: str, problem: Problem) -> dict[str, Any]:
    return {"error": kind, **problem.to_wire()}


def _lines(error: IsothermError, *, with_snippets: bool) -> Iterator["Text"]:
    for problem in _problems(error):
        yield from _problem_lines(problem, with_snippets=with_snippets)


def _problem_lines(problem: Problem, *, with_snippets: bool) -> Iterator["Text"]:
    from rich.text import Text

    place = f"{problem.position}: " if problem.position else ""
    path = f"{problem.path}: " if problem.path else ""
    lead = "" if place or path else "Error: "
    yield Text.assemble(
        (lead, "bold red"), (printable(place), "bold"), (printable(path), "cyan"), printable(problem.message)
    )
    if with_snippets and problem.position:
        for line in snippet(problem.position):
            yield Text(line, style="dim")
    if problem.hint:
        yield Text.assemble(("  hint: ", "green"), printable(problem.hint))
