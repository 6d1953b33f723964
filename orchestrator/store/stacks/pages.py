"""Pages of the list of stacks, filtered, sorted and cut by the database."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time
from orchestrator.store.horizon import Horizon
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, chunked, like_pattern
from orchestrator.store.stacks.tallies import Tally, tallies
from orchestrator.views.operations import StackPage, StackSummary
from orchestrator.views.vertex_states import OVER

#: The orders in which a list can be sorted.
SORTS: Final = ("name", "state", "created", "updated", "last_event")
#: The moments whose age a list can be filtered by: of the creation, the operation in force, and the last change.
MOMENTS: Final = ("created", "begun", "updated")
#: The most stacks on a page.
MOST: Final = 500
#: The most finished operations whose tallies are cached.
_REMEMBERED: Final = 4096


class StackPages:
    """Reads of pages of the list of stacks; threads may share it."""

    def __init__(self, database: Database, horizon: Horizon) -> None:
        self._db = database
        self._horizon = horizon
        #: Tallies of finished operations, which never change.
        self._known: dict[str, Tally] = {}

    @retrying
    def page(
        self,
        *,
        project: str,
        search: str = "",
        name: str = "",
        tags: Sequence[str] = (),
        ids: Sequence[str] = (),
        moment: str = "begun",
        over_seconds: float | None = None,
        within_seconds: float | None = None,
        states: Sequence[str] = (),
        sort: str = "updated",
        descending: bool = True,
        offset: int = 0,
        limit: int = 50,
        partial: bool = False,
        nested: bool = False,
        deleted: bool = False,
    ) -> StackPage:
        """Return one page of a project's stacks.

        The arguments are the fields of a :class:`~orchestrator.queries.observer.StackQuery`.

        Raises:
            InvalidInput: there is no such order or moment, or a number is out of bounds.
        """
        _refuse_wrong(sort, moment, offset, limit)
        stack = tables.stack
        any_age = stack.c.project == project
        if not nested:
            any_age &= stack.c.parent_id.is_(None)
        living = any_age & stack.c.deleted_at.is_(None)
        wanted = any_age if deleted else living
        if search:
            wanted &= self._found(search)
        if name:
            wanted &= _named(name)
        if ids:
            wanted &= stack.c.id.in_(ids)
        if states:
            wanted &= _state().in_(states)
        for tag in tags:
            wanted &= _has_tag(tag, postgres=self._db.postgres)
        if partial:
            wanted &= tables.is_partial()
        order = self._order(sort)
        direction = order.desc() if descending else order.asc()
        cursor = self._horizon.look()
        with self._db.snapshot() as connection:
            as_of = database_time(connection, self._db)
            wanted &= _aged(moment, as_of, over_seconds=over_seconds, within_seconds=within_seconds)
            total = connection.execute(
                sa.select(sa.func.count()).select_from(stack).where(wanted)
            ).scalar_one()
            by_state = connection.execute(
                sa.select(_state(), sa.func.count()).where(living).group_by(_state())
            ).all()
            of_page = sa.select(stack.c.id).where(wanted).order_by(direction, stack.c.name, stack.c.id)
            found = connection.execute(of_page.offset(offset).limit(limit)).scalars().all()
            rows = self._rows(connection, found)
            counted = self._tallies(connection, rows)
        return StackPage(
            rows=tuple(_summary(rows[each], counted[rows[each].traversal_id]) for each in found),
            total=total,
            states={row[0]: row[1] for row in by_state},
            cursor=cursor,
            as_of=as_of,
        )

    def _found(self, search: str) -> sa.ColumnElement[bool]:
        """Return the condition that the name or a tag contains a text in any case, or that it is the id."""
        stack, wanted = tables.stack, search.lower()
        if self._db.postgres:
            tags, find = "jsonb_array_elements_text(CAST(stack.tags AS jsonb)) AS tag(value)", "strpos"
        else:
            tags, find = "json_each(stack.tags) AS tag", "instr"
        position = getattr(sa.func, find)
        in_name = position(sa.func.lower(stack.c.name), wanted) > 0
        in_tag = sa.text(
            f"EXISTS (SELECT 1 FROM {tags} WHERE {find}(lower(tag.value), :wanted_tag) > 0)"
        ).bindparams(wanted_tag=wanted)
        return sa.or_(in_name, in_tag, stack.c.id == search)

    @staticmethod
    def _order(sort: str) -> sa.ColumnElement[Any]:
        stack, event = tables.stack, tables.event
        if sort == "last_event":
            # Ids ascend with time, and the index on a stack's events finds the last one.
            last = sa.select(sa.func.max(event.c.id)).where(event.c.stack_id == stack.c.id)
            return sa.func.coalesce(last.scalar_subquery(), 0)
        return {
            "name": stack.c.name,
            "state": _state(),
            "created": stack.c.created_at,
            "updated": stack.c.updated_at,
        }[sort]

    @staticmethod
    def _rows(connection: sa.Connection, ids: Sequence[str]) -> dict[str, AnyRow]:
        stack, traversal, event = tables.stack, tables.traversal, tables.event
        last = (
            sa.select(event.c.at).where(event.c.stack_id == stack.c.id).order_by(event.c.id.desc()).limit(1)
        )
        fields = StackSummary.__dataclass_fields__
        names = (name for name in fields if name in stack.c and name != "protected")
        sql = (
            sa.select(
                *(stack.c[name] for name in names),
                traversal.c.created_at.label("begun_at"),
                traversal.c.ended_at,
                traversal.c.user_name.label("user"),
                traversal.c.comment,
                last.scalar_subquery().label("last_event_at"),
                _protected().label("protected"),
                stack.c.partial,
            )
            .join(traversal, traversal.c.id == stack.c.traversal_id)
            .where(stack.c.id.in_(ids))
        )
        return {row.id: row for row in connection.execute(sql).all()}

    def _tallies(self, connection: sa.Connection, rows: Mapping[str, AnyRow]) -> Mapping[str, Tally]:
        """Return the tally of each stack's operation in force, by the traversal's id."""
        under_way = {row.traversal_id: row.ended_at is None for row in rows.values()}
        found = {each: self._known[each] for each in under_way if each in self._known}
        for some in chunked([each for each in under_way if each not in found]):
            read = tallies(connection, {each: under_way[each] for each in some})
            found |= read
            over = {each: of for each, of in read.items() if not under_way[each] and of.counts.keys() <= OVER}
            if len(self._known) + len(over) > _REMEMBERED:
                self._known.clear()
            self._known |= over
        return found


def _state() -> sa.ColumnElement[str]:
    return tables.stack.c.action.op("||")(sa.literal_column("'_'")).op("||")(tables.stack.c.status)


def _has_tag(tag: str, *, postgres: bool) -> sa.ColumnElement[bool]:
    """Return the condition that a stack has a tag."""
    if postgres:
        tags = sa.text("SELECT jsonb_array_elements_text(CAST(stack.tags AS jsonb))")
    else:
        tags = sa.text("SELECT value FROM json_each(stack.tags)")
    return sa.literal(tag).in_(tags)


def _protected() -> sa.ColumnElement[bool]:
    """Return the condition that a stack, or something in it, is protected; of a nested stack, that itself is."""
    stack, inner, resource = tables.stack, tables.stack.alias("inner"), tables.resource
    inside = sa.or_(inner.c.id == stack.c.id, inner.c.root_id == stack.c.id) & inner.c.deleted_at.is_(None)
    marked = sa.exists().where(resource.c.stack_id == inner.c.id, resource.c.protected, ~tables.is_gone())
    found = sa.exists().where(inside, sa.or_(inner.c.protected, marked)).correlate(stack)
    # Of most stacks nothing ever was protected.
    return sa.case((stack.c.protections == 0, sa.false()), else_=found)


def _named(name: str) -> sa.ColumnElement[bool]:
    """Return the condition that the name contains a text, or matches a pattern with ``*`` and ``?``, in any case."""
    pattern = name.lower() if set(name) & set("*?") else f"*{name.lower()}*"
    return sa.func.lower(tables.stack.c.name).like(like_pattern(pattern), escape="\\")


def _aged(
    moment: str, now: float, *, over_seconds: float | None, within_seconds: float | None
) -> sa.ColumnElement[bool]:
    """Return the condition that a moment is longer ago than the one time and no longer ago than the other."""
    stack, traversal = tables.stack, tables.traversal
    begun = sa.select(traversal.c.created_at).where(traversal.c.id == stack.c.traversal_id).scalar_subquery()
    at = {"created": stack.c.created_at, "begun": begun, "updated": stack.c.updated_at}[moment]
    condition: sa.ColumnElement[bool] = sa.true()
    if over_seconds is not None:
        condition &= at < now - over_seconds
    if within_seconds is not None:
        condition &= at >= now - within_seconds
    return condition


def _summary(row: AnyRow, tally: Tally) -> StackSummary:
    return StackSummary(
        **{name: value for name, value in row._mapping.items() if name != "partial"},
        left=len(row.partial),
        state=f"{row.action}_{row.status}",
        counts=tally.counts,
        total=tally.total,
        done=tally.done,
        retries=tally.retries,
    )


def _refuse_wrong(sort: str, moment: str, offset: int, limit: int) -> None:
    problems = []
    for path, given, known in (("sort", sort, SORTS), ("moment", moment, MOMENTS)):
        if given not in known:
            message = f"expected one of {', '.join(known)}, found {given!r}"
            problems.append(Problem(path=path, message=message, hint=Nearest().hint(given, known)))
    if offset < 0:
        problems.append(Problem(path="offset", message=f"expected 0 or more, found {offset}"))
    if not 0 < limit <= MOST:
        problems.append(Problem(path="limit", message=f"expected 1 to {MOST}, found {limit}"))
    if problems:
        raise InvalidInput(problems)
