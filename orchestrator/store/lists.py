"""Lists as single parameters of textual statements: an array on PostgreSQL, JSON on SQLite.

A statement has the same text for lists of any length, so it is prepared once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T", int, str)


def in_list(name: str, *, postgres: bool) -> str:
    """Return the SQL for ``column IN <the list bound as name>``; bind :func:`listed`."""
    return f"= ANY(:{name})" if postgres else f"IN (SELECT value FROM json_each(:{name}))"


def listed(values: Sequence[T], *, postgres: bool) -> list[T] | str:
    """Return a list of integers or texts as the value to bind for :func:`in_list`."""
    return list(values) if postgres else json.dumps(list(values))
