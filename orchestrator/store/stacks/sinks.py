"""Event sinks of a stack's environment, written in the transaction that starts the operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.direct import Direct, Transaction
from orchestrator.store.rows import AnyRow

#: The cursors of a stack's sinks; those of sinks that are still named come first.
_KNOWN: Final = """
    SELECT name, type, options, sink_cursor.position, until FROM sink_cursor
    WHERE stack_id = :stack_id ORDER BY until IS NOT NULL, name"""

#: A sink as an environment names it: its type, and its options.
Sink = tuple[str, Mapping[str, Any]]


def write_stack_sinks(
    transaction: Transaction,
    codec: Codec,
    now: float,
    *,
    stack_id: str,
    wanted: Sequence[Mapping[str, Any]],
    is_new: bool,
) -> None:
    """Set the cursors of a stack's sinks to those that its environment names now.

    A sink that was named before with the same options keeps its position. A new one receives events from here on. One
    that is not named any more still receives the events up to here.
    """
    if is_new and not wanted:
        return
    direct = Direct.of(transaction)
    known = [] if is_new else direct.rows(_KNOWN, {"stack_id": stack_id})
    if not known and not wanted:
        return
    cursor, event, connection = tables.sink_cursor, tables.event, direct.alchemy
    done = [row.name for row in known if row.until is not None and row.position >= row.until]
    left: list[tuple[str, Sink]] = [
        (row.name, (row.type, _options(codec, row)))
        for row in known
        # A sink that has received everything after its removal is a new one if it is named again.
        if row.name not in done
    ]
    new: list[Sink] = []
    same: list[str] = []
    for sink in _sinks(wanted):
        match = next((each for each in left if each[1] == sink), None)
        if match is None:
            new.append(sink)
        else:
            left.remove(match)
            same.append(match[0])
    newest = sa.select(sa.func.coalesce(sa.func.max(event.c.id), 0)).where(event.c.stack_id == stack_id)
    position = connection.execute(newest).scalar_one()
    again = cursor.c.name.in_(same) & cursor.c.until.is_not(None)
    connection.execute(cursor.update().where(again).values(until=None, left_at=None))
    gone = cursor.c.name.in_([name for name, _ in left])
    is_at_end = cursor.c.position >= sa.func.coalesce(cursor.c.until, position)
    connection.execute(cursor.delete().where(gone | cursor.c.name.in_(done), is_at_end))
    # The others still receive events; those that were removed earlier keep their last event.
    connection.execute(
        cursor.update().where(gone, cursor.c.until.is_(None)).values(until=position, left_at=now)
    )
    if not new:
        return
    first = 1 + max((int(row.name.rpartition(":")[2]) for row in known), default=-1)
    rows = [
        {
            "name": (name := f"{stack_id}:{number}"),
            "stack_id": stack_id,
            "type": kind,
            "options": codec.pack(dict(options), ("sink_cursor", "options", name)),
            "position": position,
            "created_at": now,
        }
        for number, (kind, options) in enumerate(new, start=first)
    ]
    connection.execute(cursor.insert(), rows)


def _options(codec: Codec, row: AnyRow) -> Mapping[str, Any]:
    options: Mapping[str, Any] = {}
    if row.options:
        options = codec.unpack(row.options, ("sink_cursor", "options", row.name))
    return options


def _sinks(entries: Sequence[Mapping[str, Any]]) -> Iterator[Sink]:
    for entry in entries:
        yield entry["type"], {name: value for name, value in entry.items() if name != "type"}
