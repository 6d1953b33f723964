"""Directories that were made on the way to a file, and are removed with the last file in them.

Each has a marker among the records, which permits its removal. A directory that existed before
has none, and stays.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cache.stores.private_files import make_private_directory, open_private, sync_directory
from workers.agent.files.places import held


class MadeDirectories:
    """The directories that node resources made on this machine; several resources may share one."""

    def __init__(self, records: Path) -> None:
        self._markers = records / "directories"

    def make(self, directory: Path, *, root: Path) -> None:
        """Make ``directory`` and what is missing between it and ``root``; existing ones are left as they are.

        Raises:
            OSError: a directory cannot be made; a file may have its name.
        """
        if directory.is_dir():
            return
        with self._alone():
            missing = []
            while directory != root and not directory.is_dir():
                missing.append(directory)
                directory = directory.parent
            for step in reversed(missing):
                self._make_one(step)

    def _make_one(self, directory: Path) -> None:
        marker = self._marker(directory)
        # Only directories made here may be removed, so this is recorded first, and withdrawn if another process
        # made it.
        with os.fdopen(open_private(marker, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(os.fsencode(directory))
        sync_directory(self._markers)
        try:
            with held(directory) as place:
                place.mkdir()
        except OSError:
            marker.unlink()
            raise
        sync_directory(directory.parent)

    def release(self, directory: Path) -> None:
        """Remove ``directory`` and its parents, as far as they are empty and were made here."""
        if not self._marker(directory).exists():
            return
        with self._alone():
            while (marker := self._marker(directory)).exists():
                try:
                    with held(directory) as place:
                        place.rmdir()
                except FileNotFoundError:
                    pass
                except OSError:
                    return  # not empty; the removal of the last file tries again
                marker.unlink()
                directory = directory.parent

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Exclude all other workers of this machine: two may need the same directory at once."""
        make_private_directory(self._markers)
        lock = open_private(self._markers / "lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _marker(self, directory: Path) -> Path:
        return self._markers / hashlib.sha256(os.fsencode(directory)).hexdigest()
