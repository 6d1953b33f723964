"""Stacks, resources and jobs as rows, for faces and for planning."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.model.codec import UnreadableValue
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.direct import Direct
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values, chunked
from orchestrator.store.stack_events import insert_resource_event
from orchestrator.store.stacks.in_service import DEFINING, is_open_adoption, serves

#: The columns with a packed value, and what makes that of a row without it.
_PACKED: Final[Mapping[str, Callable[[], Any]]] = {
    "attributes": tuple,
    "reference_id": type(None),
    "properties": type(None),
    "metadata": dict,
    "data": dict,
}


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
    #: The parent stack and the row there, the outermost stack (itself, if not nested), and the depth of nesting.
    parent_id: str | None
    parent_resource: str | None
    root_id: str
    depth: int
    #: The template that completed last, with all resources; None for none.
    completed_template_id: str | None
    timeout_minutes: float
    #: Whether the last definition was to be rolled back on failure.
    rollback: bool
    created_at: float
    updated_at: float
    deleted_at: float | None
    #: The user's tags, in their order.
    tags: tuple[str, ...] = ()
    #: Whether the stack itself is protected against deletion.
    protected: bool = False
    #: How often protection in it, or in a stack nested in it, was changed.
    protections: int = 0
    #: The names of the resources that are not as the definition has them, after an update with targets.
    partial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A resource that has an object, with its stack."""

    #: The row's id.
    id: str
    stack_id: str
    stack: str
    project: str
    type: str
    physical_id: str
    on_node: str | None
    #: The resource's name.
    name: str


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
    #: The SHA-256 of the metadata that the template gave last; None before the first.
    metadata_hash: str | None
    data: Mapping[str, Any]
    #: Whether an operator marked it so.
    unhealthy: bool
    #: Whether an operator protects it against deletion and replacement.
    protected: bool = False
    #: The template whose definition was last applied or is being applied.
    template_id: str
    #: The traversal that works on it; None for none.
    lock_traversal: str | None
    created_at: float
    updated_at: float
    #: The names that it had before it was moved, oldest first.
    former_names: tuple[str, ...] = ()
    #: Its name when its stack was complete, if it was moved since; else None.
    complete_name: str | None = None
    #: The id and the name of the stack that its object was made in, if it was moved out of it; else None.
    made_stack_id: str | None = None
    made_stack_name: str | None = None
    #: A complete definition of the outermost stack, and its path by that, if it was moved between stacks since.
    complete_template_id: str | None = None
    complete_path: str | None = None
    #: When it was moved between stacks last; None for never.
    transferred_at: float | None = None
    #: The path and reason of each attribute that others refer to and that could not be read.
    unread: Sequence[Any] = ()

    @property
    def made_as(self) -> str:
        """The name by which its type knows it: the one under which it was made. A move does not change it."""
        return self.former_names[0] if self.former_names else self.name

    @property
    def made_in(self) -> tuple[str, str] | None:
        """The id and name of the stack by which its type knows it, where that is another than the one that it is in."""
        return None if self.made_stack_id is None else (self.made_stack_id, self.made_stack_name or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCounts:
    """The progress of a traversal: resources counted by state, as in tallies, and some that are active."""

    counts: Mapping[str, int]
    active: tuple[str, ...]
    #: Why active resources are not done yet, where that is known.
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow(Record):
    """The result of a job."""

    stack_id: str | None
    #: The traversal that it began or ended; None if it was refused, or had nothing to do.
    traversal_id: str | None
    status: str
    refusal: Mapping[str, Any] | None


@functools.cache
def stacks_text() -> str:
    """Return ``SELECT ... FROM stack``, with the fields of a :class:`StackRow` as columns."""
    return f"SELECT {', '.join(StackRow.__dataclass_fields__)} FROM stack"  # names of ours


def stack_row_of(row: AnyRow, direct: Direct) -> StackRow:
    """Return a stack that a textual statement has read."""
    values = row._asdict()
    for name in ("tags", "partial"):
        values[name] = tuple(json.loads(values[name]))
    for name in ("rollback", "protected"):
        values[name] = bool(values[name])
    return StackRow(**values | {"reason": direct.opened(row.reason)})


@functools.cache
def _columns() -> tuple[str, ...]:
    return tuple(name for name in ResourceRow.__dataclass_fields__ if name != "unread")


@functools.cache
def _resources() -> str:
    """Return ``SELECT ... FROM resource``, with the stored fields of a :class:`ResourceRow` as columns."""
    return f"SELECT {', '.join(f'resource.{name}' for name in _columns())} FROM resource"  # names of ours


#: Stacks that are not deleted, by name, and any by id; the former come first.
_BY_NAME_OR_ID: Final = """
    WHERE project = :project AND ((name = :wanted AND deleted_at IS NULL) OR id = :wanted)
    ORDER BY deleted_at IS NOT NULL"""
_BY_AGE: Final = " ORDER BY resource.created_at, resource.name"
_OF_STACK: Final = (
    f" WHERE resource.stack_id = :stack_id AND NOT {tables.IS_GONE}"  # a constant, as in the others
)
_IN_TREE: Final = f"""
    JOIN stack ON stack.id = resource.stack_id
    WHERE stack.root_id = :root_id AND stack.deleted_at IS NULL AND NOT {tables.IS_GONE}"""
#: Of a stack by name; the one in force comes first.
_NAMED: Final = f"""
    WHERE resource.stack_id = :stack_id AND resource.name = :name
    ORDER BY {tables.IS_GONE}, resource.replaced_by IS NOT NULL, resource.created_at DESC"""
#: Of a stack, and had another name before; those in force come first.
_RENAMED: Final = f"""
    WHERE resource.stack_id = :stack_id AND resource.former_names <> '[]' AND NOT {tables.IS_GONE}
    ORDER BY resource.replaced_by IS NOT NULL, resource.updated_at DESC"""
#: Made in a stack and moved into another one; those in force come first.
_MADE_IN: Final = f"""
    WHERE resource.made_stack_id = :stack_id AND resource.transferred_at IS NOT NULL AND NOT {tables.IS_GONE}
    ORDER BY resource.replaced_by IS NOT NULL, resource.updated_at DESC"""
#: The types of resources in trees; a name may be that of a stack or its id.
_TYPES_IN_TREES: Final = f"""
    SELECT DISTINCT resource.type FROM resource JOIN stack ON stack.id = resource.stack_id
    WHERE stack.root_id IN (
            SELECT named.root_id FROM stack AS named
            WHERE named.project = :project AND (named.name = :name OR named.id = :name) AND named.deleted_at IS NULL
        ) AND stack.deleted_at IS NULL AND NOT {tables.IS_GONE}"""
_JOB: Final = "SELECT id, stack_id, traversal_id, status, refusal FROM job WHERE id = :id"


class Stacks(Repository):
    """Reads of stacks, resources and jobs, and their writes outside of traversals."""

    # -- stacks ------------------------------------------------------------------------------------------------

    @retrying
    def find(self, name_or_id: str, *, project: str) -> StackRow:
        """Return a stack that is not deleted, by name, or any by id.

        Raises:
            NotFound: there is none; the nearest name is given.
        """
        with self._db.reading() as direct:
            wanted = {"wanted": name_or_id, "project": project}
            row = direct.first(stacks_text() + _BY_NAME_OR_ID, wanted)
            if row is not None:
                return stack_row_of(row, direct)
            sql = "SELECT name FROM stack WHERE project = :project AND deleted_at IS NULL"
            names = [each.name for each in direct.rows(sql, {"project": project})]
            hint = did_you_mean(name_or_id, names, "'isotherm stack list' shows those there are")
        raise NotFound(f"project {project!r} has no stack {name_or_id!r}{hint}")

    @retrying
    def all(self, *, project: str, nested: bool = False) -> list[StackRow]:
        """Return the stacks that are not deleted, oldest first; those in other stacks only if ``nested``."""
        outermost = "" if nested else "AND parent_id IS NULL"
        which = f"WHERE project = :project AND deleted_at IS NULL {outermost} ORDER BY created_at, name"
        with self._db.reading() as direct:
            rows = direct.rows(f"{stacks_text()} {which}", {"project": project})
            return [stack_row_of(row, direct) for row in rows]

    @retrying
    def in_service(self, stack: StackRow) -> bool:
        """Return whether all that a stack's last definition wants is made.

        Raises:
            NoResultFound: there is no such stack, or it is purged.
        """
        if stack.action in DEFINING and stack.status == "IN_PROGRESS" and not stack.partial:
            with self._db.read() as connection:
                return serves(connection, stack.traversal_id)
        noted = self._db.one("SELECT in_service FROM stack WHERE id = :id", {"id": stack.id})
        return bool(noted.in_service) and stack.action != "DELETE"

    @retrying
    def by_id(self, stack_id: str) -> StackRow | None:
        """Return a stack by its id, also a deleted one; None if there never was one."""
        with self._db.reading() as direct:
            row = direct.first(f"{stacks_text()} WHERE id = :id", {"id": stack_id})
            return None if row is None else stack_row_of(row, direct)

    def resources_in_tree(self, root_id: str, *, depth: int | None = None) -> list[ResourceRow]:
        """Return the rows of a tree of stacks that are not deleted, down to ``depth`` if it is given."""
        if depth is None:
            return self._read(_IN_TREE + _BY_AGE, {"root_id": root_id})
        deep = f"{_IN_TREE} AND stack.depth <= :depth{_BY_AGE}"
        return self._read(deep, {"root_id": root_id, "depth": depth})

    def types_in_trees(self, name: str, *, project: str) -> list[str]:
        """Return the types of the rows in all trees with a stack of this name or id that are not deleted."""
        rows = self._db.rows(_TYPES_IN_TREES, {"name": name, "project": project})
        return [row.type for row in rows]

    # -- resources ---------------------------------------------------------------------------------------------

    def resources(self, stack_id: str) -> list[ResourceRow]:
        """Return a stack's rows that are not deleted, sorted by age and name."""
        return self._read(_OF_STACK + _BY_AGE, {"stack_id": stack_id})

    def left_over(self, stack_id: str) -> frozenset[str]:
        """Return the ids of the rows that are no part of a stack's last definition.

        They are replaced or not wanted any more, and not deleted yet.
        """
        # Messages have many parts; reads need none.
        from orchestrator.model.messages import CLEANUP, CONVERGE, JOIN

        node, stack = tables.node, tables.stack
        traversal = sa.select(stack.c.defining_traversal_id).where(stack.c.id == stack_id).scalar_subquery()
        mine = tables.in_traversal(traversal) & node.c.resource_id.is_not(None)
        kept = sa.select(node.c.resource_id).where(mine, node.c.phase == CONVERGE)
        # A cleanup that was held back is a join.
        going = sa.select(node.c.resource_id).where(mine, node.c.phase.in_((CLEANUP, JOIN)))
        return frozenset(row.resource_id for row in self._db.rows(going.except_(kept)))

    @retrying
    def resource(self, stack_id: str, name: str) -> ResourceRow:
        """Return the row of a resource by name: the one in force, if there are several.

        If none has the name, that which had it before it was moved.

        Raises:
            NotFound: there is none; the nearest name is given.
        """
        mine = {"stack_id": stack_id}
        with self._db.reading() as direct:
            rows = direct.rows(_resources() + _NAMED, {**mine, "name": name})
            if rows and (rows[0].action, rows[0].status) != ("DELETE", "COMPLETE"):
                return self._resource(rows[0], direct)
            moved = direct.rows(_resources() + _RENAMED, mine)
            rows = [*(row for row in moved if name in json.loads(row.former_names)), *rows]
            if rows:
                return self._resource(rows[0], direct)
            names = direct.rows("SELECT name FROM resource WHERE stack_id = :stack_id", mine)
            hint = did_you_mean(name, [each.name for each in names])
        raise NotFound(f"the stack has no resource {name!r}{hint}")

    def addressed(self, stack_id: str, name: str) -> ResourceRow:
        """Return the row of a resource by an address that was handed out for it, as :meth:`resource` does.

        If its stack has none of the name, that which was made there by this name, and was moved into another stack.

        Raises:
            NotFound: there is none; the nearest name is given.
        """
        try:
            return self.resource(stack_id, name)
        except NotFound:
            for row in self._read(_MADE_IN, {"stack_id": stack_id}):
                if row.made_as == name:
                    return row
            raise

    def row(self, resource_id: str) -> ResourceRow | None:
        """Return the row with this id, of any stack; None if it does not exist or is deleted."""
        rows = self._read(f" WHERE resource.id = :id AND NOT {tables.IS_GONE}", {"id": resource_id})
        return next(iter(rows), None)

    @retrying
    def _read(self, which: str, values: Values) -> list[ResourceRow]:
        with self._db.reading() as direct:
            return [self._resource(row, direct) for row in direct.rows(_resources() + which, values)]

    def _resource(self, row: AnyRow, direct: Direct) -> ResourceRow:
        values: dict[str, Any] = row._asdict()
        for column, empty in _PACKED.items():
            data = values[column]
            values[column] = empty() if data is None else self._unpacked(data, column, values["id"], empty)
        # An attribute that could not be read has null and the reason in place of a value.
        attributes = values["attributes"]
        values["attributes"] = [each for each in attributes if len(each) == 2]
        values["unread"] = [(each[0], each[-1]) for each in attributes if len(each) > 2]
        requires = values["requires"]
        values["requires"] = () if requires == "[]" else tuple(json.loads(requires))
        former = values["former_names"]
        values["former_names"] = () if former == "[]" else tuple(json.loads(former))
        values["reason"] = direct.opened(values["reason"])
        for name in ("unhealthy", "protected"):
            values[name] = bool(values[name])
        return ResourceRow(**values)

    def _unpacked(self, data: bytes, column: str, resource_id: str, empty: Callable[[], Any]) -> Any:
        try:
            return self._codec.unpack(data, ("resource", column, resource_id))
        except UnreadableValue:
            # Stored by an older version. A check fails with the reason; the stack can be shown and deleted.
            return empty()

    def metadata_of(self, stack_id: str, resource_id: str) -> dict[str, Any]:
        """Return the present metadata of the resource with this row id or physical id; empty for none."""
        resource = tables.resource
        pointed = (resource.c.id == resource_id) | (resource.c.physical_id == resource_id)
        sql = sa.select(resource.c.id, resource.c.metadata).where(resource.c.stack_id == stack_id, pointed)
        row = self._db.first(sql.order_by(resource.c.created_at.desc()))
        if row is None or row.metadata is None:
            return {}
        metadata: dict[str, Any] = self._codec.unpack(row.metadata, ("resource", "metadata", row.id))
        return metadata

    @retrying
    def write_signal(
        self, row: ResourceRow, traversal_id: str, metadata: Mapping[str, object], reason: str
    ) -> bool:
        """Replace a resource's metadata and record the signal as an event.

        False if the metadata have changed since ``row`` was read: read it again and decide anew.
        """
        resource = tables.resource
        with self._db.timed_write() as (connection, now):
            written = connection.execute(
                resource.update()
                .where(resource.c.id == row.id, resource.c.metadata_version == row.metadata_version)
                .values(
                    metadata=self._codec.pack(dict(metadata), ("resource", "metadata", row.id)),
                    metadata_version=row.metadata_version + 1,
                )
            )
            if written.rowcount != 1:
                return False
            signal = {"action": "SIGNAL", "status": "COMPLETE", "reason": reason}
            insert_resource_event(connection, row, now, traversal_id=traversal_id, **signal)
        return True

    @retrying
    def record_given_up(self, row: ResourceRow, physical_id: str | None, data: Mapping[str, Any]) -> bool:
        """Record the id and the private data of a resource that gave way to another.

        False if a check holds it, or it has another object than when ``row`` was read.
        """
        resource = tables.resource
        as_read = (
            (resource.c.id == row.id)
            & resource.c.lock_traversal.is_(None)
            & resource.c.physical_id.is_not_distinct_from(row.physical_id)
        )
        packed = self._codec.pack(dict(data), ("resource", "data", row.id))
        sql = resource.update().where(as_read).values(physical_id=physical_id, data=packed)
        return bool(self._db.change(sql))

    def adopted(self, stack_id: str) -> frozenset[str]:
        """Return the ids of the rows that a stack was to adopt and has not been complete with, whatever their state."""
        node, traversal = tables.node, tables.traversal
        sql = (
            sa.select(node.c.resource_id)
            .select_from(node)
            .join(traversal, tables.in_traversal(traversal.c.id))
            # An import visits other rows, too.
            .where(traversal.c.stack_id == stack_id, is_open_adoption(), node.c.action == "ADOPT")
        )
        return frozenset(self._db.column(sql))

    def owners(self, physical_ids: Sequence[str]) -> list[Owner]:
        """Return the resources of all projects that have these physical ids, unless they are deleted."""
        stack, resource = tables.stack, tables.resource
        columns = (resource.c[each] for each in ("id", "stack_id", "type", "physical_id", "on_node", "name"))
        sql = (
            sa.select(*columns, stack.c.name.label("stack"), stack.c.project)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(stack.c.deleted_at.is_(None), ~tables.is_gone())
            .order_by(resource.c.created_at, resource.c.id)
        )
        return [
            Owner(**row._mapping)
            for some in chunked(physical_ids)
            for row in self._db.rows(sql.where(resource.c.physical_id.in_(some)))
        ]

    # -- jobs --------------------------------------------------------------------------------------------------

    def job(self, job_id: str) -> JobRow | None:
        """Return the result of a job; None while it has none."""
        row = self._db.first(_JOB, {"id": job_id})
        if row is None:
            return None
        refusal = None if row.refusal is None else self._codec.unpack(row.refusal, ("job", "refusal", job_id))
        return JobRow.of(row, refusal=refusal)

    def accepted(self, job_id: str) -> str | None:
        """Return the id of the stack on which a job was begun; None if it was refused, or not taken yet."""
        done = self.job(job_id)
        return done.stack_id if done else None

    def refuse_job(self, job_id: str, refusal: Mapping[str, object]) -> None:
        """Record that a job was refused, and why. The first result of a job stands."""
        packed = self._codec.pack(dict(refusal), ("job", "refusal", job_id))
        self._end_job(id=job_id, status="refused", refusal=packed)

    def accept_job(self, job_id: str, stack_id: str | None) -> None:
        """Record that a job was accepted and had nothing to do. The first result of a job stands."""
        self._end_job(id=job_id, status="accepted", stack_id=stack_id)

    @retrying
    def _end_job(self, **values: object) -> None:
        # A result that is there already is no error of a statement.
        insert = self._db.insert(tables.job).on_conflict_do_nothing()
        with self._db.timed_write() as (connection, now):
            connection.execute(insert.values(**values, created_at=now))
