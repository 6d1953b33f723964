"""Write what holds secrets to a file that only its owner reads, whole or not at all."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import InvalidInput, Problem


def write_secret_file(name: str, text: str) -> None:
    """Put a file in place with mode 0600; it is on the disk when this returns. One that is there is replaced.

    Raises:
        InvalidInput: the place is no file, or cannot be written.
    """
    path = Path(name)
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(
                [Problem(path=name, message="expected the name of a file; this is something else")]
            )
        # A link is followed: what it names is replaced, not the link.
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
