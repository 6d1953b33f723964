"""Observation policies, and turns: which process observes a stack, when, and under which attempt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.model.drift import Standing
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.model.observation_times import next_due
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Row, chunked

#: After how long an observation that was begun and has not ended is begun again: its worker or message is lost.
LEASE_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationTurn:
    """The observation of a stack as it is on record."""

    stack_id: str
    policy: ObservationPolicy
    due_at: float | None
    #: The last attempt that was begun, and the last that ended.
    attempt: int
    ended_attempt: int
    observed_at: float | None
    trouble: str
    #: The repairs that may still count: the path of a resource, and when.
    repairs: tuple[tuple[str, float], ...]
    #: The traversal in whose place a repair is due; None: none is.
    repair_traversal: str | None
    #: The database's time of the read, in seconds since the epoch.
    now: float

    @property
    def is_begun(self) -> bool:
        """Whether the last attempt has not ended."""
        return self.ended_attempt < self.attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """A stack as far as a round of observations waits for it."""

    stack_id: str
    name: str
    #: Whether an operation is in progress.
    is_busy: bool
    due_at: float | None
    attempt: int
    is_begun: bool
    repair_is_due: bool
    #: How many differences are under repair, in nested stacks as well.
    under_repair: int
    #: The database's time of the read.
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How an attempt ended."""

    turn: ObservationTurn
    #: When the next one is due, unless the policy has changed since the turn was read.
    due_at: float | None
    #: Why nothing was observed, or not all.
    trouble: str = ""
    #: Whether the stack was observed.
    is_observed: bool = True


def policy_text(policy: ObservationPolicy) -> str:
    """Return a policy as it is stored; equal policies are stored as equal texts."""
    return json.dumps(policy.to_wire(), sort_keys=True)


class ObservationTurns(Repository):
    """Operations on policies and turns. A stack that never had a policy or a turn has no row."""

    def read(self, stack_id: str) -> ObservationTurn | None:
        """Return the observation of a stack; None if it never had a policy or a turn."""
        table = tables.observation
        now: sa.ColumnElement[float] = sa.literal_column(self._db.now)
        row = self._db.first(sa.select(table, now.label("now")).where(table.c.stack_id == stack_id))
        return None if row is None else _turn(row)

    @retrying
    def set_policy(self, stack_id: str, policy: ObservationPolicy, *, due_at: float | None) -> None:
        """Give a stack a policy, by which it is due next; resources that were left alone have another chance."""
        values = {"policy": policy_text(policy), "due_at": due_at, "repairs": "[]"}
        table = tables.observation
        insert = self._db.insert(table).values(stack_id=stack_id, **values)
        with self._db.write() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=[table.c.stack_id], set_=values))

    @retrying
    def begin(self, stack_id: str) -> int:
        """Begin an observation of a stack at once, in place of one under way; return the attempt."""
        table = tables.observation
        with self._db.timed_write() as (connection, now):
            values = {"attempt": table.c.attempt + 1, "due_at": now + LEASE_SECONDS}
            first = {"stack_id": stack_id, "attempt": 1, "due_at": now + LEASE_SECONDS}
            insert = self._db.insert(table).values(first)
            sql = insert.on_conflict_do_update(index_elements=[table.c.stack_id], set_=values)
            attempt: int = connection.execute(sql.returning(table.c.attempt)).scalar_one()
        return attempt

    def is_due(self) -> bool:
        """Return whether :meth:`begin_due` may have something to begin."""
        table = tables.observation
        now: sa.ColumnElement[float] = sa.literal_column(self._db.now)
        return self._db.first(sa.select(table.c.stack_id).where(table.c.due_at <= now).limit(1)) is not None

    def pending(self, project: str) -> list[PendingTurn]:
        """Return the turns of a project's stacks that are due at any time, begun, or to be repaired."""
        table, stack, drift = tables.observation, tables.stack, tables.drift
        now: sa.ColumnElement[float] = sa.literal_column(self._db.now)
        repairing = (drift.c.root_id == table.c.stack_id) & (drift.c.standing == Standing.REPAIRING.value)
        count = sa.select(sa.func.count()).where(repairing).scalar_subquery()
        is_begun = table.c.ended_attempt < table.c.attempt
        is_pending = sa.or_(table.c.due_at.is_not(None), is_begun, table.c.repair_traversal.is_not(None))
        sql = (
            sa.select(
                table.c.stack_id,
                stack.c.name,
                (stack.c.status == "IN_PROGRESS").label("is_busy"),
                table.c.due_at,
                table.c.attempt,
                is_begun.label("is_begun"),
                table.c.repair_traversal.is_not(None).label("repair_is_due"),
                count.label("under_repair"),
                now.label("now"),
            )
            .join(stack, stack.c.id == table.c.stack_id)
            .where(stack.c.project == project, stack.c.deleted_at.is_(None), is_pending)
        )
        return [PendingTurn(**row._mapping) for row in self._db.rows(sql)]

    @retrying
    def begin_again(self, stack_ids: Sequence[str]) -> None:
        """Make observations due now that were begun and have not ended: their process is lost."""
        table = tables.observation
        with self._db.timed_write() as (connection, now):
            for some in chunked(stack_ids):
                is_begun = table.c.stack_id.in_(some) & (table.c.ended_attempt < table.c.attempt)
                connection.execute(table.update().where(is_begun).values(due_at=now))

    @retrying
    def begin_due(self, most: int) -> list[tuple[str, int]]:
        """Begin at most ``most`` observations that are due; return the ids of the stacks, each with its attempt.

        Stacks with an operation in progress stay due. Processes that call this at once begin different ones.
        """
        table, stack = tables.observation, tables.stack
        with self._db.timed_write() as (connection, now):
            due = (
                sa.select(table.c.stack_id, stack.c.deleted_at)
                .join(stack, stack.c.id == table.c.stack_id)
                .where(table.c.due_at <= now, stack.c.status != "IN_PROGRESS")
                .order_by(table.c.due_at, table.c.stack_id)
                .limit(most)
                .with_for_update(of=table, skip_locked=True)
            )
            found = connection.execute(due).all()
            if not found:
                return []
            over = [row.stack_id for row in found if row.deleted_at is not None]
            if over:
                connection.execute(table.update().where(table.c.stack_id.in_(over)).values(due_at=None))
            going = [row.stack_id for row in found if row.deleted_at is None]
            sql = table.update().where(table.c.stack_id.in_(going))
            values: Mapping[str, Any] = {"attempt": table.c.attempt + 1, "due_at": now + LEASE_SECONDS}
            begun = connection.execute(sql.values(values).returning(table.c.stack_id, table.c.attempt)).all()
        return [(row.stack_id, row.attempt) for row in begun]

    @retrying
    def end(self, end: TurnEnd) -> bool:
        """End an attempt that changes nothing else; False if a newer one was begun, or it has ended."""
        with self._db.timed_write() as (connection, now):
            return end_turn(connection, end, now)

    def due_repairs(self, most: int) -> list[tuple[str, str]]:
        """Return at most ``most`` stacks for which a repair is due, each with the traversal that it follows."""
        table = tables.observation
        sql = sa.select(table.c.stack_id, table.c.repair_traversal)
        rows = self._db.rows(sql.where(table.c.repair_traversal.is_not(None)).limit(most))
        return [(row.stack_id, row.repair_traversal) for row in rows]

    def end_repair(
        self, stack_id: str, traversal_id: str, *, due_at: float | None, trouble: str = ""
    ) -> None:
        """Record that a repair was begun, or why none could be; the stack is observed again at ``due_at``."""
        table = tables.observation
        mine = (table.c.stack_id == stack_id) & (table.c.repair_traversal == traversal_id)
        values: dict[str, Any] = {"repair_traversal": None}
        if due_at is not None:
            values["due_at"] = sa.case((table.c.due_at < due_at, table.c.due_at), else_=due_at)
        if trouble:
            values["trouble"] = trouble
        self._db.change(table.update().where(mine).values(**values))


def write_policy(
    connection: sa.Connection, database: Database, now: float, *, stack_id: str, given: Mapping[str, object]
) -> None:
    """Change parts of a stack's policy, in the caller's transaction; the same policy again changes nothing."""
    table = tables.observation
    stored = connection.execute(
        sa.select(table.c.policy).where(table.c.stack_id == stack_id)
    ).scalar_one_or_none()
    present = ObservationPolicy.of(json.loads(stored or "{}"))
    policy = ObservationPolicy.of({**present.to_wire(), **given})
    if policy == present:
        return
    due_at = next_due(stack_id, policy, now)
    values = {"policy": policy_text(policy), "due_at": due_at, "repairs": "[]"}
    insert = database.insert(table).values(stack_id=stack_id, **values)
    connection.execute(insert.on_conflict_do_update(index_elements=[table.c.stack_id], set_=values))


def end_turn(
    connection: sa.Connection,
    end: TurnEnd,
    now: float,
    *,
    repairs: Sequence[tuple[str, float]] | None = None,
    repair_traversal: str | None = None,
) -> bool:
    """End an attempt, in the caller's transaction; False if a newer one was begun, or it has ended.

    With ``repair_traversal``, a repair is due in the place of that traversal, and ``repairs`` are those that count.
    """
    table, turn = tables.observation, end.turn
    mine = (table.c.stack_id == turn.stack_id) & (table.c.attempt == turn.attempt)
    is_same = table.c.policy.in_(_texts_of(turn.policy))
    values: dict[str, Any] = {
        "ended_attempt": turn.attempt,
        # A new policy has set the time by itself.
        "due_at": sa.case((is_same, sa.literal(end.due_at, sa.Double)), else_=table.c.due_at),
        "trouble": end.trouble,
    }
    if end.is_observed:
        values["observed_at"] = now
    if repair_traversal is not None:
        values |= {"repairs": json.dumps(list(repairs or ())), "repair_traversal": repair_traversal}
    ended = table.update().where(mine, table.c.ended_attempt < turn.attempt).values(**values)
    return connection.execute(ended).rowcount == 1


def _texts_of(policy: ObservationPolicy) -> list[str]:
    """Return the texts as which a policy may be stored: a stack that never had one has that of the column."""
    return [policy_text(policy), *(["{}"] if policy == ObservationPolicy() else [])]


def _turn(row: AnyRow | Row) -> ObservationTurn:
    read: Callable[[str], Any] = json.loads
    return ObservationTurn(
        stack_id=row.stack_id,
        policy=ObservationPolicy.of(read(row.policy)),
        due_at=row.due_at,
        attempt=row.attempt,
        ended_attempt=row.ended_attempt,
        observed_at=row.observed_at,
        trouble=row.trouble,
        repairs=tuple((path, at) for path, at in read(row.repairs)),
        repair_traversal=row.repair_traversal,
        now=row.now,
    )
