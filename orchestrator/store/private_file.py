"""The file of a SQLite database, which only its user may read."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from cache.stores.private_files import FILE, narrow


def make_private(name: str) -> None:
    """Make SQLite's file for this user alone if it is missing, or narrow it and the files beside it.

    SQLite gives the files that it makes beside it, such as ``-wal``, the mode of the database.
    """
    is_made = True
    if name.startswith("file:"):
        parts = urlsplit(name)
        name, is_made = unquote(parts.path), parse_qs(parts.query).get("mode", ["rwc"]) == ["rwc"]
    # With O_EXCL an existing file is not opened: to close it would release the locks of this process's connections.
    with suppress(OSError):
        if is_made:
            os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE))
    for suffix in ("", "-wal", "-shm", "-journal"):
        narrow(Path(f"{name}{suffix}"))
