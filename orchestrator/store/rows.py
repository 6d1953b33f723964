"""Types of statements: their rows, queries and values, where only the statement knows the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hooks.values.parts import parts_of

if TYPE_CHECKING:
    import sqlalchemy as sa

T = TypeVar("T")


class AnyRow(Protocol):
    """A row of a result, with its columns as attributes."""

    def __getattr__(self, name: str, /) -> Any: ...


if TYPE_CHECKING:
    #: A row of a query, with its columns as attributes and in their order.
    Row = sa.Row[*tuple[Any, ...]]
    #: A query, whatever its columns.
    Query = sa.Select[Any]
else:
    # They are named in annotations only, and SQLAlchemy is slow to import.
    Row = Query = Any
#: The values of a statement's parameters, or of the columns that it writes, by name.
Values = Mapping[str, object]


def chunked(values: Sequence[T], most: int = 500) -> Iterator[Sequence[T]]:
    """Return parts of a list, each short enough for one statement."""
    return parts_of(values, most)


def like_pattern(pattern: str) -> str:
    """Return a pattern with ``*`` and ``?`` as one of LIKE, whose escape is a backslash."""
    literal = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return literal.replace("*", "%").replace("?", "_")


def glob_pattern(pattern: str) -> str:
    """Return a pattern with ``*`` and ``?`` as one of GLOB, which knows sets in brackets as well."""
    return pattern.replace("[", "[[]")
