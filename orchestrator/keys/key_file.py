"""The file of an installation's keys: JSON, for its owner alone. Running processes notice when it changes."""

import json
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from cache.stores.private_files import make_private_directory, narrow
from orchestrator.config.logger import get_logger
from orchestrator.config.secret_file import write_secret_file
from orchestrator.errors import InvalidInput, Problem
from orchestrator.keys.key import Key, KeyRing

log = get_logger()

VERSION: Final = 1
#: How often a process looks whether the file has changed.
LOOK_SECONDS: Final = 5.0
#: How often it looks at most because a message names a key that it does not have.
MISS_SECONDS: Final = 1.0


def read_keys(path: Path) -> list[Key]:
    """Return the keys in a file, which others may not read afterwards.

    Raises:
        InvalidInput: it cannot be read, or holds something else.
    """
    try:
        narrow(path)
        text = path.read_bytes()
    except OSError as error:
        raise _problem(path, f"cannot be read: {error.strerror}", _REMEDY) from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _problem(path, f"is not JSON: {error}", _REMEDY) from error
    if not isinstance(data, dict) or data.get("version") != VERSION or not isinstance(data.get("keys"), list):
        raise _problem(path, f"expected a map with 'version' {VERSION} and a list of 'keys'", _REMEDY)
    keys = []
    for number, each in enumerate(data["keys"]):
        try:
            keys.append(Key.from_wire(each))
        except ValueError as error:
            raise _problem(path, f"keys[{number}]: {error}", _REMEDY) from error
    return keys


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Write a file of keys, or replace it at once and as a whole.

    Raises:
        InvalidInput: it cannot be written.
    """
    make_private_directory(path.parent)
    data = {"version": VERSION, "keys": [key.to_wire() for key in keys]}
    write_secret_file(str(path), json.dumps(data, indent=2) + "\n")


class LiveKeys:
    """The keys of a process, read again when their file has changed; thread-safe."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self._reading = threading.Lock()
        self._ring: KeyRing | None = None
        self._state: tuple[int, int, int] | None = None
        self._next = self._next_miss = 0.0

    def __call__(self) -> KeyRing:
        """Return the keys.

        Raises:
            InvalidInput: at the first call, the file cannot be read; afterwards the keys of before stay.
        """
        ring = self._ring
        if ring is None or self._clock() >= self._next:
            with self._reading:
                ring = self._looked()
        return ring

    def _missing(self, key_id: str) -> Key | None:
        """Return a key that was added since the last look: a message names it. Forged ids cause a look a second."""
        with self._reading:
            now = self._clock()
            if now >= self._next_miss:
                self._next_miss = now + MISS_SECONDS
                self._looked()
            found = {key.id: key for key in self._ring or ()}
        return found.get(key_id)

    def _looked(self) -> KeyRing:
        try:
            found = self._path.stat()
            state = (found.st_mtime_ns, found.st_ino, found.st_size)
            if self._ring is None or state != self._state:
                self._ring, self._state = KeyRing(read_keys(self._path), elsewhere=self._missing), state
        except (OSError, InvalidInput) as error:
            if self._ring is None:
                if isinstance(error, InvalidInput):
                    raise
                raise _problem(self._path, "there are no keys", _MAKE) from error
            log.error(
                "the keys stay as they were: their file cannot be read",
                file=str(self._path),
                error=str(error),
            )
        self._next = self._clock() + LOOK_SECONDS
        return self._ring


_MAKE: Final = "make them with: isotherm key create"
_REMEDY: Final = "restore it, or name another with ISOTHERM_KEY_FILE"


def _problem(path: Path, message: str, hint: str) -> InvalidInput:
    return InvalidInput([Problem(path=str(path), message=message, hint=hint)])
