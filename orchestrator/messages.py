"""What travels on the queue: small frozen values that pack to msgpack's plain types.

A check carries only what its resource needs, so its size does not depend on how large the stack is. A stack job
may be sent by any Celery client in any language; ``docs/queue.md`` holds its fields, and a test sends one with
bare kombu.
"""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from orchestrator.errors import InvalidInput, Problem

#: The phases of a node: make or change a resource; clean a row up; count many nodes as one; end the traversal.
CONVERGE, CLEANUP, JOIN, END = "converge", "cleanup", "join", "end"

#: The names of the tasks.
CHECK_TASK = "resource.check"
CREATE_TASK = "stack.create"
DELETE_TASK = "stack.delete"
FINISH_TASK = "stack.finish"
SWEEP_TASK = "coordinator.sweep"

#: The names of the queues.
STACKS_QUEUE, CHECKS_QUEUE, COORDINATOR_QUEUE = "stacks", "checks", "coordinator"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOrder:
    """Take the node ``no`` of a traversal one step further."""

    stack_id: str
    traversal_id: str
    #: The node's number within its traversal.
    no: int
    #: The resource's name.
    key: str
    phase: str = CONVERGE
    #: The stack's name and the resource's action, for people who watch the queue.
    stack: str = ""
    action: str = ""
    #: The node data of the direct requirements, each as it is packed in the store (encrypted where a key is
    #: configured). None where they are too many for a message: the check then reads them from the store.
    node_data: tuple[bytes, ...] | None = None

    def to_wire(self) -> list[Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return [
            self.stack_id,
            self.traversal_id,
            self.no,
            self.key,
            self.phase,
            self.stack,
            self.action,
            None if self.node_data is None else list(self.node_data),
        ]

    @classmethod
    def from_wire(cls, data: list[Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            InvalidInput: the list has another shape.
        """
        try:
            stack_id, traversal_id, no, key, phase, stack, action, node_data = data
        except (TypeError, ValueError) as error:
            problem = Problem(message=f"a check message of an unknown shape: {error}")
            raise InvalidInput([problem]) from error
        return cls(
            stack_id=stack_id,
            traversal_id=traversal_id,
            no=no,
            key=key,
            phase=phase,
            stack=stack,
            action=action,
            node_data=None if node_data is None else tuple(node_data),
        )

    def summary(self) -> str:
        """Return a literal that names stack, resource and action, for Flower; it never shows a value."""
        return repr({"stack": self.stack, "resource": self.key, "op": self.action or self.phase})


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSource:
    """One environment file: its name, for errors, and its text."""

    file: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StackJob:
    """The payload of ``stack.create``."""

    name: str
    #: The template's text.
    template: str
    #: The template's name, for errors.
    template_file: str = "template"
    #: What ``get_file`` reads, under the keys the template uses.
    files: Mapping[str, str] = field(default_factory=dict)
    #: In order; later ones win.
    environments: tuple[EnvironmentSource, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_minutes: float | None = None
    project: str = "default"
    #: Makes the job one and the same however often it is delivered.
    job_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types; unknown fields and wrong types are refused.

        Raises:
            InvalidInput: with a problem for each field at fault.
        """
        known = set(cls.__dataclass_fields__)
        problems = [
            Problem(
                path=str(key),
                message="is no field of a stack job",
                hint=f"fields: {', '.join(sorted(known))}",
            )
            for key in data
            if key not in known
        ]
        problems += [
            Problem(path=name, message=f"expected text, got {type(data.get(name)).__name__}")
            for name in ("name", "template")
            if not isinstance(data.get(name), str)
        ]
        if problems:
            raise InvalidInput(problems)
        try:
            environments = tuple(EnvironmentSource(**entry) for entry in data.get("environments") or ())
        except TypeError as error:
            problem = Problem(path="environments", message="expected a list of maps with 'file' and 'source'")
            raise InvalidInput([problem]) from error
        given = {key: value for key, value in data.items() if value is not None}
        return cls(**{**given, "environments": environments})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob:
    """The payload of ``stack.delete``."""

    name: str
    project: str = "default"
    job_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            InvalidInput: a field is missing or unknown.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise InvalidInput([Problem(message=f"not a delete job: {error}")]) from error
