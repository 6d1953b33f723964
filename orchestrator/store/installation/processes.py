"""The processes of the engine: each says that it is there, and its leases tell what it works on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.nodes.claims import Timings
from orchestrator.views.operations import ProcessView

#: A process that has not been heard of for so long is not told of any more.
GONE_SECONDS: Final = 86400.0
#: What is known of a process: it spoke within a lease, it did not, or it said that it ends.
PRESENT, SILENT, STOPPED = "present", "silent", "stopped"
_KINDS: Final = frozenset({"worker", "coordinator", "embedded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """What a process says of itself."""

    #: As leases name it.
    name: str
    #: worker, coordinator or embedded.
    kind: str
    host: str
    pid: int
    #: What Celery's tools call the worker that it belongs to; empty where there is none.
    celery_name: str = ""
    version: str = ""
    #: The queues that it takes messages from.
    queues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lease:
    """A step that somebody takes."""

    worker: str
    until: float
    work: tuple[str, str, str, str, float | None, float]


class Processes:
    """The rows of processes."""

    def __init__(self, database: Database, timings: Timings) -> None:
        self._db = database
        self._timings = timings

    @property
    def pause_seconds(self) -> float:
        """How often a process is to say that it is there."""
        return self._timings.lease_seconds / 3

    def say(self, speaker: Speaker) -> None:
        """Write down that a process is there; the first time, that it has begun. Tried once: it says so again soon.

        Raises:
            DBAPIError: the database did not take it.
        """
        values = {
            "name": speaker.name,
            "kind": speaker.kind,
            "host": speaker.host,
            "pid": speaker.pid,
            "celery_name": speaker.celery_name,
            "version": speaker.version,
            "queues": json.dumps(speaker.queues),
        }
        with self._db.write() as connection:
            connection.execute(sa.text(_SAY.format(now=self._db.now)), values)

    def end(self, name: str) -> None:
        """Write down that a process ends in good order. Tried once: the process does not wait for it.

        Raises:
            DBAPIError: the database did not take it.
        """
        process = tables.process
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            connection.execute(
                process.update().where(process.c.name == name).values(seen_at=now, stopped_at=now)
            )

    def forget(self) -> None:
        """Remove processes that were not heard of for very long. Tried once.

        Raises:
            DBAPIError: the database did not take it.
        """
        process = tables.process
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            connection.execute(process.delete().where(process.c.seen_at <= now - GONE_SECONDS))

    @retrying
    def all(self, *, project: str) -> tuple[ProcessView, ...]:
        """Return all processes, those that are there first, each with what it works on of a project's stacks.

        One that has a lease and never said that it is there is told by its lease.
        """
        process = tables.process
        with self._db.snapshot() as connection:
            now = database_time(connection, self._db)
            rows: Sequence[Any] = connection.execute(
                sa.select(process).order_by(process.c.kind, process.c.host, process.c.pid, process.c.name)
            ).all()
            leases = self._leases(connection, project)
        known = {row.name for row in rows}
        views = [self._view(row, leases, now) for row in rows]
        unknown = dict.fromkeys(lease.worker for lease in leases if lease.worker not in known)
        views += [self._by_its_leases(name, leases, now) for name in unknown]
        return tuple(sorted(views, key=lambda view: (PRESENT, SILENT, STOPPED).index(view.state)))

    @staticmethod
    def _leases(connection: sa.Connection, project: str) -> list[_Lease]:
        node, traversal, stack, resource = tables.node, tables.traversal, tables.stack, tables.resource
        sql = (
            sa.select(
                node.c.worker,
                node.c.due_at,
                node.c.phase,
                node.c.key,
                sa.case((node.c.phase == END, traversal.c.action), else_=resource.c.action).label("action"),
                # Who takes a step marks the row with it.
                resource.c.updated_at,
                stack.c.name,
                stack.c.id,
            )
            .select_from(node)
            .join(traversal, traversal.c.id == node.c.traversal_id)
            .join(stack, stack.c.id == traversal.c.stack_id)
            .outerjoin(resource, resource.c.id == node.c.resource_id)
            .where(node.c.due_at.is_not(None), node.c.state == "running", node.c.worker.is_not(None))
            .where(stack.c.project == project)
            .order_by(node.c.due_at, node.c.traversal_id, node.c.no)
        )
        return [
            _Lease(
                worker=row.worker,
                until=row.due_at,
                work=(
                    row.name,
                    row.id,
                    "" if row.phase == END else row.key,
                    row.action or "",
                    row.updated_at,
                    row.due_at,
                ),
            )
            for row in connection.execute(sql)
        ]

    def _view(self, row: Any, leases: Sequence[_Lease], now: float) -> ProcessView:
        silent = row.seen_at < now - self._timings.lease_seconds
        return ProcessView(
            name=row.name,
            kind=row.kind,
            host=row.host,
            pid=row.pid,
            celery_name=row.celery_name,
            version=row.version,
            queues=row.queues,
            started_at=row.started_at,
            seen_at=row.seen_at,
            seen_seconds=max(0.0, now - row.seen_at),
            state=STOPPED if row.stopped_at is not None else SILENT if silent else PRESENT,
            works_on=tuple(lease.work for lease in leases if lease.worker == row.name),
        )

    def _by_its_leases(self, name: str, leases: Sequence[_Lease], now: float) -> ProcessView:
        mine = [lease for lease in leases if lease.worker == name]
        until = max(lease.until for lease in mine)
        seen_at = min(now, until - self._timings.lease_seconds)
        kind, host, pid, started = _told_by(name)
        return ProcessView(
            name=name,
            kind=kind,
            host=host,
            pid=pid,
            celery_name="",
            version="",
            queues=(),
            started_at=started or seen_at,
            seen_at=seen_at,
            seen_seconds=now - seen_at,
            state=PRESENT if until > now else SILENT,
            works_on=tuple(lease.work for lease in mine),
        )


def _told_by(name: str) -> tuple[str, str, int, float]:
    """Return kind, host, pid and start as a process' name tells them; empty and 0 where it does not.

    Before the host stands its kind, or the name of its worker: then nobody knows the kind.
    """
    what, _, rest = name.partition("@")
    kind = what if what in _KINDS else "process"
    try:
        host, pid, started = rest.rsplit(":", 2)
        return kind, host, int(pid), float(started)
    except ValueError:
        return kind, "", 0, 0.0


_SAY = """
    INSERT INTO process (name, kind, host, pid, celery_name, version, queues, started_at, seen_at)
    VALUES (:name, :kind, :host, :pid, :celery_name, :version, :queues, {now}, {now})
    ON CONFLICT (name) DO UPDATE SET
        seen_at = excluded.seen_at, stopped_at = NULL, celery_name = excluded.celery_name, queues = excluded.queues
    """
