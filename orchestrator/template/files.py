"""The client's side of ``get_file``: read a template from disk, and the files it names."""

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any
from urllib.parse import unquote, urlsplit

from orchestrator.errors import InvalidInput, Position, Problem
from orchestrator.template.document import Document, Limits, Path, parse_document

_CALL = "get_file"


def load_template(path: str | FilePath, *, limits: Limits | None = None) -> tuple[str, dict[str, str]]:
    """Return a template's text, and the content of each file it names in a get_file, by the name it uses.

    Relative names start at the template's directory. Names that only a call would tell are not looked for. A text
    that is no YAML names no files: what is wrong with it is said by whoever parses it.

    Raises:
        InvalidInput: the template or a file cannot be read; all such files.
    """
    template = FilePath(path)
    limits = limits or Limits()
    try:
        source = _read(template, limits)
    except _UnreadableFile as error:
        start = Position(file=str(template), line=1, column=1)
        raise InvalidInput([Problem(message=f"the file {error}", position=start, hint=error.hint)]) from error
    try:
        document = parse_document(source, file=str(template), limits=limits)
    except InvalidInput:
        return source, {}
    return source, _load_files(document, template.parent, limits)


def _load_files(document: Document, directory: FilePath, limits: Limits) -> dict[str, str]:
    files: dict[str, str] = {}
    problems: list[Problem] = []
    refused: set[str] = set()
    for path, key in _named_files(document.data, ()):
        if key in files or key in refused:
            continue
        try:
            files[key] = _read(directory / _local_path(key), limits)
        except _UnreadableFile as error:
            refused.add(key)
            problems.append(document.positions.problem(path, f"the file {key!r} {error}", error.hint))
    if problems:
        raise InvalidInput(problems)
    return files


def _named_files(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Return the names written out in calls of get_file, each with its place."""
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(value.get(_CALL), str):
            yield (*path, _CALL), value[_CALL]
        for key, item in value.items():
            yield from _named_files(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _named_files(item, (*path, index))


class _UnreadableFile(Exception):
    """A file cannot be read; the text says why, as the end of a sentence."""

    #: What to do about it.
    hint = ""


class _TooLarge(_UnreadableFile):
    """A file has more bytes than a template may have."""

    hint = "make it smaller, or raise the setting max_template_bytes"


def _local_path(key: str) -> str:
    if "://" not in key:
        return key
    parts = urlsplit(key)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return unquote(parts.path)
    raise _UnreadableFile("is not on this machine; fetching it is not supported yet")


def _read(path: FilePath, limits: Limits) -> str:
    try:
        with path.open("rb") as file:
            # Not the file's size: a device or a pipe has none and may never end.
            content = file.read(limits.max_bytes + 1)
        if len(content) > limits.max_bytes:
            raise _TooLarge(f"has more than {limits.max_bytes} bytes")
        return content.decode()
    except UnicodeDecodeError as error:
        raise _UnreadableFile(f"is not UTF-8 text (byte {error.start})") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _UnreadableFile(f"cannot be read: {reason}") from error
