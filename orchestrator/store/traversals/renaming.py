"""What is on record of resources by their stacks and names, given those that they have from now on.

A place is a stack's id and a resource's name; ``now`` has the places from now on, by those before.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from orchestrator.model.codec import Codec
from orchestrator.model.names import membership
from orchestrator.store import tables
from orchestrator.store.database import bulk_insert

ResourcePlace = tuple[str, str]
Places = Mapping[ResourcePlace, ResourcePlace]


def rename_reservations(connection: sa.Connection, now: Places, *, operation_id: str) -> None:
    """Give reservations their new places, but those of the operation: it has reserved for them from now on."""
    reservation = tables.reservation
    found = []
    for stack_id, names in _by_stack(now):
        mine = (reservation.c.stack_id == stack_id) & (reservation.c.operation_id != operation_id)
        mine &= reservation.c.resource.in_(names)
        rows = [dict(row._mapping) for row in connection.execute(sa.select(reservation).where(mine))]
        if rows:
            connection.execute(reservation.delete().where(mine))
            found += rows
    values = []
    for row in found:
        stack_id, resource = now[row["stack_id"], row["resource"]]
        values.append({**row, "stack_id": stack_id, "resource": resource})
    if values:
        bulk_insert(connection, reservation, values)


def rename_groups(connection: sa.Connection, now: Places) -> None:
    """Give the members of placement groups, in whatever stack, the groups' places from now on."""
    reservation = tables.reservation
    kinds = {membership(*before): membership(*place) for before, place in now.items()}
    key = ("stack_id", "resource", "node", "kind", "operation_id")
    columns = [reservation.c[name] for name in key]
    members = sa.select(*columns).where(reservation.c.kind.in_(sorted(kinds))).order_by(*columns)
    for row in connection.execute(members).all():
        one = sa.and_(*(reservation.c[name] == getattr(row, name) for name in key))
        connection.execute(reservation.update().where(one).values(kind=kinds[row.kind]))


def rename_annotations(connection: sa.Connection, codec: Codec, now: Places) -> None:
    """Give annotations their new places; those of what was there before are of a resource that is gone."""
    annotation = tables.annotation
    found: list[Any] = []
    for stack_id, names in _by_stack(now):
        mine = (annotation.c.stack_id == stack_id) & annotation.c.resource.in_(names)
        found += connection.execute(sa.select(annotation).where(mine)).all()
    if not found:
        return
    for stack_id, names in _by_stack(dict.fromkeys((*now, *now.values()))):
        mine = (annotation.c.stack_id == stack_id) & annotation.c.resource.in_(names)
        connection.execute(annotation.delete().where(mine))
    values = []
    for row in found:
        stack_id, resource = now[row.stack_id, row.resource]
        # A value is bound to its place.
        before, after = (
            ("annotation", "value", place[0], row.plugin, place[1])
            for place in ((row.stack_id, row.resource), (stack_id, resource))
        )
        value = codec.packed_again(row.value, before, after)
        values.append({**row._mapping, "stack_id": stack_id, "resource": resource, "value": value})
    bulk_insert(connection, annotation, values)


def _by_stack(places: Mapping[ResourcePlace, object]) -> Iterator[tuple[str, list[str]]]:
    names: dict[str, list[str]] = {}
    for stack_id, name in places:
        names.setdefault(stack_id, []).append(name)
    for stack_id in sorted(names):
        yield stack_id, sorted(names[stack_id])
