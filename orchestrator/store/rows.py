"""Types of statements: their rows, queries and values, where only the statement knows the columns."""

from collections.abc import Mapping
from typing import Any, Protocol

import sqlalchemy as sa


class AnyRow(Protocol):
    """A row of a result, with its columns as attributes."""

    def __getattr__(self, name: str, /) -> Any: ...


#: A query, whatever its columns.
Query = sa.Select[Any]
#: The values of a statement's parameters, or of the columns that it writes, by name.
Values = Mapping[str, object]
