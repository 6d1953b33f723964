"""Rule files: read at start-up, and again when they change."""

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final

import structlog

from hooks.builtin.policy.nodes import Unreadable
from hooks.builtin.policy.rule_reader import read_rules
from hooks.builtin.policy.rules import Rule

#: The size limit: a larger file is no rule file written by hand.
_MOST_BYTES: Final = 1024 * 1024

log = structlog.get_logger()

#: Identifies a version of a file; of a missing one, the reason.
_Mark = tuple[int, ...] | str


class RuleFiles:
    """The rules of several files, reloaded when a file changes; thread-safe.

    Faulty changes have no effect, since no rules at all would be worse: the last valid rules of all files stay
    in force until all files are valid again, and the log says so once.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the files.

        Raises:
            ValueError: a file is invalid.
        """
        self._paths = tuple(paths)
        self._lock = Lock()
        # Taken before the files are read: a change in between is noticed the next time.
        self._marks = self._look()
        self._rules = _read(self._paths)
        #: The last logged message about invalid files.
        self._logged = ""

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules, in the order of the files and of their content."""
        with self._lock:
            marks = self._look()
            if marks != self._marks:
                self._marks = marks
                self._read_again()
            return self._rules

    def _read_again(self) -> None:
        try:
            self._rules = _read(self._paths)
        except ValueError as error:
            if str(error) != self._logged:
                self._logged = str(error)
                log.error(
                    "new policy rules are wrong: the old ones stay in force",
                    reason="; ".join(self._logged.splitlines()),
                )
            return
        self._logged = ""
        log.info("policy rules were read again", rules=len(self._rules))

    def _look(self) -> tuple[_Mark, ...]:
        return tuple(_mark(path) for path in self._paths)


def _mark(path: Path) -> _Mark:
    try:
        found = path.stat()
    except OSError as error:
        return error.strerror or "?"
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _read(paths: Sequence[Path]) -> tuple[Rule, ...]:
    rules: list[Rule] = []
    homes: dict[str, Path] = {}
    faults: list[str] = []
    for path in paths:
        try:
            found = read_rules(_text(path), os.fspath(path))
        except Unreadable as error:
            faults += str(error).splitlines()
            continue
        for rule in found:
            home = homes.setdefault(rule.name, path)
            if home is not path:
                faults.append(f"{path}: there is a rule of the name {rule.name!r} in {home} already")
        rules += found
    if faults:
        raise Unreadable("\n".join(faults))
    return tuple(rules)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise Unreadable(f"{path}: it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: it is no UTF-8 (at byte {error.start})") from None
    if len(data) > _MOST_BYTES:
        raise Unreadable(f"{path}: it has more than {_MOST_BYTES} bytes")
    return text
