"""What can be asked of a coordinator: for each task, how its job is read, and who begins what it says."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from orchestrator.engine.coordinator import Coordinator
from orchestrator.model.actions import CHECK, RESUME, SUSPEND
from orchestrator.model.messages import (
    ADOPT_TASK,
    CANCEL_TASK,
    CHECK_STACK_TASK,
    CREATE_TASK,
    DELETE_SNAPSHOT_TASK,
    DELETE_TASK,
    RESTORE_TASK,
    RESUME_TASK,
    SIGNAL_TASK,
    SNAPSHOT_TASK,
    SUSPEND_TASK,
    UPDATE_TASK,
    AdoptJob,
    CancelJob,
    DeleteJob,
    OperateJob,
    RestoreJob,
    SignalJob,
    SnapshotJob,
    StackJob,
)


class Job(Protocol):
    """What every job is: something with an id that can travel."""

    @property
    def job_id(self) -> str:
        """Makes the job one and the same however often it is delivered."""

    def to_wire(self) -> dict[str, Any]:
        """Return plain types."""


class JobKind(NamedTuple):
    """One kind of job."""

    #: Makes a job of plain types, or refuses them as invalid input.
    read: Callable[[Mapping[str, Any]], Job]
    #: Begins what a job of this kind says, and returns the id of its stack.
    begin: Callable[[Coordinator, Any], str]


#: By the name of the task that carries a job.
KINDS: Final[Mapping[str, JobKind]] = {
    CREATE_TASK: JobKind(StackJob.from_wire, Coordinator.create),
    ADOPT_TASK: JobKind(AdoptJob.from_wire, Coordinator.adopt),
    UPDATE_TASK: JobKind(StackJob.from_wire, Coordinator.update),
    CANCEL_TASK: JobKind(CancelJob.from_wire, Coordinator.cancel),
    SIGNAL_TASK: JobKind(SignalJob.from_wire, Coordinator.signal),
    DELETE_TASK: JobKind(DeleteJob.from_wire, Coordinator.delete),
    CHECK_STACK_TASK: JobKind(partial(OperateJob.from_wire, CHECK), Coordinator.operate),
    SUSPEND_TASK: JobKind(partial(OperateJob.from_wire, SUSPEND), Coordinator.operate),
    RESUME_TASK: JobKind(partial(OperateJob.from_wire, RESUME), Coordinator.operate),
    SNAPSHOT_TASK: JobKind(SnapshotJob.from_wire, Coordinator.snapshot),
    DELETE_SNAPSHOT_TASK: JobKind(partial(SnapshotJob.from_wire, is_there=True), Coordinator.delete_snapshot),
    RESTORE_TASK: JobKind(RestoreJob.from_wire, Coordinator.restore),
}
