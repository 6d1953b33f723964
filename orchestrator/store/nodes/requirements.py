"""The requirements of rows: those that were applied last, and those of an update under way.

An update under way may use its new requirements already, or still the old ones. Until it is done the row requires
both, so that neither is deleted before the row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from orchestrator.model.messages import CONVERGE
from orchestrator.store import tables
from orchestrator.store.alchemy import sa

if TYPE_CHECKING:
    from orchestrator.store.direct import Direct

#: The rows whose convergence has begun and is not ended, where these require anything.
_BEGUN: Final = f"""
    SELECT resource_id, requirements FROM node
    WHERE traversal_id || '' = :traversal_id AND phase = '{CONVERGE}' AND attempt > 0 AND state <> 'done'
        AND requirements <> '[]'"""
_REQUIRED: Final = f"SELECT id, requires FROM resource WHERE stack_id = :stack_id AND NOT {tables.IS_GONE}"


def widen_requirements(direct: Direct, traversal_id: str) -> None:
    """Add the new requirements to every row whose convergence a traversal has begun and not ended.

    A finished step does so itself; this is for running steps, and those of dead workers.
    """
    begun = direct.rows(_BEGUN, {"traversal_id": traversal_id})
    numbers = {no for row in begun for no in json.loads(row.requirements)}
    if not numbers:
        return
    node, resource, connection = tables.node, tables.resource, direct.alchemy
    mine = tables.in_traversal(traversal_id)
    ids: dict[int, str] = {
        row.no: row.resource_id
        for row in connection.execute(
            sa.select(node.c.no, node.c.resource_id).where(mine, node.c.no.in_(sorted(numbers)))
        )
    }
    given = {row.resource_id: [ids[no] for no in json.loads(row.requirements)] for row in begun}
    before = sa.select(resource.c.id, resource.c.requires).where(resource.c.id.in_(sorted(given)))
    rows = connection.execute(before.order_by(resource.c.id)).all()
    wide = {row.id: json.dumps(both(json.loads(row.requires), given[row.id])) for row in rows}
    changed = [{"row": row.id, "wide": wide[row.id]} for row in rows if wide[row.id] != row.requires]
    if changed:
        mine = resource.c.id == sa.bindparam("row")
        connection.execute(resource.update().where(mine).values(requires=sa.bindparam("wide")), changed)


def both(before: Sequence[str], given: Sequence[str]) -> list[str]:
    """Return the old and the new requirements, each once."""
    return list(dict.fromkeys([*before, *given]))


def requirements_of(direct: Direct, stack_id: str) -> Mapping[str, tuple[str, ...]]:
    """Return the requirements of a stack's rows that are not deleted, by id."""
    rows = direct.rows(_REQUIRED, {"stack_id": stack_id})
    return {row.id: tuple(json.loads(row.requires)) for row in rows}
