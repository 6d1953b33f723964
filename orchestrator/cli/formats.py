"""Results on stdout: framed tables on a terminal, aligned columns in pipes, JSON and YAML for programs."""

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import IO, TYPE_CHECKING, Any

import click

from hooks.values.dataclass import dataclass

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: The formats of every ``list`` and ``show`` command.
FORMS = ("table", "json", "yaml")

#: Styles by the end of a state's name.
STATE_STYLES = {
    "COMPLETE": "green",
    "FAILED": "bold red",
    "IN_PROGRESS": "yellow",
    "ok": "green",
    "wrong": "bold red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: named columns, or (``fields_table``) one name and one value a line."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    #: Whether text keeps its line ends; a list has one line a row, so that it can be searched line by line.
    keeps_lines: bool = False
    has_header: bool = True
    #: Columns that are left out, in this order, on a terminal that is too narrow for all.
    spare: tuple[str, ...] = ()
    #: In a pipe, cells are broken between words so that lines have at most this many columns; 0: never.
    folded_to: int = 0


def fields_table(fields: Mapping[str, object], title: str = "") -> Table:
    """Return a table of one object, a field a line."""
    rows = list(fields.items())
    return Table(columns=("field", "value"), rows=rows, title=title, keeps_lines=True, has_header=False)


def show(form: str, data: object, *tables: Table) -> None:
    """Write ``data`` as JSON or YAML, or ``tables`` in the format ``table``."""
    if form == "json":
        click.echo(as_json(data))
    elif form == "yaml":
        click.echo(as_yaml(data), nl=False)
    else:
        show_tables(tables)


def show_tables(tables: Iterable[Table]) -> None:
    """Write tables: framed and coloured on a terminal, aligned columns otherwise."""
    console = terminal_for_results()
    for number, table in enumerate(tables):
        if number:
            click.echo()
        if table.title:
            show_line((table.title, "bold"))
        if console is None:
            click.echo("".join(f"{line}\n" for line in plain_lines(table)), nl=False)
        else:
            for part in _narrowed(table, console.width):
                console.print(_framed(part))


def show_line(*parts: tuple[str, str]) -> None:
    """Write a line of texts, each with a style that it has on a terminal."""
    console = terminal_for_results()
    if console is None:
        click.echo("".join(text for text, _ in parts))
        return
    from rich.text import Text

    console.print(Text.assemble(*parts), soft_wrap=True)


def terminal_for_results() -> "Console | None":
    """Return the console on stdout; None if that is no terminal."""
    return _terminal(sys.stdout, console_for_results)


def terminal_for_messages() -> "Console | None":
    """Return the console on stderr; None if that is no terminal."""
    return _terminal(sys.stderr, console_for_messages)


def _terminal(stream: "IO[str] | None", console: "Callable[[], Console]") -> "Console | None":
    try:
        is_one = stream is not None and stream.isatty()
    except ValueError:
        # It is closed.
        is_one = False
    # These are what rich asks, too, which takes a while to import.
    if not is_one and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys():
        return None
    made = console()
    return made if made.is_terminal else None


def console_for_results() -> "Console":
    """Return a console on stdout without highlighting, markup and emoji."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def console_for_messages() -> "Console":
    """Return the same on stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def as_json(data: object, *, indent: int | None = 2) -> str:
    """Return JSON in ASCII, so that no locale can misread it."""
    return json.dumps(data, indent=indent, default=str)


def as_yaml(data: object) -> str:
    """Return YAML, with keys in the order of ``data``."""
    from orchestrator.template import writer

    text = as_json(data)
    # PyYAML breaks lines at these and does not read them back; escaped, it does.
    has_odd_breaks = any(mark in text for mark in ("\\u0085", "\\u2028", "\\u2029", "\\ufeff"))
    return writer.write(json.loads(text), ascii_only=has_odd_breaks)


@functools.lru_cache(maxsize=256)
def moment(seconds: float) -> str:
    """Return a time (seconds since the epoch) in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def text_of(value: object) -> str:
    """Return a value as text: a string as it is, an empty string for None, anything else as JSON."""
    if value is None:
        return ""
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def printable(text: str) -> str:
    """Return text without terminal control characters: they are shown as escapes."""
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode("ascii")


def state_style(state: str) -> str:
    """Return rich's style of a state; empty for a state without one."""
    return next((style for end, style in STATE_STYLES.items() if state.endswith(end)), "")


def plain_lines(table: Table) -> Iterator[str]:
    """Yield a table's lines in aligned columns, two spaces apart, without trailing blanks."""
    rows = [_cells(table, row) for row in table.rows]
    if table.has_header:
        rows.insert(0, [[column.upper()] for column in table.columns])
    if table.folded_to and rows:
        rows = _folded(rows, table.folded_to)
    widths = [
        max((_columns(line) for cell in column for line in cell), default=0)
        for column in zip(*rows, strict=True)
    ]
    for row in rows:
        for line in zip_longest(*row, fillvalue=""):
            padded = (part + " " * (width - _columns(part)) for part, width in zip(line, widths, strict=True))
            yield "  ".join(padded).rstrip()


def _columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _folded(rows: list[list[list[str]]], columns: int) -> list[list[list[str]]]:
    """Return rows whose widest cells are broken between words; a longer word stays as it is."""
    from textwrap import wrap

    widths = [max(len(line) for cell in column for line in cell) for column in zip(*rows, strict=True)]
    room = columns - 2 * (len(widths) - 1)
    most = next(
        (size for size in range(max(widths), 0, -1) if sum(min(width, size) for width in widths) <= room), 1
    )
    return [
        [[part for line in cell for part in wrap(line, most, break_long_words=False) or [""]] for cell in row]
        for row in rows
    ]


def _cells(table: Table, row: Sequence[object]) -> list[list[str]]:
    texts = [text_of(value).expandtabs(4) for value in row]
    if table.keeps_lines:
        return [text.split("\n") for text in texts]
    return [[" ".join(text.split("\n"))] for text in texts]


#: Longer cells, such as reasons, may be folded.
_FOLDED_FROM = 24
#: Cells that are folded into fewer columns cannot be read.
_LEAST = 10


def _narrowed(table: Table, width: int) -> list[Table]:
    """Return a table without as many of its spare columns as needed to fit ``width``.

    If the others cannot be read in that width either, there is a table of fields for each row.
    """
    for column in table.spare:
        if _width(table, folded_from=_FOLDED_FROM) <= width:
            break
        kept = [place for place, name in enumerate(table.columns) if name != column]
        table = replace(
            table,
            columns=tuple(table.columns[place] for place in kept),
            rows=[[row[place] for place in kept] for row in table.rows],
        )
    if table.has_header and table.rows and _width(table, folded_from=_LEAST) > width:
        return [fields_table(dict(zip(table.columns, row, strict=True))) for row in table.rows]
    return [table]


def _width(table: Table, *, folded_from: int) -> int:
    """Return the width of a framed table, if cells longer than ``folded_from`` are folded."""
    texts = zip(table.columns, *(map(text_of, row) for row in table.rows), strict=True)
    needed = [min(folded_from, max(map(len, column_texts))) for column_texts in texts]
    # With a space on both sides of each cell, and the frame.
    return sum(needed) + 3 * len(needed) + 1


def _framed(table: Table) -> "RenderableType":
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    if table.has_header and not table.rows:
        return Text("none", style="dim")
    framed = RichTable(box=box.ROUNDED, show_header=table.has_header, header_style="bold")
    for position, column in enumerate(table.columns):
        is_name = position == 0 and not table.has_header
        framed.add_column(column, style="bold" if is_name else "", overflow="fold", no_wrap=is_name)
    for row in table.rows:
        cells = ("\n".join(lines) for lines in _cells(table, row))
        styled = (Text(cell, style=_style_of(table, row, place, cell)) for place, cell in enumerate(cells))
        framed.add_row(*styled)
    return framed


def _style_of(table: Table, row: Sequence[object], place: int, cell: str) -> str:
    # In a table of fields the first cell names the value; in a list the column does.
    name = table.columns[place] if table.has_header else str(row[0])
    return state_style(cell) if name == "state" and (table.has_header or place) else ""
