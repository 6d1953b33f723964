"""Stacks and their resources as rows: what the faces show and what planning starts from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from hooks.values.nearest import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.model.codec import Codec
from orchestrator.model.messages import CLEANUP, CONVERGE, JOIN
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.stacks.in_service import DEFINING, serves

#: How many ids one statement looks for.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class StackRow:
    """A stack's row."""

    id: str
    name: str
    project: str
    action: str
    status: str
    reason: str
    traversal_id: str
    template_id: str
    #: The stack that this one is in, the row there that it is, the outermost of the stacks it is in (itself, if it is
    #: in none), and how many those are.
    parent_id: str | None
    parent_resource: str | None
    root_id: str
    depth: int
    #: The last that completed; None if none ever did.
    completed_template_id: str | None
    timeout_minutes: float
    #: Whether the last definition that it was given was to be rolled back if it failed.
    rollback: bool
    created_at: float
    updated_at: float
    deleted_at: float | None
    #: Words that people put on it, in their order.
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRow:
    """A resource's row, unpacked."""

    id: str
    stack_id: str
    name: str
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None
    on_node: str | None = None
    reference_id: str | None
    properties: Mapping[str, Any] | None
    definition_hash: str | None
    attributes: Sequence[Any]
    requires: tuple[str, ...]
    replaced_by: str | None
    metadata: Mapping[str, Any]
    metadata_version: int
    #: Of what the template gave last; None before it gave any.
    metadata_hash: str | None
    data: Mapping[str, Any]
    #: Whether somebody said so.
    unhealthy: bool
    #: The template whose definition was last applied or is being applied.
    template_id: str
    #: The traversal that works on it; None while nobody does.
    lock_traversal: str | None
    created_at: float
    updated_at: float
    #: Of the attributes that others ask for, those that could not be read: path and reason of each.
    unread: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCounts:
    """How far a traversal is: resources by their state, as in tallies, and some that are being worked on."""

    counts: Mapping[str, int]
    active: tuple[str, ...]
    #: Of these, why they are not done yet, where that is known.
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """What became of a job."""

    stack_id: str | None
    #: What was begun for it, or ended by it; None if it was refused, or found all done already.
    traversal_id: str | None
    status: str
    refusal: Mapping[str, Any] | None


def stack_rows() -> sa.Select[Any]:
    """Return the statement that reads stacks; each row's mapping is a :class:`StackRow`."""
    return sa.select(*(tables.stack.c[name] for name in StackRow.__dataclass_fields__))


class Stacks:
    """Reads of stacks, resources and jobs, and the writes that belong to no traversal."""

    def __init__(self, database: Database, codec: Codec) -> None:
        self._db = database
        self._codec = codec

    # -- stacks ------------------------------------------------------------------------------------------------

    @retrying
    def find(self, name_or_id: str, *, project: str) -> StackRow:
        """Return a stack that is not deleted, by name, or any by id.

        Raises:
            NotFound: there is none; the nearest name is given.
        """
        stack = tables.stack
        by_name = (stack.c.name == name_or_id) & stack.c.deleted_at.is_(None)
        sql = stack_rows().where(stack.c.project == project, by_name | (stack.c.id == name_or_id))
        with self._db.read() as connection:
            row = connection.execute(sql.order_by(stack.c.deleted_at.is_not(None))).first()
            if row is not None:
                return StackRow(**row._mapping)
            names = connection.execute(
                sa.select(stack.c.name).where(stack.c.project == project, stack.c.deleted_at.is_(None))
            ).scalars()
            hint = did_you_mean(name_or_id, names, "'isotherm stack list' shows those there are")
        raise NotFound(f"project {project!r} has no stack {name_or_id!r}{hint}")

    @retrying
    def all(self, *, project: str, nested: bool = False) -> list[StackRow]:
        """Return the stacks that are not deleted, oldest first; those in other stacks only if ``nested``."""
        stack = tables.stack
        sql = stack_rows().where(stack.c.project == project, stack.c.deleted_at.is_(None))
        if not nested:
            sql = sql.where(stack.c.parent_id.is_(None))
        with self._db.read() as connection:
            rows = connection.execute(sql.order_by(stack.c.created_at, stack.c.name)).all()
        return [StackRow(**row._mapping) for row in rows]

    @retrying
    def in_service(self, stack: StackRow) -> bool:
        """Whether all is there that the definition wants which the stack was given last."""
        table = tables.stack
        with self._db.read() as connection:
            if stack.action in DEFINING and stack.status == "IN_PROGRESS":
                return serves(connection, stack.traversal_id)
            noted = connection.execute(
                sa.select(table.c.in_service).where(table.c.id == stack.id)
            ).scalar_one()
        return bool(noted) and stack.action != "DELETE"

    @retrying
    def by_id(self, stack_id: str) -> StackRow | None:
        """Return a stack by its id, also a deleted one; None if there never was one."""
        with self._db.read() as connection:
            row = connection.execute(stack_rows().where(tables.stack.c.id == stack_id)).first()
        return None if row is None else StackRow(**row._mapping)

    @retrying
    def resources_in_tree(self, root_id: str, *, depth: int | None = None) -> list[ResourceRow]:
        """Return the rows that are not gone of a tree of stacks, or of those in it that are at most ``depth`` deep."""
        stack, resource = tables.stack, tables.resource
        gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
        sql = (
            self._resource_rows()
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(stack.c.root_id == root_id, stack.c.deleted_at.is_(None), ~gone)
        )
        if depth is not None:
            sql = sql.where(stack.c.depth <= depth)
        with self._db.read() as connection:
            rows = connection.execute(sql.order_by(resource.c.created_at, resource.c.name)).all()
        return [self._resource(row) for row in rows]

    # -- resources ---------------------------------------------------------------------------------------------

    @retrying
    def resources(self, stack_id: str) -> list[ResourceRow]:
        """Return a stack's rows that are not gone, the oldest first, and those of one age by their names."""
        resource = tables.resource
        gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
        sql = self._resource_rows().where(resource.c.stack_id == stack_id, ~gone)
        with self._db.read() as connection:
            rows = connection.execute(sql.order_by(resource.c.created_at, resource.c.name)).all()
        return [self._resource(row) for row in rows]

    @retrying
    def left_over(self, stack_id: str) -> frozenset[str]:
        """Return the ids of the rows that are no part of the definition that a stack was given last.

        They were replaced, or are not wanted any more, and could not be taken away yet.
        """
        node, stack = tables.node, tables.stack
        traversal = sa.select(stack.c.defining_traversal_id).where(stack.c.id == stack_id).scalar_subquery()
        mine = tables.in_traversal(traversal) & node.c.resource_id.is_not(None)
        kept = sa.select(node.c.resource_id).where(mine, node.c.phase == CONVERGE)
        # What is not to be taken away before something else was is a join by then.
        going = sa.select(node.c.resource_id).where(mine, node.c.phase.in_((CLEANUP, JOIN)))
        with self._db.read() as connection:
            return frozenset(connection.execute(going.except_(kept)).scalars())

    @retrying
    def resource(self, stack_id: str, name: str) -> ResourceRow:
        """Return the row of a name: that in force, if there are several.

        Raises:
            NotFound: there is none; the nearest name is given.
        """
        resource = tables.resource
        mine = resource.c.stack_id == stack_id
        gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
        with self._db.read() as connection:
            rows = connection.execute(
                self._resource_rows()
                .where(mine, resource.c.name == name)
                .order_by(gone, resource.c.replaced_by.is_not(None), resource.c.created_at.desc())
            ).all()
            if rows:
                return self._resource(rows[0])
            names = connection.execute(sa.select(resource.c.name).where(mine)).scalars()
            hint = did_you_mean(name, names)
        raise NotFound(f"the stack has no resource {name!r}{hint}")

    @retrying
    def row(self, resource_id: str) -> ResourceRow | None:
        """Return the row with this id, of whatever stack, unless it is gone; None if there is none."""
        resource = tables.resource
        gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
        with self._db.read() as connection:
            row = connection.execute(self._resource_rows().where(resource.c.id == resource_id, ~gone)).first()
        return None if row is None else self._resource(row)

    @staticmethod
    def _resource_rows() -> sa.Select[Any]:
        resource = tables.resource
        names = (name for name in ResourceRow.__dataclass_fields__ if name != "unread")
        return sa.select(*(resource.c[name] for name in names))

    def _resource(self, row: Any) -> ResourceRow:
        def unpack(data: bytes | None, default: Any) -> Any:
            return default if data is None else self._codec.unpack(data)

        # What could not be read is on record with the reason in place of a value.
        attributes = unpack(row.attributes, ())
        return ResourceRow(
            **{
                **row._mapping,
                "reference_id": unpack(row.reference_id, None),
                "properties": unpack(row.properties, None),
                "attributes": [each for each in attributes if len(each) == 2],
                "unread": [
                    (path, reason) for path, *_, reason in (each for each in attributes if len(each) > 2)
                ],
                "requires": tuple(json.loads(row.requires)),
                "metadata": unpack(row.metadata, {}),
                "data": unpack(row.data, {}),
            }
        )

    @retrying
    def metadata_of(self, stack_id: str, resource_id: str) -> dict[str, Any]:
        """Return the present metadata of the resource with this row id or physical id; empty if there is none."""
        resource = tables.resource
        pointed = (resource.c.id == resource_id) | (resource.c.physical_id == resource_id)
        sql = sa.select(resource.c.metadata).where(resource.c.stack_id == stack_id, pointed)
        with self._db.read() as connection:
            packed = connection.execute(sql.order_by(resource.c.created_at.desc())).scalars().first()
        metadata: dict[str, Any] = {} if packed is None else self._codec.unpack(packed)
        return metadata

    @retrying
    def write_signal(
        self, row: ResourceRow, traversal_id: str, metadata: Mapping[str, Any], reason: str
    ) -> bool:
        """Replace a resource's metadata and write the signal into the history.

        False: somebody else changed the metadata since ``row`` was read; read it again and decide anew.
        """
        resource = tables.resource
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            written = connection.execute(
                resource.update()
                .where(resource.c.id == row.id, resource.c.metadata_version == row.metadata_version)
                .values(metadata=self._codec.pack(dict(metadata)), metadata_version=row.metadata_version + 1)
            )
            if written.rowcount != 1:
                return False
            connection.execute(
                tables.event.insert().values(
                    at=now,
                    stack_id=row.stack_id,
                    traversal_id=traversal_id,
                    resource=row.name,
                    resource_id=row.id,
                    type=row.type,
                    action="SIGNAL",
                    status="COMPLETE",
                    reason=reason,
                    physical_id=row.physical_id,
                )
            )
        return True

    @retrying
    def adopted(self, stack_id: str) -> frozenset[str]:
        """Return the ids of the rows that were to be adopted, whatever became of them then."""
        node, traversal = tables.node, tables.traversal
        sql = (
            sa.select(node.c.resource_id)
            .select_from(node)
            .join(traversal, tables.in_traversal(traversal.c.id))
            .where(traversal.c.stack_id == stack_id, traversal.c.action == "ADOPT", node.c.phase == CONVERGE)
        )
        with self._db.read() as connection:
            return frozenset(connection.execute(sql).scalars())

    @retrying
    def owners(self, physical_ids: Sequence[str], *, project: str) -> dict[tuple[str, str], str]:
        """Return the names of the project's stacks that have these objects, by type and physical id."""
        stack, resource = tables.stack, tables.resource
        gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
        sql = (
            sa.select(resource.c.type, resource.c.physical_id, stack.c.name)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(stack.c.project == project, stack.c.deleted_at.is_(None), ~gone)
        )
        owners: dict[tuple[str, str], str] = {}
        with self._db.read() as connection:
            for start in range(0, len(physical_ids), _AT_ONCE):
                some = resource.c.physical_id.in_(physical_ids[start : start + _AT_ONCE])
                owners |= {
                    (row.type, row.physical_id): row.name for row in connection.execute(sql.where(some))
                }
        return owners

    # -- jobs --------------------------------------------------------------------------------------------------

    @retrying
    def job(self, job_id: str) -> JobRow | None:
        """Return what became of a job; None while no coordinator has taken it."""
        job = tables.job
        with self._db.read() as connection:
            row = connection.execute(sa.select(job).where(job.c.id == job_id)).first()
        if row is None:
            return None
        refusal = None if row.refusal is None else self._codec.unpack(row.refusal)
        return JobRow(
            stack_id=row.stack_id, traversal_id=row.traversal_id, status=row.status, refusal=refusal
        )

    def accepted(self, job_id: str) -> str | None:
        """Return the id of the stack on which a job was begun; None if it was refused, or nobody has taken it."""
        done = self.job(job_id)
        return done.stack_id if done else None

    @retrying
    def refuse_job(self, job_id: str, refusal: Mapping[str, Any]) -> None:
        """Write down why a job was refused; nothing else of it was kept. The first word on a job stands."""
        try:
            with self._db.write() as connection:
                now = database_time(connection, self._db)
                connection.execute(
                    tables.job.insert().values(
                        id=job_id, status="refused", refusal=self._codec.pack(dict(refusal)), created_at=now
                    )
                )
        except IntegrityError:
            return

    @retrying
    def accept_job(self, job_id: str, stack_id: str | None) -> None:
        """Write down that a job left nothing to do. The first word on a job stands."""
        try:
            with self._db.write() as connection:
                now = database_time(connection, self._db)
                connection.execute(
                    tables.job.insert().values(
                        id=job_id, stack_id=stack_id, status="accepted", created_at=now
                    )
                )
        except IntegrityError:
            return
