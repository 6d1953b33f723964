"""Rendering of plugins' texts as HTML and Markdown; the only markup in them is code in backticks."""

import re
from collections.abc import Callable
from typing import Final

from markupsafe import Markup, escape

_CODE: Final = re.compile(r"`+([^`]+)`+")
#: The ends of words in a type's name.
_WORD_ENDS: Final = re.compile(r"(?<=::)|(?<=[a-z0-9])(?=[A-Z])")
#: Characters that may be markup in Markdown anywhere in a line.
_SPECIAL: Final = re.compile(r"[\\`*\[<|]|(?<![^\W_])_|_(?![^\W_])|~(?=~)|&(?=[#\w])")
#: Characters that may be markup at the beginning of a line, perhaps after a number.
_LEADING: Final = re.compile(r"^(?:[-+=#>:~]|\d+(?=[.)]))")


def one_line(text: str) -> str:
    """Return a text in one line, without unprintable characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def lines(text: str) -> str:
    """Return a text with its lines, without other unprintable characters."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text.expandtabs(4))


def html_prose(text: str) -> Markup:
    """Return a text as part of a paragraph."""
    return _with_code(one_line(text), escape, html_code)


def html_code(text: str) -> Markup:
    """Return a text as inline code."""
    return Markup("<code>{}</code>").format(one_line(text))


def html_block(text: str) -> Markup:
    """Return a text with its lines, for a preformatted element."""
    return escape(lines(text))


def html_text(text: object) -> Markup:
    """Return a text with all markup escaped; :class:`Markup` is returned unchanged."""
    return text if isinstance(text, Markup) else escape(one_line(str(text)))


def html_name(name: str) -> Markup:
    """Return the name of a type, with possible line breaks between its words."""
    return Markup("<wbr>").join(_WORD_ENDS.split(one_line(name)))


def markdown_prose(text: str) -> Markup:
    """Return a text as a paragraph."""
    return _leading(_with_code(one_line(text), _markdown_text, markdown_code))


def markdown_cell(text: str) -> Markup:
    """Return a text as a cell of a table."""
    return _with_code(one_line(text), _markdown_text, markdown_cell_code)


def markdown_text(text: object) -> Markup:
    """Return a text with inline markup escaped; :class:`Markup` is returned unchanged."""
    return text if isinstance(text, Markup) else _markdown_text(one_line(str(text)))


def markdown_code(text: str) -> Markup:
    """Return a text as inline code."""
    text = one_line(text)
    fence = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(f"{fence}{space}{text}{space}{fence}")  # noqa: S704  # the fence is longer than any inside


def markdown_cell_code(text: str) -> Markup:
    """Return a text as inline code in a cell of a table, with bars escaped: they end a cell even in code."""
    return Markup(markdown_code(text).replace("|", "\\|"))  # noqa: S704


def markdown_block(text: str, language: str = "") -> Markup:
    """Return a text of several lines as a code block."""
    text = lines(text).strip("\n")
    fence = "`" * max(3, _longest_run(text) + 1)
    return Markup(f"{fence}{language}\n{text}\n{fence}\n")  # noqa: S704  # as above


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _markdown_text(text: str) -> Markup:
    return Markup(_SPECIAL.sub(lambda found: f"\\{found[0]}", text))  # noqa: S704  # nothing in it is markup now


def _leading(text: Markup) -> Markup:
    found = _LEADING.match(text)
    if not found:
        return text
    number = found[0] if found[0][0].isdigit() else ""
    return Markup(f"{number}\\{text[len(number) :]}")  # noqa: S704  # what it was, with a character escaped


def _with_code(text: str, written: Callable[[str], Markup], code: Callable[[str], Markup]) -> Markup:
    parts, end = [], 0
    for found in _CODE.finditer(text):
        parts += [written(text[end : found.start()]), code(found[1])]
        end = found.end()
    return Markup("").join([*parts, written(text[end:])])
