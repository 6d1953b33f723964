"""Lists of stacks, filtered, sorted and cut by the database."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import NotFound
from orchestrator.model.stack_filter import StackFilter, StackOrder
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import matches
from orchestrator.store.stacks.stacks import StackRow, stack_rows


class StackLists(Repository):
    """Reads of lists of stacks."""

    @retrying
    def page(self, wanted: StackFilter, order: StackOrder, *, project: str | None) -> list[StackRow]:
        """Return the stacks of a project, or of all if it is None, in an order; equal ones are sorted by their ids.

        Raises:
            NotFound: there is no stack with the id that the part begins after.
        """
        stack = tables.stack
        columns = [*(stack.c[key] for key in order.keys), stack.c.id]
        with self._db.read() as connection:
            sql = stack_rows().where(*self._conditions(connection, wanted, project))
            if order.after:
                # Of any project: what is behind it is of the project all the same.
                last = connection.execute(sa.select(*columns).where(stack.c.id == order.after)).first()
                if last is None:
                    raise NotFound(f"there is no stack with the id {order.after!r} to begin after")
                sql = sql.where(_behind(columns, last, descending=order.descending))
            sql = sql.order_by(*(each.desc() if order.descending else each.asc() for each in columns))
            rows = connection.execute(sql.limit(order.limit)).all()
        return [StackRow(**row._mapping) for row in rows]

    @retrying
    def count(self, wanted: StackFilter, *, project: str | None) -> int:
        """Return how many stacks there are, of a project, or of all if it is None."""
        sql = sa.select(sa.func.count()).select_from(tables.stack)
        with self._db.read() as connection:
            sql = sql.where(*self._conditions(connection, wanted, project))
            return connection.execute(sql).scalar_one()

    def _conditions(
        self, connection: sa.Connection, wanted: StackFilter, project: str | None
    ) -> Iterator[sa.ColumnElement[bool]]:
        stack = tables.stack
        yield sa.true() if project is None else stack.c.project == project
        if not wanted.nested and not wanted.parents:
            yield stack.c.parent_id.is_(None)
        if not wanted.deleted:
            yield stack.c.deleted_at.is_(None)
        for column, values in (
            (stack.c.id, wanted.ids),
            (stack.c.project, wanted.projects),
            (stack.c.name, wanted.names),
            (stack.c.action, wanted.actions),
            (stack.c.status, wanted.statuses),
            (stack.c.parent_id, wanted.parents),
        ):
            if values:
                yield column.in_(values)
        if wanted.partial:
            yield tables.is_partial()
        if wanted.states:
            yield sa.tuple_(stack.c.action, stack.c.status).in_(wanted.states)
        if wanted.name_patterns:
            yield sa.or_(
                *(matches(stack.c.name, each, postgres=self._db.postgres) for each in wanted.name_patterns)
            )
        if wanted.older_than_seconds is not None:
            yield stack.c.created_at <= database_time(connection, self._db) - wanted.older_than_seconds
        if wanted.newer_than_seconds is not None:
            yield stack.c.created_at > database_time(connection, self._db) - wanted.newer_than_seconds
        yield from self._tag_conditions(wanted)

    def _tag_conditions(self, wanted: StackFilter) -> Iterator[sa.ColumnElement[bool]]:
        has = partial(has_tag, postgres=self._db.postgres)
        if wanted.tags:
            yield sa.and_(*map(has, wanted.tags))
        if wanted.tags_any:
            yield sa.or_(*map(has, wanted.tags_any))
        if wanted.not_tags:
            yield sa.not_(sa.and_(*map(has, wanted.not_tags)))
        if wanted.not_tags_any:
            yield sa.not_(sa.or_(*map(has, wanted.not_tags_any)))


def has_tag(tag: str, *, postgres: bool) -> sa.ColumnElement[bool]:
    """Return the condition that a stack has a tag."""
    if postgres:
        tags = sa.text("SELECT jsonb_array_elements_text(CAST(stack.tags AS jsonb))")
    else:
        tags = sa.text("SELECT value FROM json_each(stack.tags)")
    return sa.literal(tag).in_(tags)


def _behind(
    columns: Sequence[sa.ColumnElement[Any]], last: Sequence[Any], *, descending: bool
) -> sa.ColumnElement[bool]:
    """Return the condition that a row comes after one with the values ``last``, in the order of the columns."""
    terms = []
    for place, column in enumerate(columns):
        equal = [each == value for each, value in zip(columns[:place], last, strict=False)]
        beyond = column < last[place] if descending else column > last[place]
        terms.append(sa.and_(*equal, beyond))
    return sa.or_(*terms)
