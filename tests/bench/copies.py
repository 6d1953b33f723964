"""Copies of a stack, row by row: thousands of them take seconds, and a create by the engine minutes."""

import uuid
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.store import Store
from orchestrator.store.tables import metadata

#: How many stacks are written in one transaction.
_TOGETHER: Final = 200


def copy_stack(store: Store, stack_id: str, name: str, names: list[str]) -> None:
    """Copy the stack with this id and name under other ids, as if each of ``names`` had been created the same way.

    All names are of one length, and occur nowhere but as names: values in rows are packed, with lengths.
    """
    assert {len(each) for each in names} <= {len(name)}
    with store.database.read() as connection:
        rows = {table: _rows(connection, table, stack_id) for table in metadata.sorted_tables}
    ids = [str(row[column]) for table, column in _IDS for row in rows[table]]
    for start in range(0, len(names), _TOGETHER):
        some = [
            {name: other, **{each: str(uuid.uuid4()) for each in ids}}
            for other in names[start : start + _TOGETHER]
        ]
        with store.database.write() as connection:
            for table, found in rows.items():
                copies = [
                    {column: _renamed(value, new) for column, value in row.items()}
                    for new in some
                    for row in found
                ]
                if copies:
                    connection.execute(sa.insert(table), copies)


#: What is unique to a stack: the tables and columns of its ids.
_IDS: Final = ((tables.stack, "id"), (tables.traversal, "id"), (tables.resource, "id"))


def _rows(connection: sa.Connection, table: sa.Table, stack_id: str) -> list[dict[str, Any]]:
    """Return the rows of a stack; without numbers that the database gives."""
    if table is tables.stack:
        mine: Any = table.c.id == stack_id
    elif "stack_id" in table.c and table is not tables.job:
        mine = table.c.stack_id == stack_id
    elif table is tables.node:
        of_stack = sa.select(tables.traversal.c.id).where(tables.traversal.c.stack_id == stack_id)
        mine = table.c.traversal_id.in_(of_stack)
    else:
        return []
    found = connection.execute(sa.select(table).where(mine)).mappings()
    given = {column.name for column in table.primary_key if column.type.python_type is not int} | {
        column.name for column in table.c if not column.primary_key
    }
    given |= {"no"} & {*table.c.keys()}
    return [{name: value for name, value in row.items() if name in given} for row in found]


def _renamed(value: Any, new: dict[str, str]) -> Any:
    for old, other in new.items():
        if isinstance(value, str):
            value = value.replace(old, other)
        elif isinstance(value, bytes):
            value = value.replace(old.encode(), other.encode())
    return value
