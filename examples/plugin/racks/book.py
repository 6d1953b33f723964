"""The book of who has which place: one file, which all processes of a machine share."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A place that is taken."""

    rack: str
    #: The operation that took it, or found it taken, last: it alone may give it back.
    operation: str


#: By the id of a stack and the name of a box in it.
Places = dict[tuple[str, str], Place]


class Book:
    """Places, kept in a file; nobody reads it while another changes it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> Places:
        """Return all places that are taken."""
        if not self._file.exists():
            return {}
        entries = json.loads(self._file.read_text())
        return {(stack, box): Place(**place) for stack, box, place in entries}

    @contextmanager
    def changed(self) -> Iterator[Places]:
        """Give the places to change; they are written when all went well, as a whole or not at all."""
        with self._file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            places = self.read()
            yield places
            entries = [[stack, box, asdict(place)] for (stack, box), place in sorted(places.items())]
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps(entries, indent=1) + "\n")
            os.replace(new, self._file)  # noqa: PTH105  # which is what the lock is for
