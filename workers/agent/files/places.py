"""Files reached by their real path, without a link on the way: what was checked is what is opened.

A template's process may put a link in place of a directory at any moment. So after a path was checked, it is opened
step by step from the root, and no step follows a link. An agent of root does so with the rights of the project's user
(:func:`acting_for`): in a directory that several projects use, it is no way around the modes of their files.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import Final

_STEP: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: To open a pipe does not wait for its other end.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


#: The user for whom the present thread reaches files, by uid and gid; None: the agent's own.
_user: ContextVar[tuple[int, int] | None] = ContextVar("user", default=None)


@contextmanager
def acting_for(user: tuple[int, int] | None) -> Iterator[None]:
    """Have the body reach files with the rights of a user, to whom also belongs what it makes; None: with its own."""
    token = _user.set(user)
    try:
        yield
    finally:
        _user.reset(token)


@contextmanager
def _rights() -> Iterator[None]:
    """Have the kernel check the body's accesses as those of the user: of this thread alone."""
    if (user := _user.get()) is None:
        yield
        return
    uid, gid = user
    library = ctypes.CDLL(None)
    library.setfsgid(gid)
    library.setfsuid(uid)
    try:
        # They return what was set before, and no error.
        if (library.setfsuid(uid), library.setfsgid(gid)) != (uid, gid):
            raise OSError(errno.EPERM, f"the rights of user {uid} cannot be taken on")
        yield
    finally:
        library.setfsuid(os.geteuid())
        library.setfsgid(os.getegid())


@contextmanager
def held(path: Path) -> Iterator[Path]:
    """Yield another path of a file, in the very directory that has its real path ``path`` now.

    The last step may be missing, or a link, and is for the caller not to follow. The body, which is to be one access
    of the file, has the rights of the user.

    Raises:
        OSError: a step before is missing, a link, or no directory; or the path is not a real one.
    """
    if not path.is_absolute() or ".." in path.parts:
        raise OSError(errno.EINVAL, "expected a real path", str(path))
    directory = os.open("/", _STEP)
    try:
        with _rights():
            for name in path.parent.parts[1:]:
                below = os.open(name, _STEP, dir_fd=directory)
                os.close(directory)
                directory = below
            yield Path(f"/proc/self/fd/{directory}") / path.name
    finally:
        os.close(directory)


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file by its real path, for reading.

    Raises:
        OSError: it is missing, or a link, or a link is on the way; or it is no regular file.
    """
    with held(path) as place:
        descriptor = os.open(place, _READ)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        yield file
