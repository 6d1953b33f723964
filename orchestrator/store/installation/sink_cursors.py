"""Cursors of event sinks: how far each sink has received the events. One process at a time moves a cursor."""

from __future__ import annotations

import functools
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from hooks.events import Event
from hooks.values.dataclass import dataclass
from orchestrator.model.codec import UnreadableSecret, UnreadableValue
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.purging.unneeded import NO_END, SINK_PATIENCE_SECONDS, waits
from orchestrator.store.retrying import retrying

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from orchestrator.model.codec import Codec
    from orchestrator.store.database import Database
    from orchestrator.store.horizon import Horizon
    from orchestrator.store.rows import AnyRow, Query

#: The most events that are read at once.
BATCH = 500
#: What names a sink: the settings, or the environment of a stack.
OF_SETTINGS, OF_ENVIRONMENTS = "settings", "environments"
#: The pause before a cursor is tried again that no configured key decrypts.
_LOCKED_SECONDS = 60.0
#: The most characters of an error that are stored.
_ERROR_LENGTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorRow:
    """A cursor, for operators."""

    name: str
    #: For a sink of an environment, the stack whose events it receives; None for one of the settings.
    stack_id: str | None
    #: That stack's name; None for none.
    stack_name: str | None
    type: str
    #: The id of the last event that the sink received.
    position: int
    #: The number of events that wait for it, and the time of the first; None for none.
    backlog: int
    waiting_since: float | None
    #: The number of events that were removed before the sink received them.
    lost: int
    failing_since: float | None
    failures: int
    error: str
    #: The process that delivers to it; None for none.
    owner: str | None
    #: The time of this read.
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCursor(Record):
    """A cursor for which events have waited for long."""

    name: str
    type: str
    #: For a sink of an environment, the id and the name of its stack; None for one of the settings.
    stack_id: str | None
    stack_name: str | None
    #: The time of the first event that waits.
    waiting_since: float
    #: Since when the sink fails, and how often; None if it does not.
    failing_since: float | None
    failures: int
    #: The number of such cursors, whether read or not.
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorClaim(Record):
    """The right to move a cursor, until the lease ends or another process takes it."""

    name: str
    type: str
    stack_id: str | None
    #: The options of a sink of an environment.
    options: Mapping[str, Any] = field(repr=False)
    #: The fence: a write under an older attempt, or by another process, changes nothing. A cursor that was forgotten
    #: and made again counts its attempts from the beginning.
    attempt: int
    owner: str
    position: int
    #: The state that the sink saved with that position; empty for none.
    state: bytes = field(repr=False)
    #: How often the sink has failed since its last success.
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A cursor of an environment's sink for which events wait."""

    name: str
    type: str
    #: The process that holds it; None for none.
    owner: str | None


class SinkCursors:
    """The cursor table's operations."""

    def __init__(self, database: Database, codec: Codec, horizon: Horizon) -> None:
        self._db = database
        self._codec = codec
        #: The horizon of the history.
        self.horizon = horizon

    @retrying
    def register(self, names: Collection[str]) -> None:
        """Make a cursor for each sink of the settings that has none; it receives the events from now on."""
        if not names:
            return
        sql = sa.text(
            "INSERT INTO sink_cursor (name, type, position, created_at) "
            "SELECT :name, :name, coalesce(max(id), 0), :now FROM event WHERE true "
            "ON CONFLICT (name) DO NOTHING"
        )
        with self._db.timed_write() as (connection, now):
            # In one order, so that concurrent writers cannot deadlock.
            connection.execute(sql, [{"name": name, "now": now} for name in sorted(names)])

    @retrying
    def claim(self, name: str, *, owner: str, lease_seconds: float) -> CursorClaim | None:
        """Claim a cursor; None if it does not exist, another process holds it, or it failed and is not due yet.

        Also None if its options or state cannot be read, such as without their key, which is recorded as a failure.
        """
        cursor = tables.sink_cursor
        with self._db.timed_write() as (connection, now):
            free = sa.or_(
                cursor.c.leased_until.is_(None), cursor.c.leased_until <= now, cursor.c.owner == owner
            )
            row = connection.execute(
                cursor.update()
                .where(cursor.c.name == name, cursor.c.due_at <= now, free)
                .values(owner=owner, leased_until=now + lease_seconds, attempt=cursor.c.attempt + 1)
                .returning(*cursor.c)
            ).first()
        if row is None:
            return None
        claim = CursorClaim.of(row, options={}, state=b"")
        try:
            return replace(
                claim,
                options=self._codec.unpack(row.options, ("sink_cursor", "options", name))
                if row.options
                else {},
                state=self._codec.unpack(row.state, ("sink_cursor", "state", name)) if row.state else b"",
            )
        except (UnreadableSecret, UnreadableValue) as error:
            self.fail(claim, str(error), pause_seconds=_LOCKED_SECONDS)
            return None

    def holder(self, name: str) -> tuple[str, int] | None:
        """Return the process that holds a cursor, and its attempt; None for none."""
        cursor = tables.sink_cursor
        sql = sa.select(cursor.c.owner, cursor.c.attempt).where(
            cursor.c.name == name, cursor.c.leased_until.is_not(None)
        )
        row = self._db.first(sql)
        return None if row is None else (row.owner, row.attempt)

    def exists(self, name: str) -> bool:
        """Return whether a cursor exists."""
        cursor = tables.sink_cursor
        return self._db.first(sa.select(cursor.c.name).where(cursor.c.name == name)) is not None

    def read(self, claim: CursorClaim, *, up_to: int, limit: int = BATCH) -> list[Event]:
        """Return the next events after a claim's position, in the order of their ids, up to ``up_to``.

        To miss no event, pass an id that :attr:`horizon` has returned.
        """
        event, stack = tables.event, tables.stack
        or_empty = {
            "stack_name": stack.c.name,
            "project": stack.c.project,
            "resource_id": event.c.resource_id,
        }
        sql = (
            sa.select(
                *(each for each in event.c if each.name not in ("resource_id", "traversal_id", "user_name")),
                event.c.traversal_id.label("operation_id"),
                event.c.user_name.label("user"),
                *(sa.func.coalesce(column, "").label(name) for name, column in or_empty.items()),
            )
            .outerjoin(stack, stack.c.id == event.c.stack_id)
            .where(event.c.id > claim.position, event.c.id <= up_to)
            .order_by(event.c.id)
            .limit(limit)
        )
        if claim.stack_id is not None:
            # The sink may have been removed from the environment since the claim.
            cursor = tables.sink_cursor
            until = sa.select(cursor.c.until).where(cursor.c.name == claim.name).scalar_subquery()
            sql = sql.where(event.c.stack_id == claim.stack_id, event.c.id <= sa.func.coalesce(until, up_to))
        return [Event(**row._mapping) for row in self._db.rows(sql)]

    @retrying
    def advance(self, claim: CursorClaim, position: int, *, state: bytes, lease_seconds: float) -> bool:
        """Record that a sink has received everything up to ``position``, and the state that it saved.

        False if another process holds the cursor, or it was removed; nothing is changed then.
        """
        return self._change(
            claim,
            lease_seconds,
            position=position,
            state=self._codec.pack(state, ("sink_cursor", "state", claim.name)) if state else None,
            failing_since=None,
            failures=0,
            error="",
        )

    @retrying
    def renew(self, claim: CursorClaim, *, lease_seconds: float) -> bool:
        """Extend the lease of a cursor; False if another process holds it, or it was removed."""
        return self._change(claim, lease_seconds)

    def _change(self, claim: CursorClaim, lease_seconds: float, **values: object) -> bool:
        cursor = tables.sink_cursor
        with self._db.timed_write() as (connection, now):
            sql = cursor.update().where(_mine(claim)).values(leased_until=now + lease_seconds, **values)
            return connection.execute(sql).rowcount == 1

    @retrying
    def fail(self, claim: CursorClaim, error: str, *, pause_seconds: float) -> bool:
        """Record that a sink failed, and release the cursor, which is due again after the pause.

        False if another process holds the cursor, or it was removed; nothing is changed then.
        """
        cursor = tables.sink_cursor
        with self._db.timed_write() as (connection, now):
            values = {
                "failing_since": sa.func.coalesce(cursor.c.failing_since, now),
                "failures": cursor.c.failures + 1,
                "error": error[:_ERROR_LENGTH],
                "due_at": now + pause_seconds,
                "owner": None,
                "leased_until": None,
            }
            return connection.execute(cursor.update().where(_mine(claim)).values(**values)).rowcount == 1

    def release(self, name: str, *, owner: str, attempt: int) -> bool:
        """Release a cursor that a process holds under this attempt; False if it does not hold it any more."""
        cursor = tables.sink_cursor
        which = _held(name, owner, attempt) & cursor.c.leased_until.is_not(None)
        return self._db.change(cursor.update().where(which).values(owner=None, leased_until=None)) == 1

    def all(self) -> list[CursorRow]:
        """Return every cursor, those of the settings' sinks first, by name."""
        cursor, stack, event = tables.sink_cursor, tables.stack, tables.event
        sql = (
            sa.select(
                *(cursor.c[name] for name in CursorRow.__dataclass_fields__ if name in cursor.c),
                stack.c.name.label("stack_name"),
                sa.literal_column(self._db.now).label("now"),
                _of_waiting(sa.select(sa.func.count())).label("backlog"),
                _of_waiting(sa.select(event.c.at).order_by(event.c.id).limit(1)).label("waiting_since"),
            )
            .outerjoin(stack, stack.c.id == cursor.c.stack_id)
            .order_by(cursor.c.stack_id.is_not(None), stack.c.name, cursor.c.name)
        )
        return [CursorRow(**row._mapping) for row in self._db.rows(sql)]

    def late(self, *, project: str, seconds: float, limit: int) -> list[LateCursor]:
        """Return cursors whose events have waited ``seconds``: of the settings' sinks, and of a project's stacks.

        Those of the settings come first, then those whose events have waited longest.
        """
        cursor, stack, event = tables.sink_cursor, tables.stack, tables.event
        waiting = _of_waiting(sa.select(event.c.at).order_by(event.c.id).limit(1)).label("waiting_since")
        now: sa.ColumnElement[float] = sa.literal_column(self._db.now)
        known = (
            sa.select(
                *(cursor.c[name] for name in ("name", "type", "stack_id", "failing_since", "failures")),
                stack.c.name.label("stack_name"),
                waiting,
            )
            .outerjoin(stack, stack.c.id == cursor.c.stack_id)
            .where(cursor.c.stack_id.is_(None) | (stack.c.project == project))
            .subquery()
        )
        sql = (
            sa.select(known, sa.func.count().over().label("total"))
            .where(known.c.waiting_since < now - seconds)
            .order_by(known.c.stack_id.is_not(None), known.c.waiting_since, known.c.name)
            .limit(limit)
        )
        return [LateCursor.of(row) for row in self._db.rows(sql)]

    def delays(self) -> dict[tuple[str, str], float]:
        """Return for how many seconds the oldest event has waited for a sink, 0 if none waits.

        The keys are :data:`OF_SETTINGS` with the sink's name, and :data:`OF_ENVIRONMENTS` with a type of sinks: the
        longest of all sinks of this type that environments name. It is one statement.
        """
        cursor, event = tables.sink_cursor, tables.event
        is_own = cursor.c.stack_id.is_(None)
        waiting = sa.select(
            sa.case((is_own, OF_SETTINGS), else_=OF_ENVIRONMENTS).label("named_by"),
            sa.case((is_own, cursor.c.name), else_=cursor.c.type).label("sink"),
            _of_waiting(sa.select(event.c.at).order_by(event.c.id).limit(1)).label("since"),
        ).subquery()
        now: sa.ColumnElement[float] = sa.literal_column(self._db.now)
        seconds = sa.func.max(sa.func.coalesce(now - waiting.c.since, 0.0))
        sql = sa.select(waiting.c.named_by, waiting.c.sink, seconds).group_by(
            waiting.c.named_by, waiting.c.sink
        )
        return {(row[0], row[1]): max(0.0, float(row[2])) for row in self._db.rows(sql)}

    def due(self, types: Collection[str], *, up_to: int, limit: int, failing: bool = False) -> list[Due]:
        """Return due cursors of environments' sinks for which events up to ``up_to`` wait.

        Those that no process holds come first, and of these the longest waiting. With ``failing``, only those that
        failed the last time; otherwise only the others.
        """
        cursor, event = tables.sink_cursor, tables.event
        waiting = sa.exists().where(event.c.stack_id == cursor.c.stack_id, waits(), event.c.id <= up_to)
        now: sa.ColumnElement[float] = sa.literal_column(self._db.now)
        held = cursor.c.leased_until.is_not(None) & (cursor.c.leased_until > now)
        sql = (
            sa.select(cursor.c.name, cursor.c.type, sa.case((held, cursor.c.owner)).label("owner"))
            .where(cursor.c.stack_id.is_not(None), cursor.c.type.in_(types), cursor.c.due_at <= now, waiting)
            .where((cursor.c.failures > 0) if failing else (cursor.c.failures == 0))
            .order_by(held, cursor.c.position, cursor.c.name)
            .limit(limit)
        )
        return [Due(**row._mapping) for row in self._db.rows(sql)]

    def remove_done(self) -> None:
        """Remove cursors of deleted stacks, and of sinks removed from their environment, that have no use any more.

        Their sinks have received everything, or have failed for ``SINK_PATIENCE_SECONDS``.
        """
        cursor, event, stack = tables.sink_cursor, tables.event, tables.stack
        waiting = sa.exists().where(event.c.stack_id == cursor.c.stack_id, waits())
        now: sa.ColumnElement[float] = sa.literal_column(self._db.now)
        mine = stack.c.id == cursor.c.stack_id
        is_living = sa.exists().where(mine, stack.c.deleted_at.is_(None))
        was_lately = sa.exists().where(mine, stack.c.deleted_at > now - SINK_PATIENCE_SECONDS)
        of_deleted = ~is_living & ~(was_lately & waiting)
        was_left_lately = cursor.c.left_at > now - SINK_PATIENCE_SECONDS
        was_left = cursor.c.until.is_not(None) & ~(was_left_lately & waiting)
        which = cursor.c.stack_id.is_not(None) & (of_deleted | was_left)
        names = self._db.column(sa.select(cursor.c.name).where(which))
        if names:
            self._db.change(cursor.delete().where(cursor.c.name.in_(names), which))

    def bound(self, most: int, *, stack_id: str | None = None) -> None:
        """Advance every cursor for which more than ``most`` events wait, and count the events that its sink misses.

        The process that delivers to the sink claims the cursor again. With ``stack_id``, only environments' sinks of
        that stack are considered, besides those of the settings.
        """
        behind = self._db.rows(_far(stack_id is None), {"most": most, "stack_id": stack_id})
        for row in behind:
            self._bound(row, most)

    def _bound(self, row: AnyRow, most: int) -> None:
        waiting = "id > :position"
        if row.stack_id is not None:
            waiting += " AND stack_id = :stack_id"
        if row.until is not None:
            waiting += " AND id <= :until"
        values = {name: getattr(row, name) for name in ("name", "stack_id", "position", "until")}
        kept = f"SELECT id FROM event WHERE {waiting} ORDER BY id DESC LIMIT 1 OFFSET :others"
        move = (
            "UPDATE sink_cursor SET position = :first - 1, "
            f"lost = lost + (SELECT count(*) FROM event WHERE {waiting} AND id < :first), "
            "attempt = attempt + 1, owner = NULL, leased_until = NULL WHERE name = :name AND position = :position"
        )
        with self._db.transaction() as direct:
            first = direct.first(kept, {**values, "others": most - 1})
            if first is not None:
                direct.count(move, {**values, "first": first.id})

    def forget(self, name: str) -> bool:
        """Remove a cursor; False if it does not exist. A delivery under way is the last one."""
        cursor = tables.sink_cursor
        return self._db.change(cursor.delete().where(cursor.c.name == name)) == 1


def _of_waiting(sql: Query) -> sa.ColumnElement[Any]:
    """Return a query of events as a column, restricted to those that wait for a cursor.

    It is two queries, because a single one for "all stacks, or this one" cannot use the index on a stack's events.
    """
    cursor, event = tables.sink_cursor, tables.event
    of_all = sql.where(waits())
    of_stack = of_all.where(event.c.stack_id == cursor.c.stack_id)
    return sa.case(
        (cursor.c.stack_id.is_(None), of_all.correlate(cursor).scalar_subquery()),
        else_=of_stack.correlate(cursor).scalar_subquery(),
    )


@functools.cache
def _far(of_all: bool) -> str:
    """Return the statement that finds the cursors for which more than ``most`` events wait: all, or of one stack."""
    beyond = (
        "SELECT event.id FROM event WHERE event.id > cursor.position "
        f"AND event.id <= COALESCE(cursor.until, {NO_END}){{of_stack}} ORDER BY event.id LIMIT 1 OFFSET :most"
    )
    # A cheap test first: ids may have gaps, but cannot be closer than one. The other is two queries, as of
    # :func:`_of_waiting`.
    return (
        "SELECT cursor.name, cursor.stack_id, cursor.position, cursor.until FROM sink_cursor AS cursor "
        "WHERE (SELECT max(id) FROM event) - cursor.position > :most "
        f"AND CASE WHEN cursor.stack_id IS NULL THEN ({beyond.format(of_stack='')}) "
        f"ELSE ({beyond.format(of_stack=' AND event.stack_id = cursor.stack_id')}) END IS NOT NULL "
        + ("" if of_all else "AND (cursor.stack_id IS NULL OR cursor.stack_id = :stack_id) ")
        + "ORDER BY cursor.name"
    )


def _mine(claim: CursorClaim) -> sa.ColumnElement[bool]:
    return _held(claim.name, claim.owner, claim.attempt)


def _held(name: str, owner: str, attempt: int) -> sa.ColumnElement[bool]:
    cursor = tables.sink_cursor
    return (cursor.c.name == name) & (cursor.c.owner == owner) & (cursor.c.attempt == attempt)
