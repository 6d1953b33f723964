"""Policy: which role each operation needs. The one table that all faces use.

A job's operation has the name of its task. Operations on the installation need their role in all projects.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Self

from hooks.values.dataclass import dataclass
from hooks.values.nearest import nearest
from orchestrator.errors import InvalidInput, NotAllowed, Problem
from orchestrator.model.identity import ADMINISTRATOR, EVERY_PROJECT, OPERATOR, READER, ROLES, Identity


@dataclass(frozen=True, slots=True)
class Operation:
    """What a caller may be allowed to do."""

    what: str
    #: The least role, unless a policy file has another.
    role: str
    #: Whether it is about the installation, and not about one project.
    is_of_installation: bool = False
    #: Whether a command that does it is on record; jobs and actions on stacks are recorded where they are taken.
    is_recorded: bool = False


def _of_installation(what: str) -> Operation:
    return Operation(what, ADMINISTRATOR, is_of_installation=True)


def _change(what: str) -> Operation:
    return Operation(what, ADMINISTRATOR, is_of_installation=True, is_recorded=True)


#: The operation that takes protection off; an order that overrides it once needs its role, too.
UNPROTECT: Final = "stack.unprotect"
OPERATIONS: Final[Mapping[str, Operation]] = {
    "stack.read": Operation("See stacks, resources, events, operations, outputs and definitions.", READER),
    "stack.preview": Operation("Have a definition validated and compared, without a change.", READER),
    "stack.export": Operation("See a stack's definition with its secrets.", OPERATOR),
    "stack.create": Operation("Create a stack.", OPERATOR),
    "stack.adopt": Operation("Make a stack of objects that exist.", OPERATOR),
    "stack.import": Operation("Take objects that exist into a stack.", OPERATOR),
    "stack.update": Operation("Update a stack.", OPERATOR),
    "stack.delete": Operation("Delete a stack.", OPERATOR),
    "stack.abandon": Operation("Delete a stack, and keep its objects.", OPERATOR),
    "stack.cancel": Operation("Cancel an operation.", OPERATOR),
    "stack.check": Operation("Compare a stack with its objects.", OPERATOR),
    "stack.detect_drift": Operation("Observe a stack's objects, and record their drift.", OPERATOR),
    "stack.observe": Operation("Set when a stack is observed, and whether drift is repaired.", OPERATOR),
    "stack.suspend": Operation("Suspend a stack.", OPERATOR),
    "stack.resume": Operation("Resume a stack.", OPERATOR),
    "stack.signal": Operation("Signal a resource.", OPERATOR),
    "stack.snapshot": Operation("Take a snapshot.", OPERATOR),
    "stack.delete_snapshot": Operation("Delete a snapshot.", OPERATOR),
    "stack.restore": Operation("Restore a stack to a snapshot.", OPERATOR),
    "stack.clear_hook": Operation("Clear a hook.", OPERATOR),
    "stack.mark_unhealthy": Operation("Mark a resource unhealthy, or healthy.", OPERATOR),
    "stack.protect": Operation("Protect a stack, or resources of it.", OPERATOR),
    UNPROTECT: Operation("Take protection off, or override it in an order.", OPERATOR),
    "stack.share": Operation("Share outputs of a stack with another project.", OPERATOR),
    "stack.unshare": Operation("Share outputs of a stack no more.", OPERATOR),
    "software.list": Operation("List software configs, without their contents.", READER),
    "software.read": Operation("See what is in software configs and deployments.", OPERATOR),
    "software.create": Operation("Create a software config or deployment.", OPERATOR),
    "software.update": Operation("Change a software deployment.", OPERATOR),
    "software.delete": Operation("Delete a software config or deployment.", OPERATOR),
    "project.usage": Operation("See what the project uses of its limits.", READER),
    "project.read": _of_installation("See the limits and the usage of all projects."),
    "project.change": _change("Set limits of projects."),
    "fleet.read": Operation(
        "See the pages of nodes, caches and workers: a project's own, and amounts.", READER
    ),
    "flower.read": Operation("See Flower's own pages, API and metrics.", READER),
    "flower.control": _change("Control workers and tasks by Flower's API, logged in by a token."),
    "flower.send": _change("Send any task by Flower's API."),
    "node.read": _of_installation("See nodes and what is on them, of all projects."),
    "node.change": _change("Drain, forget and flush nodes."),
    "cache.read": _of_installation("See the constraint caches."),
    "cache.change": _change("Flush constraint caches, and reset their counters."),
    "sink.read": _of_installation("See the positions of event sinks."),
    "sink.change": _change("Forget an event sink."),
    "queue.read": _of_installation("See refused messages."),
    "queue.purge": _change("Remove refused messages."),
    "database.read": _of_installation("See the schema's revision."),
    "database.upgrade": _change("Change the schema."),
    "database.purge": _change("Remove old history."),
    "key.read": _of_installation("List keys."),
    "key.change": _change("Create, rotate, remove and export keys."),
    "token.read": _of_installation("List tokens."),
    "token.change": _change("Create and revoke tokens."),
    "audit.read": _of_installation("List and verify the audit log."),
    "process.run": _of_installation("Run a process of the installation."),
    "process.check": _of_installation("Diagnose the installation."),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """The least role of every operation."""

    #: Those that are others than in :data:`OPERATIONS`.
    overrides: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Any, *, file: str) -> Self:
        """Return the policy in a file's data: a map of operation and role.

        Raises:
            InvalidInput: it is none, with a problem for each unknown operation and role.
        """
        data = {} if data is None else data
        if not isinstance(data, dict):
            found = type(data).__name__
            raise InvalidInput(
                [Problem(path=file, message=f"expected a map of operation and role, found a {found}")]
            )
        problems = []
        for operation, role in data.items():
            for value, known, kind in ((operation, OPERATIONS, "operation"), (role, ROLES, "role")):
                if value not in known:
                    message = f"{value!r} is no {kind}"
                    problems.append(
                        Problem(path=f"{file}: {operation}", message=message, hint=nearest(str(value), known))
                    )
        if problems:
            raise InvalidInput(problems)
        return cls(data)

    def role_of(self, operation: str) -> str:
        """Return the least role of an operation."""
        return self.overrides.get(operation) or OPERATIONS[operation].role

    def allows(self, identity: Identity, operation: str, project: str) -> bool:
        """Return whether an identity may carry an operation out in a project."""
        return identity.has(self.role_of(operation), self._scope(operation, project))

    def require(self, identity: Identity, operation: str, project: str) -> None:
        """Require that an identity may carry an operation out in a project.

        Raises:
            NotAllowed: it may not; the sentence says which role is needed for which project.
        """
        if self.allows(identity, operation, project):
            return
        scope = self._scope(operation, project)
        where = "all projects ('*')" if scope == EVERY_PROJECT else f"the project {project!r}"
        own = identity.role_in(scope)
        raise NotAllowed(
            f"{operation} needs the role {self.role_of(operation)} in {where}; "
            f"{identity.user or 'the caller'} has {f'the role {own}' if own else 'no role'} there"
        )

    @staticmethod
    def _scope(operation: str, project: str) -> str:
        return EVERY_PROJECT if OPERATIONS[operation].is_of_installation else project
