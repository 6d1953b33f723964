"""What travels on the queue: small frozen values that pack to msgpack's plain types.

A check carries only what its resource needs, so its size does not depend on how large the stack is. A stack job
may be sent by any Celery client in any language; ``docs/queue.md`` holds its fields, and a test sends one with
bare kombu.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Final, NamedTuple, Self

from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.names import NAME, is_name
from orchestrator.model.tags import TAGS, are_tags, each_once

#: The phases of a node: make or change a resource; clean a row up; do something with a resource as it is; count many
#: nodes as one; end the traversal.
CONVERGE, CLEANUP, OPERATE, JOIN, END = "converge", "cleanup", "operate", "join", "end"
#: The phases in which a worker does something to a resource.
CHECKED_PHASES: Final = (CONVERGE, CLEANUP, OPERATE)

#: The names of the tasks.
CHECK_TASK = "resource.check"
CREATE_TASK = "stack.create"
ADOPT_TASK = "stack.adopt"
UPDATE_TASK = "stack.update"
DELETE_TASK = "stack.delete"
CANCEL_TASK = "stack.cancel"
SIGNAL_TASK = "stack.signal"
CHECK_STACK_TASK = "stack.check"
SUSPEND_TASK = "stack.suspend"
RESUME_TASK = "stack.resume"
SNAPSHOT_TASK = "stack.snapshot"
DELETE_SNAPSHOT_TASK = "stack.delete_snapshot"
RESTORE_TASK = "stack.restore"
FINISH_TASK = "stack.finish"
SWEEP_TASK = "coordinator.sweep"
#: Has a coordinator look after machines.
WATCH_TASK = "node.watch"

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
    """The payload of ``stack.create`` and of ``stack.update``, where the name may also be the stack's id."""

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
    #: Whether a failure brings back what the stack was when it was complete last; of a new stack, nothing is left.
    rollback: bool = False
    #: Of an update: whether every resource is compared with what is really there.
    refresh: bool = False
    #: Words to find the stack by; None where an update leaves them as they are.
    tags: tuple[str, ...] | None = None
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
        return cls(**_stack_fields(data, _CREATE_FIELDS, required=("name", "template"), what="a stack job"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptJob(StackJob):
    """The payload of ``stack.adopt``: a stack whose objects are there already."""

    #: By name, what is there of each resource: ``resource_id``, ``type``, ``metadata``, ``resource_data``.
    resources: Mapping[str, Any]

    @classmethod
    def of(cls, job: StackJob, resources: Mapping[str, Any]) -> Self:
        """Return the job that makes what ``job`` says of what is there already."""
        return cls(**{each.name: getattr(job, each.name) for each in fields(StackJob)}, resources=resources)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types; unknown fields and wrong types are refused.

        Raises:
            InvalidInput: with a problem for each field at fault.
        """
        required = ("name", "template", "resources")
        return cls(**_stack_fields(data, _ADOPT_FIELDS, required=required, what="an adopt job"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedJob:
    """What every job says of a stack that is there."""

    #: What a sentence calls it.
    what: ClassVar[str]
    required: ClassVar[tuple[str, ...]] = ("name",)

    #: Name or id.
    name: str
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
        _refuse_faults(data, _FIELDS[cls.__name__], required=cls.required, what=cls.what)
        return cls(**{key: value for key, value in data.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob(NamedJob):
    """The payload of ``stack.delete``."""

    what: ClassVar[str] = "a delete job"

    #: Whether everything that the stack made is left as it is; only the stack goes.
    abandon: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJob(NamedJob):
    """The payload of ``stack.cancel``."""

    what: ClassVar[str] = "a cancel job"

    #: Whether what the stack was when it was complete last is brought back; else it stays as it is, and is FAILED.
    rollback: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OperateJob:
    """The payload of ``stack.check``, ``stack.suspend`` and ``stack.resume``."""

    #: CHECK, SUSPEND or RESUME: what the task is called says which.
    action: str
    name: str
    project: str = "default"
    job_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, of which :meth:`from_wire` makes the job again."""
        return {"name": self.name, "project": self.project, "job_id": self.job_id}

    @classmethod
    def from_wire(cls, action: str, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types; unknown fields and wrong types are refused.

        Raises:
            InvalidInput: with a problem for each field at fault.
        """
        _refuse_faults(data, _STACK_FIELDS, required=("name",), what=f"a {action.lower()} job")
        return cls(action=action, **{key: value for key, value in data.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalJob(NamedJob):
    """The payload of ``stack.signal``."""

    what: ClassVar[str] = "a signal job"
    required: ClassVar[tuple[str, ...]] = ("name", "resource")

    #: The resource that is signalled.
    resource: str
    #: What it is told.
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotJob(NamedJob):
    """The payload of ``stack.snapshot`` and ``stack.delete_snapshot``."""

    what: ClassVar[str] = "a snapshot job"

    #: What the snapshot is to be called, which may be empty; of one that is there, its name or id.
    snapshot: str = ""

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        wire = asdict(self)
        return wire if self.snapshot else {key: value for key, value in wire.items() if key != "snapshot"}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any], *, is_there: bool = False) -> Self:
        """Rebuild from plain types; unknown fields and wrong types are refused. ``is_there``: it names a snapshot.

        Raises:
            InvalidInput: with a problem for each field at fault.
        """
        job = super(SnapshotJob, cls).from_wire(data)
        if is_there and not job.snapshot:
            raise InvalidInput([Problem(path="snapshot", message=f"expected {NAME}, got nothing")])
        return job


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreJob(NamedJob):
    """The payload of ``stack.restore``."""

    what: ClassVar[str] = "a restore job"
    required: ClassVar[tuple[str, ...]] = ("name", "snapshot")

    #: Name or id.
    snapshot: str
    timeout_minutes: float | None = None
    #: Whether a failure brings back what the stack was when it was complete last.
    rollback: bool = False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value))


def _is_map_of_text(value: Any) -> bool:
    return _is_map(value) and all(map(_is_text, value.values()))


def _are_environments(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(
        _is_map_of_text(entry) and set(entry) == {"file", "source"} for entry in value
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


class _Shape(NamedTuple):
    """What a field must be: in words, and how to tell."""

    words: str
    fits: Callable[[Any], bool]


_TEXT = _Shape("text", _is_text)
_NAME = _Shape(NAME, is_name)
#: The name of a stack that is there may also be its id.
_STACK_FIELDS: Final = {"name": _NAME, "project": _NAME, "job_id": _NAME}
_DELETE_FIELDS: Final = {**_STACK_FIELDS, "abandon": _Shape("true or false", _is_boolean)}
_SIGNAL_FIELDS: Final = {
    **_STACK_FIELDS,
    "resource": _TEXT,
    "details": _Shape("a map whose keys are text", _is_map),
}
_CANCEL_FIELDS: Final = {**_STACK_FIELDS, "rollback": _Shape("true or false", _is_boolean)}
_SNAPSHOT_FIELDS: Final = {**_STACK_FIELDS, "snapshot": _NAME}
_RESTORE_FIELDS: Final = {
    **_SNAPSHOT_FIELDS,
    "timeout_minutes": _Shape("a number of minutes", _is_number),
    "rollback": _Shape("true or false", _is_boolean),
}
_CREATE_FIELDS: Final = {
    **_STACK_FIELDS,
    # What a new stack may be called is told with the rest of its problems.
    "name": _TEXT,
    "template": _TEXT,
    "template_file": _TEXT,
    "files": _Shape("a map of text to text", _is_map_of_text),
    "environments": _Shape("a list of maps with 'file' and 'source', both text", _are_environments),
    "parameters": _Shape("a map whose keys are text", _is_map),
    "timeout_minutes": _Shape("a number of minutes", _is_number),
    "rollback": _Shape("true or false", _is_boolean),
    "refresh": _Shape("true or false", _is_boolean),
    "tags": _Shape(TAGS, are_tags),
}
_ADOPT_FIELDS: Final = {**_CREATE_FIELDS, "resources": _Shape("a map whose keys are text", _is_map)}
#: Of the jobs on a stack that is there, by what they are called here.
_FIELDS: Final = {
    "DeleteJob": _DELETE_FIELDS,
    "CancelJob": _CANCEL_FIELDS,
    "SignalJob": _SIGNAL_FIELDS,
    "SnapshotJob": _SNAPSHOT_FIELDS,
    "RestoreJob": _RESTORE_FIELDS,
}


def _stack_fields(
    data: Any, fields: Mapping[str, _Shape], *, required: Sequence[str], what: str
) -> dict[str, Any]:
    """Return the fields of a job that says what a stack is to be."""
    _refuse_faults(data, fields, required=required, what=what)
    environments = tuple(EnvironmentSource(**entry) for entry in data.get("environments") or ())
    given = {key: value for key, value in data.items() if value is not None}
    tags = {"tags": each_once(given["tags"])} if "tags" in given else {}
    return {**given, **tags, "environments": environments}


def _refuse_faults(data: Any, fields: Mapping[str, _Shape], *, required: Sequence[str], what: str) -> None:
    """Refuse what is no map of these fields; one that is null counts as not given."""
    if not isinstance(data, Mapping):
        raise InvalidInput([Problem(message=f"expected {what}, a map, got {type(data).__name__}")])
    hint = f"fields: {', '.join(sorted(fields))}"
    problems = [
        Problem(path=str(key), message=f"is no field of {what}", hint=hint)
        for key in data
        if key not in fields
    ]
    for name, shape in fields.items():
        value = data.get(name)
        if (value is not None or name in required) and not shape.fits(value):
            found = "another text" if shape is _NAME and _is_text(value) else type(value).__name__
            found = "nothing" if value is None else found
            problems.append(Problem(path=name, message=f"expected {shape.words}, got {found}"))
    if problems:
        raise InvalidInput(problems)
