"""Files and directories that only their owner can use: how they are made, and the narrowing of those that are wider.

A file is made with mode 0600 and a directory with 0700, in the system call that makes it: neither is wider for an
instant. At import only the standard library is needed: the launcher of processes, a bare interpreter, uses this, too.
"""

import os
import stat
from pathlib import Path
from typing import Final

FILE: Final = 0o600
_DIRECTORY: Final = 0o700
#: What group and others may do.
_OTHERS: Final = 0o077
#: What could not be narrowed; each process warns of it once.
_left: set[Path] = set()


def private_directory(path: Path) -> None:
    """Make a directory as :func:`make_private_directory` does, and narrow one that exists.

    Raises:
        OSError: the system refuses to make it.
    """
    make_private_directory(path)
    narrow(path)


def make_private_directory(path: Path) -> None:
    """Make a directory and its missing parents, each with mode 0700; existing ones are left as they are.

    Raises:
        OSError: the system refuses.
    """
    # Not ``parents=True``: that makes the parents with the mode that the process happens to have.
    try:
        path.mkdir(_DIRECTORY)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_private_directory(path.parent)
        path.mkdir(_DIRECTORY, exist_ok=True)
    except OSError:
        if not path.is_dir():
            raise


def open_private(path: Path, flags: int) -> int:
    """Return the descriptor of a file, which is made with mode 0600 if it is missing.

    Raises:
        OSError: the system refuses.
    """
    return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE)


def write_private_file(path: Path, content: bytes) -> None:
    """Replace a file as a whole, with mode 0600; on return, it survives a power cut.

    Raises:
        OSError: the system refuses; the file is the one that it was.
    """
    # Most commands write no file.
    import tempfile

    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in ``directory`` survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def narrow(path: Path) -> None:
    """Take from group and others all access to a file or a directory, with a warning if they had any.

    What cannot be narrowed is left as it is, with a warning: what belongs to another user, and a directory with the
    sticky bit, such as /tmp, which is shared by intention. A missing path is left alone.
    """
    # By its name: to close a descriptor of an SQLite file would release all locks that this process has on it.
    try:
        found = path.stat()
    except OSError:
        return
    mode = stat.S_IMODE(found.st_mode)
    if not mode & _OTHERS:
        return
    narrowed, reason = mode & ~_OTHERS, "its sticky bit marks it as shared" if mode & stat.S_ISVTX else ""
    if not reason:
        try:
            path.chmod(narrowed)
        except OSError as error:
            reason = f"{error.strerror}; it belongs to user {found.st_uid}"
    if not reason:
        _warn("other users had access to a private path: its mode was narrowed", path, mode, narrowed)
    elif path not in _left:
        _left.add(path)
        why = f"other users have access to a private path, whose mode cannot be narrowed: {reason}"
        _warn(why, path, mode, narrowed)


def _warn(message: str, path: Path, mode: int, narrowed: int) -> None:
    import structlog

    structlog.get_logger().warning(message, path=str(path), mode=f"{mode:04o}", narrowed=f"{narrowed:04o}")
