"""Contents of a user's files: text from the disk or, where allowed, from the network."""

import posixpath
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from hooks.values.nearest import Nearest
from orchestrator.config.limits import Limits
from orchestrator.errors import Problem
from orchestrator.template.locations import is_url, is_web, shown

#: The limit of all files of one job together, which contains them all.
MOST_BYTES: Final = 64 * 1024 * 1024

#: The name under which a user gives standard input.
STANDARD_INPUT: Final = "-"
#: The limit for all fetches together; the last one may exceed it.
_FETCHING_SECONDS = 600.0
_ENABLE = "set ISOTHERM_FETCH_URLS=true to let this machine fetch it"
#: The limit of names that are compared for a suggestion: a directory may have millions.
_MOST_NAMES = 1_000


class Unreadable(Exception):
    """A file cannot be read; the message has the reason, as the predicate of a sentence."""

    def __init__(self, message: str, hint: str = "", *, near: str = "") -> None:
        super().__init__(message)
        self._hint, self._near = hint, near

    def hint(self, name: str) -> str:
        """Return a hint for a file that is referred to as ``name``; may be empty."""
        near = posixpath.join(posixpath.dirname(name), self._near)
        return f"did you mean {near!r}?" if self._near else self._hint

    def problem(self, location: str) -> Problem:
        """Return this as a problem with the file at ``location``, which the user gave."""
        name = shown(location)
        return Problem(path=name, message=f"the file {self}", hint=self.hint(name))


class Contents:
    """Reads files, each location once, in bounded size."""

    def __init__(self, limits: Limits, *, fetch_urls: bool, most_bytes: int = MOST_BYTES) -> None:
        """Read from the disk, and with ``fetch_urls`` also over http and https, in bounded time."""
        self._limits, self._fetch_urls = limits, fetch_urls
        self._most_bytes, self._bytes = most_bytes, 0
        self._texts: dict[str, str] = {}
        self._seconds_left = _FETCHING_SECONDS

    def text(self, location: str, *, named_by_file: bool = False) -> str:
        """Return the text at a location: a path, relative to the working directory, or a URL.

        A user may give a pipe, a device, or ``-`` for standard input. A file that is ``named_by_file`` must be a
        regular one: reading others may never end, or never begin.

        Raises:
            Unreadable: the file is missing, too large, no text, or may not be fetched.
        """
        if location not in self._texts:
            content = self._fetched(location) if is_web(location) else self._read(location, named_by_file)
            self._count(content)
            self._texts[location] = _decoded(content)
        return self._texts[location]

    def _fetched(self, url: str) -> bytes:
        if not self._fetch_urls:
            raise Unreadable("is not on this machine, which fetches nothing", _ENABLE)
        if self._seconds_left < 0:
            raise Unreadable(f"is not fetched any more: the others took {_FETCHING_SECONDS:g} seconds")
        # The HTTP client takes longer to load than most commands take.
        from orchestrator.template.fetching import CannotFetch, fetch

        begun = time.monotonic()
        try:
            return fetch(url, max_bytes=self._limits.max_bytes)
        except CannotFetch as error:
            raise Unreadable(str(error)) from error
        finally:
            self._seconds_left -= time.monotonic() - begun

    def _read(self, location: str, named_by_file: bool) -> bytes:
        if location == STANDARD_INPUT and not named_by_file:
            return sys.stdin.buffer.read(self._limits.max_bytes + 1)
        path = Path(_local_path(location))
        try:
            if named_by_file and not (path.is_file() or path.is_dir()) and path.exists():
                raise Unreadable("is a pipe or a device, which no file may name")
            with path.open("rb") as file:
                # Bounded while reading: the size of a device or a pipe is unknown.
                return file.read(self._limits.max_bytes + 1)
        except FileNotFoundError as error:
            raise _missing(path) from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise Unreadable(f"cannot be read: {reason}") from error

    def _count(self, content: bytes) -> None:
        if len(content) > self._limits.max_bytes:
            message = f"has more than {self._limits.max_bytes} bytes"
            raise Unreadable(message, "make it smaller, or raise the setting max_template_bytes")
        self._bytes += len(content)
        if self._bytes > self._most_bytes:
            message = f"is too much: all files together may have {self._most_bytes} bytes"
            raise Unreadable(message, "let resources read what is large from elsewhere")


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 text (byte {error.start})") from error


def _local_path(location: str) -> str:
    if not is_url(location):
        return location
    try:
        parts = urlsplit(location)
    except ValueError as error:
        raise Unreadable("cannot be read: it is no URL") from error
    if parts.scheme.lower() == "file" and parts.netloc in ("", "localhost"):
        return unquote(parts.path)
    raise Unreadable("cannot be read: only paths and the URLs of file, http and https can")


def _missing(path: Path) -> Unreadable:
    """Return the error for a file that does not exist, with the nearest name."""
    try:
        names = [entry.name for entry in islice(path.parent.iterdir(), _MOST_NAMES)]
    except OSError:
        return Unreadable("does not exist", f"there is no directory {str(path.parent)!r}")
    return Unreadable("does not exist", near=Nearest().among(path.name, names) or "")
