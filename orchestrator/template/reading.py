"""Results of parsing a text: data and positions, or the error."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

#: A packed position, line << 32 | column, both counted from 0: small enough to keep one for every key.
Where = int


class Fault(NamedTuple):
    """An invalid part of the text."""

    path: tuple[str | int, ...]
    where: Where
    message: str
    hint: str = ""


class Unreadable(Exception):
    """The text cannot be parsed any further."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Reading(NamedTuple):
    """A parsed text: its data, the positions by the container's ``id()`` and key, and the invalid parts.

    ``nodes`` is the number of keys and values in the data, with all aliases expanded. ``warnings`` are parts that were
    read, though perhaps not as meant.
    """

    data: Any
    places: dict[int, dict[Any, Where]]
    faults: list[Fault]
    nodes: int = 0
    warnings: Sequence[Fault] = ()


#: What texts were read as, by the text and the limits.
Readings = dict[tuple[str, int, int], Reading]

_shared: ContextVar[Readings | None] = ContextVar("shared_readings", default=None)


@contextmanager
def shared_readings() -> Iterator[None]:
    """Read each text once within the block: for a command, which parses its template in several steps."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def readings() -> Readings:
    """Return what was read within the block of :func:`shared_readings`, which takes more; outside of one, nothing."""
    shared = _shared.get()
    return {} if shared is None else shared
