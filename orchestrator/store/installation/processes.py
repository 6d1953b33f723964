"""The processes of the engine: each reports regularly that it is alive, and its leases show what it works on."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass
from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying, tried_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.store.rows import AnyRow
    from orchestrator.views.operations import ProcessView

#: A process that has not reported for so long is removed.
GONE_SECONDS: Final = 86400.0
#: The states of a process: it reported within a lease, it did not, or it ended in good order.
PRESENT, SILENT, STOPPED = "present", "silent", "stopped"
#: The kind of the processes that serve the API, and carry nothing out.
API: Final = "api"
_KINDS: Final = frozenset({"worker", "coordinator", "embedded", API})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """The report of a process about itself."""

    #: The unique name, as in leases.
    name: str
    #: worker, coordinator, embedded or api.
    kind: str
    host: str
    pid: int
    #: The name of its Celery worker in Celery's tools; empty for none.
    celery_name: str = ""
    version: str = ""
    #: The queues that it takes messages from.
    queues: tuple[str, ...] = ()
    #: Of the API: where it is reached, and a line for each of its last errors, the newest first.
    address: str = ""
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lease:
    worker: str
    until: float
    work: tuple[str, str, str, str, float | None, float]


class Processes(Repository):
    """The rows of processes."""

    @property
    def pause_seconds(self) -> float:
        """The seconds between two reports of a process."""
        return self._timings.lease_seconds / 3

    @tried_once()
    def report(self, process: ProcessIdentity) -> None:
        """Record that a process is alive; the first time, that it has started. Tried once: the next report follows.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        values = {
            **asdict(process),
            "queues": json.dumps(process.queues),
            "errors": json.dumps(process.errors),
        }
        with self._db.direct() as direct:
            direct.count(_REPORT.format(now=self._db.now), values)

    @tried_once()
    def end(self, name: str) -> None:
        """Record that a process ends in good order. Tried once: the process does not wait for it.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        with self._db.direct() as direct:
            direct.count(_END.format(now=self._db.now), {"name": name})

    @tried_once()
    def forget(self) -> None:
        """Remove processes that have not reported for ``GONE_SECONDS``. Tried once.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        with self._db.direct() as direct:
            direct.count(_FORGET.format(now=self._db.now), {"seconds": GONE_SECONDS})

    @retrying
    def all(self, *, project: str) -> tuple[ProcessView, ...]:
        """Return all processes, live ones first, each with its work on a project's stacks.

        A process with a lease that has never reported is described by its lease.
        """
        process = tables.process
        with self._db.snapshot() as connection:
            now = database_time(connection, self._db)
            rows: Sequence[AnyRow] = connection.execute(
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
                # A claim sets the row's time.
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

    def _view(self, row: AnyRow, leases: Sequence[_Lease], now: float) -> ProcessView:
        from orchestrator.views.operations import ProcessView

        silent = row.seen_at < now - self._timings.lease_seconds
        return ProcessView.of(
            row,
            seen_seconds=max(0.0, now - row.seen_at),
            state=STOPPED if row.stopped_at is not None else SILENT if silent else PRESENT,
            works_on=tuple(lease.work for lease in leases if lease.worker == row.name),
        )

    def _by_its_leases(self, name: str, leases: Sequence[_Lease], now: float) -> ProcessView:
        from orchestrator.views.operations import ProcessView

        mine = [lease for lease in leases if lease.worker == name]
        until = max(lease.until for lease in mine)
        seen_at = min(now, until - self._timings.lease_seconds)
        kind, host, pid, started = _parsed(name)
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


def _parsed(name: str) -> tuple[str, str, int, float]:
    """Return the kind, host, pid and start in a process's name; empty and 0 where it has none.

    The part before the host is the kind, or the name of the Celery worker: then the kind is unknown.
    """
    what, _, rest = name.partition("@")
    kind = what if what in _KINDS else "process"
    try:
        host, pid, started = rest.rsplit(":", 2)
        return kind, host, int(pid), float(started)
    except ValueError:
        return kind, "", 0, 0.0


_REPORT = """
    INSERT INTO process (name, kind, host, pid, celery_name, version, queues, address, errors, started_at, seen_at)
    VALUES (:name, :kind, :host, :pid, :celery_name, :version, :queues, :address, :errors, {now}, {now})
    ON CONFLICT (name) DO UPDATE SET
        seen_at = excluded.seen_at, stopped_at = NULL, celery_name = excluded.celery_name, queues = excluded.queues,
        errors = excluded.errors
    """
_END = "UPDATE process SET seen_at = {now}, stopped_at = {now} WHERE name = :name"
_FORGET = "DELETE FROM process WHERE seen_at <= {now} - :seconds"
