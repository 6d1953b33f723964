"""A file with secrets that a command writes where the user names it."""

from pathlib import Path

from cache.stores.private_files import write_private_file
from orchestrator.errors import InvalidInput, Problem


def write_secret_file(name: str, content: str | bytes) -> None:
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
        write_private_file(path.resolve(), content.encode() if isinstance(content, str) else content)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidInput([Problem(path=name, message=f"cannot be written: {reason}")]) from error
