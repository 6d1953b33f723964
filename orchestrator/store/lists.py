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
    if postgres:
        return list(values)
    text = json.dumps(list(values))
    if "\\u0000" not in text:
        return text
    # SQLite would read them up to the NUL only. No text is stored with one.
    return json.dumps([each for each in values if not isinstance(each, str) or "\0" not in each])
