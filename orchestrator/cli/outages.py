"""Errors of libraries that are no bug: a server refuses or is away, a disk is full; each becomes a message.

The one place where they are recognized, for all commands and processes. The libraries are not imported: an error of one
that was never loaded cannot occur.
"""

import errno
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from orchestrator.errors import IsothermError, Unavailable, typed_message


class _Outage(NamedTuple):
    module: str
    names: Sequence[str]
    sentence: str


_BROKER: Final = (
    "the broker refuses or does not answer; correct user, password and host in ISOTHERM_BROKER_URL"
)
_REDIS: Final = (
    "Redis refuses or does not answer; correct ISOTHERM_BROKER_URL and ISOTHERM_CACHE_URL, or the server"
)
_DATABASE: Final = "the database refuses or does not answer; correct ISOTHERM_DATABASE_URL, or the server"
_OUTAGES: Final = (
    _Outage("kombu.exceptions", ("OperationalError",), _BROKER),
    _Outage("amqp.exceptions", ("AMQPError",), _BROKER),
    _Outage("redis.exceptions", ("ConnectionError", "TimeoutError", "ResponseError"), _REDIS),
    _Outage("sqlalchemy.exc", ("OperationalError", "InterfaceError"), _DATABASE),
)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def as_outage(error: Exception, directories: Sequence[str] = ()) -> IsothermError | None:
    """Return what an error of a library means for a user; None if it may be a bug.

    ``directories`` are those that this process writes to, for errors of a full disk that name no file.
    """
    for outage in _OUTAGES:
        if isinstance(error, tuple(_kinds(outage))):
            # The driver's message, without SQLAlchemy's additions for programmers.
            reason = getattr(error, "orig", None) or error
            return Unavailable(f"{outage.sentence}: {' '.join(str(reason).split()) or typed_message(error)}")
    if isinstance(error, OSError):
        return _of_system(error, directories)
    return None


def _kinds(outage: _Outage) -> Iterator[type[Exception]]:
    module = sys.modules.get(outage.module)
    for name in outage.names if module else ():
        yield getattr(module, name)


def _of_system(error: OSError, directories: Sequence[str]) -> IsothermError:
    reason = error.strerror or typed_message(error)
    place = str(error.filename) if error.filename is not None else ""
    if error.errno in _FULL:
        place = place or " or ".join(directories)
        lead = f"{place}: " if place else ""
        return Unavailable(f"{lead}{reason}; free space, or name a directory on another disk")
    return Unavailable(f"{place}: {reason}" if place else reason)
