"""Atomic write of a file with secrets that only its owner can read."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import InvalidInput, Problem


def write_secret_file(name: str, text: str) -> None:
    """Write a file with mode 0600, or replace it; the file is synced to disk when this returns.

    Raises:
        InvalidInput: ``name`` is not a file, or cannot be written.
    """
    path = Path(name)
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(
                [Problem(path=name, message="expected the name of a file; this is something else")]
            )
        # The target of a link is replaced, not the link.
        path = path.resolve()
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
        _sync(path.parent)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidInput([Problem(path=name, message=f"cannot be written: {reason}")]) from error


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
