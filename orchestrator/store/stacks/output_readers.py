"""Readers: the resources that read outputs of other stacks, on record from before the first read on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import Conflict
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import chunked

if TYPE_CHECKING:
    from orchestrator.model.nested_stack import Fence
    from orchestrator.store.database import Database
    from orchestrator.store.direct import Direct
    from orchestrator.store.rows import AnyRow, Query
    from orchestrator.store.stacks.stacks import StackRow

#: The key of the lock that lets one transaction at a time add an arrow between stacks: no two close a circle together.
_LOCK: Final = 0x151
#: How many readers a refusal names.
_NAMED: Final = 5
_OF_SOURCE: Final = f"""
    SELECT reader.resource_id, reader.stack_id, reader.root_id, reader.source_id, reader.output, reader.stale,
        root.name AS root, root.project, resource.name AS resource,
        source.name AS source, source.project AS source_project
    FROM output_reader reader
        JOIN resource ON resource.id = reader.resource_id
        JOIN stack root ON root.id = reader.root_id
        JOIN stack source ON source.id = reader.source_id
    WHERE reader.source_id = :source_id AND NOT {tables.IS_GONE}
    ORDER BY root.project, root.name, resource.name, reader.resource_id"""  # constants, as in the next
_STALE_ROOTS: Final = f"""
    SELECT DISTINCT reader.root_id FROM output_reader reader JOIN resource ON resource.id = reader.resource_id
    WHERE reader.root_id {{in_roots}} AND reader.stale AND NOT {tables.IS_GONE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReader(Record):
    """A resource that reads an output of another stack."""

    resource_id: str
    stack_id: str
    #: The outermost stack of the resource: its id, name and project.
    root_id: str
    root: str
    project: str
    #: The name of the resource.
    resource: str
    #: The stack that it reads: its id, name and project.
    source_id: str
    source: str
    source_project: str
    output: str
    stale: bool


class NotReadable(Exception):
    """The reader's project may not read the output, or there is no such stack; nothing was recorded."""


class SourceMoved(Exception):
    """The stack has another operation, or another status, than when its output was computed; nothing was recorded."""


class OutputReaders(Repository):
    """Operations on readers."""

    @retrying
    def record(
        self,
        held: Fence,
        stack_id: str,
        project: str,
        source: StackRow,
        output: str,
        *,
        is_read: bool = True,
    ) -> None:
        """Record that a claimed resource of a project reads an output of ``source``, as that was when it was read.

        ``stack_id`` is that of the resource, and ``held`` the attempt at it.

        With ``is_read``, the resource has the present value from now on. Otherwise it is still to be read, and what is
        on record about the value it has stays.

        Raises:
            NotReadable: the project may not read it.
            SourceMoved: an operation has begun on ``source`` since, or it is deleted.
            Conflict: the stacks would read each other in a circle, or another attempt has taken over.
        """
        with self._db.write() as connection:
            _lock_arrows(connection, self._db)
            # As every transaction, in this order: the stack, then the resource.
            self._hold_source(connection, project, source, output)
            root = self._hold_reader(connection, held, stack_id)
            _refuse_circle(connection, root, source, project)
            row = {
                "resource_id": held.resource_id,
                "stack_id": stack_id,
                "root_id": root.id,
                "source_id": source.id,
                "output": output,
                "stale": False,
            }
            kept = {"resource_id"} if is_read else {"resource_id", "stale"}
            changed = {name: value for name, value in row.items() if name not in kept}
            connection.execute(_gone_in(stack_id))
            insert = self._db.insert(tables.output_reader).values(**row)
            connection.execute(insert.on_conflict_do_update(index_elements=["resource_id"], set_=changed))

    @staticmethod
    def _hold_source(connection: sa.Connection, project: str, source: StackRow, output: str) -> None:
        # Most commands only read what is on record.
        from orchestrator.store.stacks.output_shares import is_shared

        stack = tables.stack
        held = sa.select(stack.c.traversal_id, stack.c.status, stack.c.deleted_at).where(
            stack.c.id == source.id
        )
        now = connection.execute(held.with_for_update()).first()
        if source.project != project and not is_shared(connection, source.id, output, project):
            raise NotReadable
        if now is None or (*now,) != (source.traversal_id, source.status, None):
            raise SourceMoved

    @staticmethod
    def _hold_reader(connection: sa.Connection, held: Fence, stack_id: str) -> AnyRow:
        """Lock a claimed resource; return the id and name of its outermost stack."""
        stack, root, resource = tables.stack, tables.stack.alias("root"), tables.resource
        ours = sa.select(resource.c.id).where(
            resource.c.id == held.resource_id,
            resource.c.lock_traversal == held.traversal_id,
            resource.c.lock_no == held.no,
            resource.c.lock_attempt == held.attempt,
        )
        if connection.execute(ours.with_for_update()).first() is None:
            raise Conflict("another attempt at the resource has taken over")
        outermost = sa.select(root.c.id, root.c.name).join(stack, stack.c.root_id == root.c.id)
        return connection.execute(outermost.where(stack.c.id == stack_id)).one()

    def of_source(self, source_id: str) -> list[OutputReader]:
        """Return the readers of a stack, by project, stack, resource and output."""
        rows = self._db.rows(_OF_SOURCE, {"source_id": source_id})
        return [OutputReader.of(row, stale=bool(row.stale)) for row in rows]

    def of_root(self, root_id: str) -> list[OutputReader]:
        """Return the readers in a stack and in those nested in it, in the order of :meth:`of_source`."""
        return self._found(tables.output_reader.c.root_id == root_id)

    def _found(self, which: sa.ColumnElement[bool]) -> list[OutputReader]:
        return [OutputReader.of(row) for row in self._db.rows(_readers().where(which))]

    def stale_in_tree(self, root_id: str) -> frozenset[str]:
        """Return the ids of the rows with a stale value, in a stack and in those nested in it."""
        reader = tables.output_reader
        mine = (reader.c.root_id == root_id) & reader.c.stale
        return frozenset(self._db.column(sa.select(reader.c.resource_id).where(mine)))

    def stale_roots(self, root_ids: Sequence[str]) -> frozenset[str]:
        """Return which of some outermost stacks have a stale value."""
        sql = _STALE_ROOTS.format(in_roots=self._db.in_list("roots"))
        found = [self._db.rows(sql, {"roots": self._db.texts(some)}) for some in chunked(root_ids)]
        return frozenset(row.root_id for some in found for row in some)

    @retrying
    def arrows_from(self, source_id: str) -> list[OutputReader]:
        """Return the readers of a stack, those of their outermost stacks, and so on, each once."""
        found: dict[str, OutputReader] = {}
        reached, front = {source_id}, [source_id]
        while front:
            some = [
                row
                for ids in chunked(front)
                for row in self._found(tables.output_reader.c.source_id.in_(ids))
            ]
            found |= {each.resource_id: each for each in some}
            front = sorted({each.root_id for each in some} - reached)
            reached.update(front)
        return list(found.values())

    @retrying
    def mark(self, source: StackRow, stale: Mapping[str, bool]) -> bool:
        """Mark readers of a stack, by the id of the resource: whether their values are stale.

        False, and nothing is marked, if an operation has begun on the stack since it was read: its end marks them.
        """
        stack, reader = tables.stack, tables.output_reader
        with self._db.write() as connection:
            same = (stack.c.traversal_id == source.traversal_id) & (stack.c.status == source.status)
            held = sa.select(stack.c.id).where(stack.c.id == source.id, same)
            if connection.execute(held.with_for_update()).first() is None:
                return False
            for value in (True, False):
                ids = sorted(each for each, is_stale in stale.items() if is_stale is value)
                for some in chunked(ids):
                    connection.execute(
                        reader.update().where(reader.c.resource_id.in_(some)).values(stale=value)
                    )
        return True

    @retrying
    def refuse_read(self, stack_id: str, project: str) -> None:
        """Refuse to delete a stack whose outputs other stacks read.

        Raises:
            Conflict: some do; those of its own project are named.
        """
        with self._db.reading() as direct:
            refuse_read(direct, stack_id, project)


def refuse_read(direct: Direct, stack_id: str, project: str) -> None:
    """Refuse to delete a stack whose outputs other stacks read, in the transaction that holds the stack.

    Raises:
        Conflict: some do; those of its own project are named.
    """
    readers = [OutputReader.of(row) for row in direct.rows(_OF_SOURCE, {"source_id": stack_id})]
    if readers:
        raise Conflict(
            f"nothing was deleted: {sentence_of(readers, project)}; "
            "take these resources away first, or order it with --force"
        )


def sentence_of(readers: Collection[OutputReader], project: str) -> str:
    """Return which stacks read outputs, in words; stacks of other projects than ``project`` are only counted."""
    own = {
        f"stack {each.root!r} (output {each.output!r}, resource {each.resource!r})": None
        for each in readers
        if each.project == project
    }
    others = len({each.root_id for each in readers if each.project != project})
    named = list(own)[:_NAMED]
    if len(own) > _NAMED:
        named.append(f"{len(own) - _NAMED} more")
    if others:
        named.append(f"{others} stack{'' if others == 1 else 's'} of other projects")
    return f"its outputs are read by {', '.join(named)}"


def _lock_arrows(connection: sa.Connection, database: Database) -> None:
    """Let no other transaction add an arrow between stacks until this one ends; SQLite has one writer anyway."""
    if database.postgres:
        connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK}, 0)"))


def _refuse_circle(connection: sa.Connection, root: AnyRow, source: StackRow, project: str) -> None:
    """Refuse that ``root`` reads ``source``, if that reads outputs of ``root``, directly or through others.

    Raises:
        Conflict: it does; with the names on the way, those of other projects left out.
    """
    ways: dict[str, tuple[str, ...]] = {source.id: (_name(source.name, source.project, project),)}
    front = [source.id]
    while front and root.id not in ways:
        rows = [
            OutputReader.of(row)
            for ids in chunked(front)
            for row in connection.execute(_readers().where(tables.output_reader.c.root_id.in_(ids)))
        ]
        front = []
        for row in rows:
            if row.source_id not in ways:
                ways[row.source_id] = (
                    *ways[row.root_id],
                    _name(row.source, row.source_project, project),
                )
                front.append(row.source_id)
    if root.id in ways:
        way = " reads ".join((repr(root.name), *ways[root.id]))
        raise Conflict(f"stacks cannot read outputs of each other in a circle: {way}")


def _name(name: str, of_project: str, project: str) -> str:
    return repr(name) if of_project == project else "a stack of another project"


def _alive(sql: Query) -> Query:
    """Return a query of readers without those whose resource is gone."""
    resource = tables.resource
    return sql.join(resource, resource.c.id == tables.output_reader.c.resource_id).where(~tables.is_gone())


def _gone_in(stack_id: str) -> sa.Delete:
    """Return the statement that removes the readers of a stack whose resources are gone."""
    reader, resource = tables.output_reader, tables.resource
    present = sa.select(resource.c.id).where(resource.c.id == reader.c.resource_id, ~tables.is_gone())
    return reader.delete().where(reader.c.stack_id == stack_id, ~present.exists())


def _readers() -> Query:
    reader, resource = tables.output_reader, tables.resource
    root, source = tables.stack.alias("root"), tables.stack.alias("source")
    sql = sa.select(
        reader,
        root.c.name.label("root"),
        root.c.project,
        resource.c.name.label("resource"),
        source.c.name.label("source"),
        source.c.project.label("source_project"),
    )
    return (
        _alive(sql)
        .join(root, root.c.id == reader.c.root_id)
        .join(source, source.c.id == reader.c.source_id)
        .order_by(root.c.project, root.c.name, resource.c.name, reader.c.resource_id)
    )
