"""Snapshots of a stack: take one, bring one back, let one go.

A snapshot is the stack's definition, and of each resource what its type left behind. Taking it and bringing it back are
traversals; letting it go is not, and leaves the stack alone.
"""

import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.engine.stack_actions import Begin, operation, refuse_busy, refuse_suspended, takes_part
from orchestrator.errors import Conflict, cut
from orchestrator.model.actions import SNAPSHOT
from orchestrator.model.messages import SnapshotJob
from orchestrator.model.plan import DesiredResource
from orchestrator.planning.comparison import refuse_nested
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource, ResourceFailure, ResourceState
from orchestrator.plugins.stack_resource import INSIDE
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.stacks.snapshots import Entry, NewSnapshot, SnapshotRow
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.template_resource import kind_of_type

log = structlog.get_logger()

#: How long a reason may be.
_LONGEST = 1000


def take_snapshot(
    store: Store, job: SnapshotJob, settings: Settings, begin: Begin, *, inner_id: str | None = None
) -> str:
    """Begin to take a snapshot of a stack; return the stack's id. The same job again begins nothing.

    It holds what the definition wants. What is left over and could not be taken away yet is passed by, whatever became
    of it: several rows may have one name then, and the stack is in service all the same.

    Of a stack in a stack, it is a part of the snapshot of that, whose resource says so with the id that it is to have.

    Raises:
        NotFound: there is no such stack.
        Conflict: the stack is busy, suspended or not what its definition says, has too many snapshots or one of this
            name; or a lifecycle plugin refused.
    """
    if done := store.stacks.accepted(job.job_id):
        return done
    stack = store.stacks.find(job.name, project=job.project)
    if inner_id is None:
        refuse_nested(stack)
    refuse_busy(store, stack, SNAPSHOT)
    refuse_suspended(stack)
    if stack.template_id != stack.completed_template_id:
        raise Conflict(
            f"stack {stack.name!r} is {stack.action}_{stack.status}: the definition that it was given last never was "
            "complete; update it first"
        )
    rows, left_over = store.stacks.resources(stack.id), store.stacks.left_over(stack.id)
    if inner_id is None:
        new = NewSnapshot(id=str(uuid.uuid4()), name=job.snapshot, most=settings.max_snapshots_per_stack)
    else:
        # There are as many as the outermost stack has.
        new = NewSnapshot(id=inner_id, name="", most=sys.maxsize)
    traversal = operation(
        store,
        stack,
        rows,
        [row for row in rows if row.id not in left_over and takes_part(SNAPSHOT, row)],
        SNAPSHOT,
        options={"snapshot": new.id},
        snapshot=new,
        job_id=job.job_id,
    )
    if not begin(stack, traversal):
        raise Conflict(f"stack {stack.name!r} is being changed by others; try again")
    return stack.id


def restorable(store: Store, stack: StackRow, snapshot: str) -> SnapshotRow:
    """Return the snapshot of this name or id, if the stack can be brought back to it.

    Raises:
        NotFound: there is none.
        Conflict: the stack is busy or suspended, or the snapshot is not complete.
    """
    refuse_busy(store, stack, "RESTORE")
    refuse_suspended(stack)
    row = store.snapshots.find(stack.id, snapshot)
    if (row.action, row.status) != ("CREATE", "COMPLETE"):
        raise Conflict(
            f"snapshot {snapshot!r} is {row.action}_{row.status}: only a complete one can be restored"
        )
    return row


def with_entries(
    desired_resources: Sequence[DesiredResource], entries: Sequence[Entry]
) -> list[DesiredResource]:
    """Return the wishes, each with what a snapshot holds of it: its node is told to bring that back in the end."""
    held = {(entry.name, entry.type): entry for entry in entries}
    return [
        replace(desired, fragment={**desired.fragment, "restore": [held[desired.name, desired.type].entry]})
        if (desired.name, desired.type) in held
        else desired
        for desired in desired_resources
    ]


def begin_to_let_go(store: Store, stack: StackRow, row: SnapshotRow, *, job_id: str) -> None:
    """Write down that a snapshot is being deleted.

    Raises:
        Conflict: it is being made, or restored.
    """
    if (stack.action, stack.status) == ("RESTORE", "IN_PROGRESS"):
        restored = store.traversals.options(stack.traversal_id).get("snapshot")
        if restored == row.id:
            raise Conflict(f"snapshot {row.name or row.id!r} is being restored; wait until that is over")
    store.snapshots.begin_delete(row, job_id=job_id)


def let_go(
    store: Store,
    stack: StackRow,
    row: SnapshotRow,
    types: Mapping[str, type[Resource]],
    settings: Settings,
    *,
    clients: Clients,
) -> None:
    """Let every type delete what it keeps for a snapshot, and then the snapshot; a failure is written down.

    May run more than once, also at the same time.
    """
    faults = []
    rows = {each.name: each for each in store.stacks.resources(stack.id)}
    for entry in store.snapshots.entries(row):
        present = rows.get(entry.name)
        kept = _Kept(entry, present if present and present.type == entry.type else None)
        try:
            if isinstance(entry.entry, Mapping) and (inside := entry.entry.get(INSIDE)):
                let_go_inside(store, inside, types, settings, clients=clients)
                continue
            resource = kept.resource(stack, types, settings)
            resource.clients = clients.of(stack.project)
            resource.annotations = store.annotations.when_looked_at(stack.id, entry.name)
            resource.handle_delete_snapshot(entry.entry)
        except Exception as error:
            sentence = (
                str(error) if isinstance(error, ResourceFailure) else f"{type(error).__name__}: {error}"
            )
            log.warning(
                "a snapshot cannot be deleted", stack_name=stack.name, resource=entry.name, exc_info=error
            )
            faults.append(f"resources.{entry.name}: {sentence}")
    if faults:
        store.snapshots.fail_delete(row.id, cut("; ".join(faults), _LONGEST))
    else:
        store.snapshots.forget(row.id)


def let_go_inside(
    store: Store,
    snapshot_id: str,
    types: Mapping[str, type[Resource]],
    settings: Settings,
    *,
    clients: Clients,
) -> None:
    """Let go of the snapshot of a stack in a stack; one that is gone is no error.

    Raises:
        ResourceFailure: a part of it cannot be deleted.
    """
    row = store.snapshots.by_id(snapshot_id)
    stack = store.stacks.by_id(row.stack_id) if row else None
    if row is None or stack is None:
        return
    let_go(store, stack, row, types, settings, clients=clients)
    left = store.snapshots.by_id(snapshot_id)
    if left is not None:
        raise ResourceFailure(left.reason)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a snapshot keeps of a resource, and the resource's row, if there still is one of its type."""

    entry: Entry
    row: ResourceRow | None

    def resource(self, stack: StackRow, types: Mapping[str, type[Resource]], settings: Settings) -> Resource:
        """Return the resource as far as it is known."""
        kind = kind_of_type(types, self.entry.type)
        if kind is None:
            raise ResourceFailure(
                f"resource type {self.entry.type!r} is not installed where the coordinator runs"
            )
        row = self.row
        properties = (row.properties if row else None) or {}
        return kind(
            name=self.entry.name,
            type_name=self.entry.type,
            state=ResourceState(
                uuid=row.id if row else "",
                physical_id=row.physical_id if row else None,
                data=dict(row.data) if row else {},
                metadata=dict(row.metadata) if row else {},
            ),
            properties=typed_properties(kind, properties),
            stack=StackDefinition(name=stack.name, id=stack.id, project=stack.project, asker=self.entry.name),
            settings=settings,
            now=0.0,
        )
