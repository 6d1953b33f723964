"""Lists of stacks, filtered, sorted and cut by the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from orchestrator.errors import NotFound
from orchestrator.model.stack_filter import SORT_KEYS, StackFilter, StackOrder
from orchestrator.store.database import database_time
from orchestrator.store.lists import is_like, patterns
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import Values
from orchestrator.store.stacks.stacks import StackRow, stack_row_of, stacks_text

if TYPE_CHECKING:
    from orchestrator.store.direct import Direct

#: The columns to sort by: what a statement names is never a text from outside.
_COLUMNS: Final = {key: key for key in SORT_KEYS}
#: A condition, and the values of its parameters.
Condition = tuple[str, Values]


class StackLists(Repository):
    """Reads of lists of stacks."""

    @retrying
    def page(self, wanted: StackFilter, order: StackOrder, *, project: str | None) -> list[StackRow]:
        """Return the stacks of a project, or of all if it is None, in an order; equal ones are sorted by their ids.

        Raises:
            NotFound: there is no stack with the id that the part begins after.
        """
        columns = [*(_COLUMNS[key] for key in order.keys), "id"]
        with self._db.reading() as direct:
            conditions = [*self._conditions(direct, wanted, project)]
            if order.after:
                conditions.append(_after(direct, columns, order))
            where, values = _joined(conditions)
            direction = "DESC" if order.descending else "ASC"
            by = ", ".join(f"{each} {direction}" for each in columns)
            sql = f"{stacks_text()} WHERE {where} ORDER BY {by}"  # texts of ours
            if order.limit is not None:
                sql += " LIMIT :limit"
                values["limit"] = order.limit
            return [stack_row_of(row, direct) for row in direct.rows(sql, values)]

    @retrying
    def count(self, wanted: StackFilter, *, project: str | None) -> int:
        """Return how many stacks there are, of a project, or of all if it is None."""
        with self._db.reading() as direct:
            where, values = _joined([*self._conditions(direct, wanted, project)])
            sql = f"SELECT count(*) AS number FROM stack WHERE {where}"  # texts of ours
            return int(direct.one(sql, values).number)

    def _conditions(self, direct: Direct, wanted: StackFilter, project: str | None) -> Iterator[Condition]:
        if project is not None:
            yield "project = :project", {"project": project}
        if not wanted.nested and not wanted.parents:
            yield "parent_id IS NULL", {}
        if not wanted.deleted:
            yield "deleted_at IS NULL", {}
        for column, name, words in (
            ("id", "ids", wanted.ids),
            ("project", "projects", wanted.projects),
            ("name", "names", wanted.names),
            ("action", "actions", wanted.actions),
            ("status", "statuses", wanted.statuses),
            ("parent_id", "parents", wanted.parents),
            # No action and no status has a slash.
            ("action || '/' || status", "states", [f"{action}/{status}" for action, status in wanted.states]),
        ):
            if words:
                yield f"{column} {self._db.in_list(name)}", {name: self._db.texts(words)}
        if wanted.partial:
            yield "partial <> '[]'", {}
        if wanted.name_patterns:
            like = is_like("stack.name", "patterns", postgres=self._db.postgres)
            yield like, {"patterns": patterns(wanted.name_patterns, postgres=self._db.postgres)}
        if wanted.older_than_seconds is not None:
            begun = database_time(direct, self._db) - wanted.older_than_seconds
            yield "created_at <= :no_later", {"no_later": begun}
        if wanted.newer_than_seconds is not None:
            begun = database_time(direct, self._db) - wanted.newer_than_seconds
            yield "created_at > :later_than", {"later_than": begun}
        yield from self._tag_conditions(wanted)

    def _tag_conditions(self, wanted: StackFilter) -> Iterator[Condition]:
        for name, tags in (("tags", wanted.tags), ("not_tags", wanted.not_tags)):
            if tags:
                has_all = f"(SELECT count(DISTINCT tag.value) {self._in_tags(name)}) = :number_of_{name}"
                values = {name: self._db.texts(tags), f"number_of_{name}": len({*tags})}
                yield f"NOT {has_all}" if name == "not_tags" else has_all, values
        for name, tags in (("tags_any", wanted.tags_any), ("not_tags_any", wanted.not_tags_any)):
            if tags:
                has_one = f"EXISTS (SELECT 1 {self._in_tags(name)})"
                yield f"NOT {has_one}" if name == "not_tags_any" else has_one, {name: self._db.texts(tags)}

    def _in_tags(self, name: str) -> str:
        """Return the end of a query of those tags of a stack that are in the list bound as ``name``."""
        if self._db.postgres:
            of_stack = "jsonb_array_elements_text(CAST(stack.tags AS jsonb)) AS tag(value)"
        else:
            of_stack = "json_each(stack.tags) AS tag"
        return f"FROM {of_stack} WHERE tag.value {self._db.in_list(name)}"


def _joined(conditions: Sequence[Condition]) -> tuple[str, dict[str, object]]:
    """Return the condition that all of some hold, and the values of its parameters."""
    where = " AND ".join(each for each, _ in conditions) or "TRUE"
    return where, {name: value for _, values in conditions for name, value in values.items()}


def _after(direct: Direct, columns: Sequence[str], order: StackOrder) -> Condition:
    """Return the condition that a row comes after the last one of the part before, in the order of the columns.

    Raises:
        NotFound: there is no such stack.
    """
    # Of any project: what is behind it is of the project all the same.
    sql = f"SELECT {', '.join(columns)} FROM stack WHERE id = :after"  # names of ours
    last = direct.first(sql, {"after": order.after})
    if last is None:
        raise NotFound(f"there is no stack with the id {order.after!r} to begin after")
    beyond = "<" if order.descending else ">"
    terms = [
        " AND ".join(
            [*(f"{each} = :last_{each}" for each in columns[:place]), f"{column} {beyond} :last_{column}"]
        )
        for place, column in enumerate(columns)
    ]
    is_behind = " OR ".join(f"({each})" for each in terms)
    return f"({is_behind})", {f"last_{each}": getattr(last, each) for each in columns}
