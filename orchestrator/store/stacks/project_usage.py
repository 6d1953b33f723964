"""What a project uses of its limits, and the refusal of an operation that would exceed one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from orchestrator.model.project_limits import RESOURCES, STACKS, ProjectLimits, refuse_beyond
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database

#: The first key of the locks of projects, so that they are no other locks.
_LOCK: Final = 0x150


def lock_project(connection: sa.Connection, database: Database, project: str) -> None:
    """Let no other transaction that counts what this project uses go on until this one ends; taken before other locks.

    SQLite has one writer anyway.
    """
    if database.postgres:
        lock = sa.text(f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext(:project))")
        connection.execute(lock, {"project": project})


def stacks_used(
    connection: sa.Connection, project: str, names: Collection[str] = (STACKS, RESOURCES)
) -> Mapping[str, int]:
    """Count the stacks and the resources of a project, or one of them; resources are many more."""
    stack, resource = tables.stack, tables.resource
    ours = (stack.c.project == project) & stack.c.deleted_at.is_(None)
    stacks = sa.select(sa.func.count()).select_from(stack).where(ours, stack.c.parent_id.is_(None))
    resources = (
        sa.select(sa.func.count())
        .select_from(stack)
        .join(resource, resource.c.stack_id == stack.c.id)
        .where(ours, ~tables.is_gone())
    )
    counts = {STACKS: stacks, RESOURCES: resources}
    row = connection.execute(sa.select(*(counts[name].scalar_subquery() for name in names))).one()
    return dict(zip(names, row, strict=True))


def software_used(connection: sa.Connection, project: str) -> int:
    """Count the software configs and deployments of a project; those of stacks count as resources already."""
    counts = [
        sa.select(sa.func.count())
        .where(table.c.project == project, table.c.resource_id.is_(None))
        .scalar_subquery()
        for table in (tables.software_config, tables.software_deployment)
    ]
    row = connection.execute(sa.select(*counts)).one()
    return int(row[0] + row[1])


def refuse_too_much(
    connection: sa.Connection, project: str, limits: ProjectLimits, added: Mapping[str, int]
) -> None:
    """Refuse to add stacks or resources beyond the limits; what adds none is never refused.

    Raises:
        Conflict: there would be too many.
    """
    wanted = {name: count for name, count in added.items() if count and limits.get(name) is not None}
    if wanted:
        used = stacks_used(connection, project, wanted)
        for name, count in wanted.items():
            refuse_beyond(limits, name, project, used=used[name], wanted=count)
