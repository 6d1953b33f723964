"""The ledger of operations: every call of a lifecycle plugin, so that another process can continue after a crash.

One process at a time holds an operation, under a lease that each entry extends. A process that takes it over increments
its attempt, which fences writes under an older one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.traversals.operation_rows import (
    AGREED,
    ASKING,
    ENTERING,
    LEAVING,
    OVER,
    TELLING,
    TOLD,
    CallRow,
    NewOperation,
    OperationRow,
    TakenOver,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orchestrator.store.rows import Values

#: The most lost operations that one sweep returns.
BATCH: Final = 20
#: What counts the calls that were lost while a call was in this state.
_LOST: Final = {ASKING: "asked_lost", TELLING: "told_lost"}
#: When an operation is lost, as SQL.
LOST_AT: Final = f"CASE state WHEN '{ENTERING}' THEN leased_until + :job_seconds ELSE leased_until END"
_OWNERS: Final = "SELECT DISTINCT owner FROM operation WHERE leased_until IS NOT NULL"
_EXPIRE: Final = "UPDATE operation SET leased_until = 0 WHERE leased_until IS NOT NULL AND owner {some}"


class Ledger(Repository):
    """The operation tables' operations."""

    @retrying
    def open(
        self,
        new: NewOperation,
        *,
        owner: str,
        lease_seconds: float,
        is_idle: Callable[[str], bool],
        lost_limit: int | None = None,
        is_dead: Callable[[str], bool] = lambda _: False,
    ) -> OperationRow | None:
        """Hold the operation that has been opened for this cause, or a new one; None while another process holds it.

        Where ``lost_limit`` calls of a plugin were lost, if given, the cause is refused for good: its operation is
        returned as it is, in a later state than ``entering``, and not held.

        ``is_idle`` returns whether no thread of the ``owner`` works on an operation, by its id, and ``is_dead`` whether
        a process is known to be dead, by its name: such a one holds nothing.
        """
        operation = tables.operation
        with self._db.timed_write() as (connection, now):
            found = connection.execute(
                sa.select(operation)
                .where(operation.c.cause == new.cause, operation.c.state == ENTERING)
                .with_for_update()
            ).first()
            if found is None:
                if lost_limit and (refused := self._refused(connection, new, lost_limit)):
                    return self._read(connection, refused)
                values = {
                    **{name: getattr(new, name) for name in NewOperation.__dataclass_fields__},
                    "state": ENTERING,
                    "shown": None
                    if new.shown is None
                    else self._codec.pack(new.shown, ("operation", "shown", new.id)),
                    "owner": owner,
                    "leased_until": now + lease_seconds,
                    "attempt": 1,
                    "created_at": now,
                }
                try:
                    with connection.begin_nested():
                        connection.execute(operation.insert().values(values))
                except sa.exc.IntegrityError:
                    return None
                return self._read(connection, new.id)
            held = found.leased_until is not None and found.leased_until > now
            if held and not (found.owner == owner and is_idle(found.id)) and not is_dead(found.owner):
                return None
            self._take(connection, found.id, owner=owner, until=now + lease_seconds)
            return self._read(connection, found.id)

    @retrying
    def begin_pre_op(self, row: OperationRow, position: int, plugin: str, *, lease_seconds: float) -> None:
        """Record that ``pre_op`` of a plugin is about to be called.

        Raises:
            TakenOver: another process holds the operation.
        """
        with self._db.write() as connection:
            self._hold(connection, row, (ENTERING,), lease_seconds)
            self._call(connection, row, position, plugin=plugin, state=ASKING)

    @retrying
    def end_pre_op(
        self,
        row: OperationRow,
        position: int,
        annotations: Mapping[str, object] | None,
        *,
        seconds: float,
        lease_seconds: float,
        then: tuple[int, str] | None = None,
    ) -> None:
        """Record that a plugin agreed, with its annotations and the seconds that it took.

        ``then`` is the position and the name of the plugin that is called next, if any.

        Raises:
            TakenOver: another process holds the operation.
        """
        place = "operation_call", "annotations", row.id, position
        packed = None if annotations is None else self._codec.pack(annotations, place)
        with self._db.write() as connection:
            self._hold(connection, row, (ENTERING,), lease_seconds)
            self._call(connection, row, position, state=AGREED, annotations=packed, asked_seconds=seconds)
            if then is not None:
                self._call(connection, row, then[0], plugin=then[1], state=ASKING)

    @retrying
    def refuse(
        self, row: OperationRow, position: int, state: str, *, outcome: str, reason: str, lease_seconds: float
    ) -> None:
        """Record that a plugin refused or timed out; ``post_op`` of those that had agreed follows.

        Raises:
            TakenOver: another process holds the operation.
        """
        with self._db.write() as connection:
            leaving = {"state": LEAVING, "outcome": outcome, "reason": reason}
            self._hold(connection, row, (ENTERING,), lease_seconds, **leaving)
            self._call(connection, row, position, state=state, error=reason)

    @retrying
    def leave(
        self,
        operation_id: str,
        *,
        states: Sequence[str],
        owner: str,
        outcome: str,
        reason: str,
        lease_seconds: float,
        is_idle: Callable[[str], bool],
        is_dead: Callable[[str], bool] = lambda _: False,
        attempt: int | None = None,
    ) -> OperationRow | None:
        """Hold an operation for its ``post_op`` calls; None if it is not in one of ``states``.

        The first outcome that is recorded stays.

        If ``attempt`` is given, it must still be held under that. ``is_idle`` and ``is_dead`` are as of :meth:`open`.

        Raises:
            TakenOver: another process is calling ``post_op``.
        """
        operation = tables.operation
        with self._db.timed_write() as (connection, now):
            found = connection.execute(
                sa.select(operation).where(operation.c.id == operation_id).with_for_update()
            ).first()
            if found is None or found.state not in states:
                return None
            if attempt is not None and found.attempt != attempt:
                return None
            held = found.leased_until is not None and found.leased_until > now
            is_mine = attempt is not None or (found.owner == owner and is_idle(found.id))
            if held and not is_mine and not is_dead(found.owner):
                raise TakenOver(
                    f"another process calls post_op of lifecycle plugins for operation {operation_id}"
                )
            left = {} if found.state == LEAVING else {"state": LEAVING, "outcome": outcome, "reason": reason}
            self._take(connection, operation_id, owner=owner, until=now + lease_seconds, **left)
            return self._read(connection, operation_id)

    @retrying
    def begin_post_op(self, row: OperationRow, position: int, *, lease_seconds: float) -> None:
        """Record that ``post_op`` of a plugin is about to be called.

        Raises:
            TakenOver: another process holds the operation.
        """
        with self._db.write() as connection:
            self._hold(connection, row, (LEAVING,), lease_seconds)
            self._call(connection, row, position, state=TELLING)

    @retrying
    def end_post_op(
        self,
        row: OperationRow,
        position: int,
        error: str,
        *,
        seconds: float | None,
        then: int | None,
        lease_seconds: float,
    ) -> None:
        """Record that ``post_op`` of a plugin was called, its error, and the seconds it took; None if not installed.

        ``then`` is the position of the plugin that is called next; without one, the operation is over.

        Raises:
            TakenOver: another process holds the operation.
        """
        with self._db.write() as connection:
            if then is None:
                self._hold(connection, row, (LEAVING,), None, **self._over(connection))
            else:
                self._hold(connection, row, (LEAVING,), lease_seconds)
                self._call(connection, row, then, state=TELLING)
            self._call(connection, row, position, state=TOLD, error=error, told_seconds=seconds)

    @retrying
    def close(self, row: OperationRow) -> None:
        """Record that an operation without ``post_op`` calls is over.

        Raises:
            TakenOver: another process holds the operation.
        """
        with self._db.write() as connection:
            self._hold(connection, row, (LEAVING,), None, **self._over(connection))

    def _over(self, connection: sa.Connection) -> Values:
        """Return the values of an operation that is over."""
        now = database_time(connection, self._db)
        return {"state": OVER, "leased_until": None, "shown": None, "ended_at": now}

    def lost(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the operations whose lease has expired, oldest first.

        One that has not begun is lost only after its job would have been redelivered.
        """
        sql = (
            f"SELECT id FROM operation WHERE leased_until IS NOT NULL AND {LOST_AT} <= {self._db.now} "
            f"ORDER BY created_at LIMIT {BATCH}"
        )
        found = connection.execute(sa.text(sql), {"job_seconds": self._timings.job_seconds})
        return tuple(found.scalars())

    @retrying
    def put_off(self, operation_id: str, *, seconds: float) -> None:
        """Hide a lost operation from the sweep for some seconds, unless a process has taken it over."""
        operation = tables.operation
        with self._db.timed_write() as (connection, now):
            mine = (operation.c.id == operation_id) & (operation.c.leased_until <= now)
            connection.execute(operation.update().where(mine).values(leased_until=now + seconds))

    @retrying
    def take_over(self, is_dead: Callable[[str], bool]) -> None:
        """Expire the leases of processes that are known to be dead; for embedded mode, whose jobs died with them."""
        # A dead process takes no lease between the two statements, and most often there is nothing to expire.
        with self._db.reading() as direct:
            owners = [row.owner for row in direct.rows(_OWNERS, {})]
        dead = [owner for owner in owners if is_dead(owner)]
        if dead:
            with self._db.transaction() as direct:
                direct.count(_EXPIRE.format(some=self._db.in_list("dead")), {"dead": self._db.texts(dead)})

    @retrying
    def calls(self, operation_id: str) -> tuple[CallRow, ...]:
        """Return the calls of lifecycle plugins about an operation."""
        with self._db.read() as connection:
            return self._calls(connection, operation_id)

    def _hold(
        self,
        connection: sa.Connection,
        row: OperationRow,
        states: Sequence[str],
        lease_seconds: float | None,
        **values: object,
    ) -> None:
        """Lock an operation until the transaction ends, set ``values``, and extend its lease if one is given."""
        operation = tables.operation
        if lease_seconds is not None:
            values["leased_until"] = database_time(connection, self._db) + lease_seconds
        mine = (operation.c.id == row.id) & (operation.c.attempt == row.attempt)
        held = operation.update().where(mine, operation.c.state.in_(states))
        changed = connection.execute(held.values(**(values or {"attempt": row.attempt})))
        if changed.rowcount != 1:
            raise TakenOver(f"another process holds operation {row.id} on stack {row.stack!r}")

    @staticmethod
    def _take(
        connection: sa.Connection, operation_id: str, *, owner: str, until: float, **values: object
    ) -> None:
        operation = tables.operation
        taken = {"owner": owner, "leased_until": until, "attempt": operation.c.attempt + 1, **values}
        connection.execute(operation.update().where(operation.c.id == operation_id).values(**taken))

    @staticmethod
    def _refused(connection: sa.Connection, new: NewOperation, lost_limit: int) -> str | None:
        """Return the operation of this cause that was refused because calls of a plugin were lost; None for none."""
        operation, call = tables.operation, tables.operation_call
        # By the stack: of the causes, only those of operations that have not begun are indexed.
        mine = (operation.c.stack_id == new.stack_id) & (operation.c.cause == new.cause)
        lost = operation.c.state.in_((LEAVING, OVER)) & (call.c.asked_lost >= lost_limit)
        query = sa.select(operation.c.id).join(call, call.c.operation_id == operation.c.id).where(mine, lost)
        return connection.execute(query.limit(1)).scalar_one_or_none()

    @staticmethod
    def _call(
        connection: sa.Connection, row: OperationRow, position: int, *, state: str, **values: object
    ) -> None:
        call = tables.operation_call
        mine = (call.c.operation_id == row.id) & (call.c.position == position)
        changed: dict[str, object] = {"state": state, **values}
        if (lost := _LOST.get(state)) is not None:
            # A call in this state that is to be made again ended with its process.
            changed[lost] = call.c[lost] + sa.case((call.c.state == state, 1), else_=0)
        if connection.execute(call.update().where(mine).values(**changed)).rowcount == 0:
            new = {"operation_id": row.id, "position": position, "state": state, **values}
            connection.execute(call.insert().values(**new))

    def _read(self, connection: sa.Connection, operation_id: str) -> OperationRow:
        operation = tables.operation
        row = connection.execute(sa.select(operation).where(operation.c.id == operation_id)).one()
        return OperationRow.of(
            row,
            shown=None
            if row.shown is None
            else self._codec.unpack(row.shown, ("operation", "shown", row.id)),
            calls=self._calls(connection, operation_id),
        )

    def _calls(self, connection: sa.Connection, operation_id: str) -> tuple[CallRow, ...]:
        call = tables.operation_call
        mine = sa.select(call).where(call.c.operation_id == operation_id)
        return tuple(
            CallRow.of(
                each,
                annotations=None
                if each.annotations is None
                else self._codec.unpack(
                    each.annotations, ("operation_call", "annotations", operation_id, each.position)
                ),
            )
            for each in connection.execute(mine.order_by(call.c.position))
        )
