"""What a project uses of its limits, and the refusal of an operation that would exceed one."""

from collections.abc import Collection, Mapping
from typing import Final

from orchestrator.model.project_limits import RESOURCES, STACKS, ProjectLimits, limited, refuse_beyond
from orchestrator.store.direct import Direct, Transaction

#: The first key of the locks of projects, so that they are no other locks.
_LOCK: Final = 0x150
#: What counts the rows of a project.
_COUNTS: Final = {
    STACKS: """
        SELECT COUNT(*) AS used FROM stack
        WHERE project = :project AND deleted_at IS NULL AND parent_id IS NULL""",
    RESOURCES: """
        SELECT COUNT(*) AS used FROM stack s JOIN resource r ON r.stack_id = s.id
        WHERE s.project = :project AND s.deleted_at IS NULL
            AND NOT (r.action = 'DELETE' AND r.status = 'COMPLETE')""",
}
_SOFTWARE: Final = """
    SELECT (SELECT COUNT(*) FROM software_config WHERE project = :project AND resource_id IS NULL)
        + (SELECT COUNT(*) FROM software_deployment WHERE project = :project AND resource_id IS NULL) AS used"""


def lock_project(transaction: Transaction, project: str) -> None:
    """Let no other transaction that counts what this project uses go on until this one ends; taken before other locks.

    SQLite has one writer anyway.
    """
    direct = Direct.of(transaction)
    if direct.is_postgres:
        direct.rows(f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext(:project))", {"project": project})


def stacks_used(
    transaction: Transaction, project: str, names: Collection[str] = (STACKS, RESOURCES)
) -> Mapping[str, int]:
    """Count the stacks and the resources of a project, or one of them; resources are many more."""
    direct = Direct.of(transaction)
    return {name: direct.one(_COUNTS[name], {"project": project}).used for name in names}


def software_used(transaction: Transaction, project: str) -> int:
    """Count the software configs and deployments of a project; those of stacks count as resources already."""
    used: int = Direct.of(transaction).one(_SOFTWARE, {"project": project}).used
    return used


def refuse_too_much(
    transaction: Transaction, project: str, limits: ProjectLimits, added: Mapping[str, int]
) -> None:
    """Refuse to add stacks or resources beyond the limits; what adds none is never refused.

    Raises:
        Conflict: there would be too many.
    """
    if wanted := limited(limits, added):
        used = stacks_used(transaction, project, wanted)
        for name, count in wanted.items():
            refuse_beyond(limits, name, project, used=used[name], wanted=count)
