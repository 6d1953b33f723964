"""Lists as single parameters of textual statements: an array on PostgreSQL, JSON on SQLite.

A statement has the same text for lists of any length, so it is prepared once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from orchestrator.store.rows import glob_pattern, like_pattern

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


def is_like(column: str, name: str, *, postgres: bool) -> str:
    """Return the SQL for a column that matches one of the patterns bound as ``name``; bind :func:`patterns`.

    The column is named with its table. Upper and lower case differ, unlike for SQLite's LIKE.
    """
    if postgres:
        return f"{column} LIKE ANY(:{name})"
    return f"EXISTS (SELECT 1 FROM json_each(:{name}) AS pattern WHERE {column} GLOB pattern.value)"


def patterns(values: Sequence[str], *, postgres: bool) -> list[str] | str:
    """Return a list of patterns with ``*`` and ``?`` as the value to bind for :func:`is_like`."""
    return listed([*map(like_pattern if postgres else glob_pattern, values)], postgres=postgres)
