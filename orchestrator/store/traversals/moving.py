"""New names of a stack's rows, in the transaction that begins the traversal which moves them.

What is on record of a resource by its name gets the new one: reservations, annotations and drift. Events and log lines
of the past keep the name that the resource had then.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from hooks.values.states import MOVE
from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.rows import chunked
from orchestrator.store.stack_events import insert_resource_event
from orchestrator.store.traversals.new_traversal import NewTraversal
from orchestrator.store.traversals.renaming import rename_annotations, rename_groups, rename_reservations


def move_rows(connection: sa.Connection, codec: Codec, new: NewTraversal, now: float) -> None:
    """Give rows their new names, and record an event for each resource that is moved.

    The rows are locked in the order of their ids; the stack is locked already.
    """
    resource = tables.resource
    named = (
        resource.update()
        .where(resource.c.id == sa.bindparam("row_id"))
        .values(
            name=sa.bindparam("called"),
            former_names=sa.bindparam("former"),
            complete_name=sa.bindparam("complete"),
            updated_at=now,
        )
    )
    for row_id, names in sorted(new.names.items()):
        values = {"row_id": row_id, "called": names.name, "former": names.former, "complete": names.complete}
        connection.execute(named, values)
    if not new.moved:
        return
    now_called = {was: name for name, was in new.moved.items()}
    places = {(new.stack_id, was): (new.stack_id, name) for was, name in now_called.items()}
    rename_reservations(connection, places, operation_id=new.id)
    rename_groups(connection, places)
    rename_annotations(connection, codec, places)
    _rename_drift(connection, new.stack_id, now_called)
    for row in _in_force(connection, new):
        insert_resource_event(
            connection,
            row,
            now,
            traversal_id=new.id,
            action=MOVE,
            status="COMPLETE",
            reason=f"its name was {new.moved[row.name]!r}",
        )


def _in_force(connection: sa.Connection, new: NewTraversal) -> list[Any]:
    """Return one row for each resource that is moved: the one in force, if there are several."""
    resource = tables.resource
    columns = (resource.c[name] for name in ("id", "stack_id", "name", "type", "physical_id"))
    found: dict[str, Any] = {}
    for some in chunked(sorted(new.names)):
        sql = sa.select(*columns).where(resource.c.id.in_(some), resource.c.name.in_(sorted(new.moved)))
        for row in connection.execute(sql.order_by(resource.c.replaced_by.is_(None), resource.c.created_at)):
            found[row.name] = row
    return [found[name] for name in sorted(found)]


def _rename_drift(connection: sa.Connection, stack_id: str, now: Mapping[str, str]) -> None:
    """Give the drift of moved resources, and of what is nested in them, their paths from now on."""
    drift = tables.drift
    rows = connection.execute(
        sa.select(drift.c.resource_id, drift.c.key, drift.c.path).where(drift.c.root_id == stack_id)
    )
    for row in rows.all():
        first, slash, inside = row.path.partition("/")
        if first in now:
            one = (drift.c.resource_id == row.resource_id) & (drift.c.key == row.key)
            connection.execute(drift.update().where(one).values(path=f"{now[first]}{slash}{inside}"))
