"""Messages on the queue: small frozen values that pack to msgpack's plain types.

The order for a check carries only the data of its resource, so its size does not depend on that of the stack. A stack
job may be sent by any Celery client in any language; ``docs/queue.md`` lists its fields, and a test sends one with bare
kombu.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, field, fields
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, get_type_hints

from hooks.values.dataclass import dataclass
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.actions import CHECK, RESUME, SUSPEND
from orchestrator.model.breakpoints import UNSET_HOOK
from orchestrator.model.comments import COMMENT, is_comment
from orchestrator.model.names import NAME, is_name
from orchestrator.model.tags import TAGS, are_tags, each_once

#: The phases of a node: make or change a resource; clean a row up; operate on a resource as it is; count many nodes as
#: one; end the traversal.
CONVERGE, CLEANUP, OPERATE, JOIN, END = "converge", "cleanup", "operate", "join", "end"
#: The phase of an order that names no node: a worker observes the stack whose id is the key, under the attempt ``no``.
#: Such orders have neither stack nor traversal, so that those of several stacks fit into one message.
OBSERVE = "observe"
#: The phases in which a worker checks a resource.
CHECKED_PHASES: Final = (CONVERGE, CLEANUP, OPERATE)

#: The names of the tasks that carry no job; a job's class has that of its own.
CHECK_TASK = "resource.check"
FINISH_TASK = "stack.finish"
SWEEP_TASK = "coordinator.sweep"
#: The task that begins the next of the jobs that wait.
BEGIN_TASK = "coordinator.begin"
#: The task that watches machines.
WATCH_TASK = "node.watch"
#: The task of a change of a machine, on the machine's own queue.
NODE_TASK = "node.call"

#: The names of the queues.
STACKS_QUEUE, CHECKS_QUEUE, COORDINATOR_QUEUE = "stacks", "checks", "coordinator"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOrder:
    """The order to take the node ``no`` of a traversal one step further."""

    stack_id: str
    traversal_id: str
    #: The node's number within its traversal.
    no: int
    #: The resource's name.
    key: str
    phase: str = CONVERGE
    #: The stack's name and the resource's action, for operators who watch the queue.
    stack: str = ""
    action: str = ""
    #: The node data of the direct requirements, as they are packed in the store (encrypted if a key is configured).
    #: None if they are too many or too large for a message; the check then reads them from the store.
    node_data: tuple[bytes, ...] | None = None
    #: Whether it travels in a message of its own; not a part of the message.
    alone: bool = False

    @property
    def task(self) -> str:
        """The name of the task that carries it."""
        return FINISH_TASK if self.phase == END else CHECK_TASK

    def to_wire(self) -> list[Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        plain = [getattr(self, name) for name in _PLAIN]
        return [*plain, None if self.node_data is None else list(self.node_data)]

    @classmethod
    def from_wire(cls, data: list[Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            InvalidInput: the list has another shape.
        """
        try:
            *plain, node_data = data
            values = dict(zip(_PLAIN, plain, strict=True))
        except (TypeError, ValueError) as error:
            problem = Problem(message=f"a check message of an unknown shape: {error}")
            raise InvalidInput([problem]) from error
        return cls(**values, node_data=None if node_data is None else tuple(node_data))


#: The fields of an order on the wire, before its node data.
_PLAIN: Final = ("stack_id", "traversal_id", "no", "key", "phase", "stack", "action")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSource:
    """One environment file: its name, for errors, and its text."""

    file: str
    source: str


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


def _are_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class _Shape(NamedTuple):
    words: str
    fits: Callable[[Any], bool]


#: The shapes of the fields of jobs that come over the queue.
_Text = Annotated[str, _Shape("text", _is_text)]
_Name = Annotated[str, _Shape(NAME, is_name)]
_Comment = Annotated[str, _Shape(COMMENT, is_comment)]
_Flag = Annotated[bool, _Shape("true or false", lambda value: isinstance(value, bool))]
_Minutes = Annotated[float | None, _Shape("a number of minutes", _is_number)]
_Map = Annotated[Mapping[str, Any], _Shape("a map whose keys are text", _is_map)]
_MapOfText = Annotated[Mapping[str, str], _Shape("a map of text to text", _is_map_of_text)]
_Texts = Annotated[tuple[str, ...], _Shape("a list of texts", _are_texts)]
_Tags = Annotated[tuple[str, ...] | None, _Shape(TAGS, are_tags)]
_Environments = Annotated[
    tuple[EnvironmentSource, ...],
    _Shape("a list of maps with 'file' and 'source', both text", _are_environments),
]

#: The fields of jobs that do not travel while they are empty.
_NOT_ALWAYS: Final = frozenset(
    {"user", "comment", "credential", "plan", "unprotect", "force", "targets", "replaces"}
)
#: Every kind of job, by the name of the task that carries it.
JOBS: Final[dict[str, type["Job"]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A request to a coordinator. A subclass with a ``task`` is a kind of job, and declares all of it."""

    #: The names of the task that carries it, and of the queue that this travels on.
    task: ClassVar[str]
    queue: ClassVar[str] = STACKS_QUEUE
    #: The coordinator's method that begins it.
    method: ClassVar[str]
    #: The name of the job in sentences.
    what: ClassVar[str]

    #: The stack's; of one that is there, it may also be its id.
    name: _Name
    project: _Name = "default"
    #: Identifies the job, which is carried out once however often it is delivered.
    job_id: _Name = field(default_factory=lambda: str(uuid.uuid4()))
    #: For whom a face of the installation sends it; means nothing in a job that is signed with a user's key.
    user: _Name = ""
    #: Why the sender wants it, for the history and the audit log.
    comment: _Comment = ""

    def __init_subclass__(cls) -> None:
        # A class with slots is made twice: the second, which is used, takes the first's place.
        if "task" in vars(cls):
            JOBS[cls.task] = cls

    @property
    def operation(self) -> str:
        """The operation whose role its sender needs, one of :data:`orchestrator.model.policy.OPERATIONS`."""
        return self.task

    @property
    def operations(self) -> tuple[str, ...]:
        """All operations whose roles its sender needs: to override protection is one besides that of the job."""
        also = ("stack.unprotect",) if getattr(self, "unprotect", False) else ()
        return (self.operation, *also)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return {key: value for key, value in asdict(self).items() if value or key not in _NOT_ALWAYS}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types; unknown fields and wrong types are refused.

        Raises:
            InvalidInput: with a problem for each field at fault.
        """
        _refuse_faults(cls, data)
        return cls(**cls._of_plain({key: value for key, value in data.items() if value is not None}))

    @classmethod
    def _of_plain(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values of the fields given, of plain types that fit them."""
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class StackJob(Job):
    """The payload of ``stack.create``: the definition of a stack."""

    task: ClassVar[str] = "stack.create"
    method: ClassVar[str] = "create"
    what: ClassVar[str] = "a stack job"

    #: The name of a new stack is validated with its template.
    name: _Text
    #: The template's text.
    template: _Text
    #: The template's name, for errors.
    template_file: _Text = "template"
    #: The contents of ``get_file``, by the keys that the template uses.
    files: _MapOfText = field(default_factory=dict)
    #: In order; later ones win.
    environments: _Environments = ()
    parameters: _Map = field(default_factory=dict)
    timeout_minutes: _Minutes = None
    #: Whether a failure rolls the stack back to its last complete definition; a new stack is deleted.
    rollback: _Flag = False
    #: For an update: whether every resource is compared with the real object.
    refresh: _Flag = False
    #: For an update: whether it may delete and replace what is protected.
    unprotect: _Flag = False
    #: For an update: the resources that it visits, with all that they require; empty for all there are.
    targets: _Texts = ()
    #: For an update: the resources that get another object, whatever they look like.
    replaces: _Texts = ()
    #: The stack's tags; None leaves them as they are.
    tags: _Tags = None
    #: The id of the credential that was delegated to the stack for this operation; empty for none, or the present one.
    credential: _Text = ""
    #: The seal of the saved plan that it applies, in base64; empty for none.
    plan: _Text = ""

    @property
    def is_partial(self) -> bool:
        """Whether it names resources: those alone that it visits, or those that it replaces."""
        return bool(self.targets or self.replaces)

    @classmethod
    def of(cls, job: "StackJob", **more: Any) -> Self:
        """Return the job of this kind with the fields of ``job``, and ``more``."""
        return cls(**{each.name: getattr(job, each.name) for each in fields(StackJob)}, **more)

    @classmethod
    def _of_plain(cls, given: dict[str, Any]) -> dict[str, Any]:
        environments = tuple(EnvironmentSource(**entry) for entry in given.get("environments", ()))
        names = [name for name in ("tags", "targets", "replaces") if name in given]
        lists = {name: each_once(given[name]) for name in names}
        return given | lists | {"environments": environments}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateJob(StackJob):
    """The payload of ``stack.update``, where the name may also be the stack's id."""

    task: ClassVar[str] = "stack.update"
    method: ClassVar[str] = "update"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptJob(StackJob):
    """The payload of ``stack.adopt``: a stack whose objects exist already."""

    task: ClassVar[str] = "stack.adopt"
    method: ClassVar[str] = "adopt"
    what: ClassVar[str] = "an adopt job"

    #: The object of each resource, by name: ``resource_id``, ``type``, ``metadata``, ``resource_data``.
    resources: _Map


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportJob(StackJob):
    """The payload of ``stack.import``: a stack that exists, with its definition, and the objects that it takes in."""

    task: ClassVar[str] = "stack.import"
    method: ClassVar[str] = "import_objects"
    what: ClassVar[str] = "an import job"

    #: As in an adopt job, for the resources that are imported.
    resources: _Map


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob(Job):
    """The payload of ``stack.delete``."""

    task: ClassVar[str] = "stack.delete"
    method: ClassVar[str] = "delete"
    what: ClassVar[str] = "a delete job"

    #: Whether the objects that the stack made are kept; only the stack is deleted.
    abandon: _Flag = False
    #: Whether it may delete what is protected.
    unprotect: _Flag = False
    #: Whether the stack is deleted although other stacks read its outputs.
    force: _Flag = False
    #: The seal of the saved plan that it applies, in base64; empty for none.
    plan: _Text = ""

    @property
    def operation(self) -> str:
        """As of every job; abandoning has one of its own."""
        return "stack.abandon" if self.abandon else self.task


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJob(Job):
    """The payload of ``stack.cancel``."""

    task: ClassVar[str] = "stack.cancel"
    method: ClassVar[str] = "cancel"
    what: ClassVar[str] = "a cancel job"

    #: Whether the stack is rolled back to its last complete definition; otherwise it stays as it is, and is FAILED.
    rollback: _Flag = True
    #: Whether the rollback may delete and replace what is protected.
    unprotect: _Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperateJob(Job):
    """An operation on a stack as it is: check, suspend or resume."""

    method: ClassVar[str] = "operate"
    #: CHECK, SUSPEND or RESUME.
    action: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckJob(OperateJob):
    """The payload of ``stack.check``."""

    task: ClassVar[str] = "stack.check"
    what: ClassVar[str] = "a check job"
    action: ClassVar[str] = CHECK


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendJob(OperateJob):
    """The payload of ``stack.suspend``."""

    task: ClassVar[str] = "stack.suspend"
    what: ClassVar[str] = "a suspend job"
    action: ClassVar[str] = SUSPEND


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeJob(OperateJob):
    """The payload of ``stack.resume``."""

    task: ClassVar[str] = "stack.resume"
    what: ClassVar[str] = "a resume job"
    action: ClassVar[str] = RESUME


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectDriftJob(Job):
    """The payload of ``stack.detect_drift``: a stack is observed at once, whatever its policy."""

    task: ClassVar[str] = "stack.detect_drift"
    method: ClassVar[str] = "detect_drift"
    what: ClassVar[str] = "a drift job"


#: The jobs that operate on a stack as it is, by action.
OPERATE_JOBS: Final = {job.action: job for job in JOBS.values() if issubclass(job, OperateJob)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalJob(Job):
    """The payload of ``stack.signal``."""

    task: ClassVar[str] = "stack.signal"
    method: ClassVar[str] = "signal"
    what: ClassVar[str] = "a signal job"

    #: The resource that is signalled.
    resource: _Text
    #: The data of the signal.
    details: _Map = field(default_factory=dict)

    @property
    def operation(self) -> str:
        """As of every job; clearing a breakpoint has one of its own."""
        return "stack.clear_hook" if UNSET_HOOK in self.details else self.task


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotJob(Job):
    """The payload of ``stack.snapshot``."""

    task: ClassVar[str] = "stack.snapshot"
    method: ClassVar[str] = "snapshot"
    what: ClassVar[str] = "a snapshot job"

    #: The name of the new snapshot; may be empty.
    snapshot: _Name = ""

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        wire = Job.to_wire(self)
        return wire if self.snapshot else {key: value for key, value in wire.items() if key != "snapshot"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSnapshotJob(Job):
    """The payload of ``stack.delete_snapshot``."""

    task: ClassVar[str] = "stack.delete_snapshot"
    method: ClassVar[str] = "delete_snapshot"
    what: ClassVar[str] = "a snapshot job"

    #: Name or id.
    snapshot: _Name


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreJob(Job):
    """The payload of ``stack.restore``."""

    task: ClassVar[str] = "stack.restore"
    method: ClassVar[str] = "restore"
    what: ClassVar[str] = "a restore job"

    #: Name or id.
    snapshot: _Name
    timeout_minutes: _Minutes = None
    #: Whether a failure rolls the stack back to its last complete definition.
    rollback: _Flag = False
    #: Whether it may delete and replace what is protected.
    unprotect: _Flag = False


def _refuse_faults(kind: type[Job], data: Any) -> None:
    """Refuse what is no map of a job's fields; one that is null counts as not given."""
    if not isinstance(data, Mapping):
        raise InvalidInput([Problem(message=f"expected {kind.what}, a map, got {type(data).__name__}")])
    shapes = _shapes(kind)
    hint = f"fields: {', '.join(sorted(shapes))}"
    problems = [
        Problem(path=str(key), message=f"is no field of {kind.what}", hint=hint)
        for key in data
        if key not in shapes
    ]
    required = {each.name for each in fields(kind) if each.default is each.default_factory is MISSING}
    for name, shape in shapes.items():
        value = data.get(name)
        if (value is not None or name in required) and not shape.fits(value):
            found = "another text" if shape.fits is is_name and _is_text(value) else type(value).__name__
            found = "nothing" if value is None else found
            problems.append(Problem(path=name, message=f"expected {shape.words}, got {found}"))
    if problems:
        raise InvalidInput(problems)


def _shapes(kind: type[Job]) -> dict[str, _Shape]:
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name].__metadata__[0] for each in fields(kind)}
