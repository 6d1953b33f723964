"""Snapshots of a stack: take, restore, delete.

A snapshot is the stack's definition, and an entry of each resource that its type made. Taking and restoring one are
traversals; deleting one is not, and leaves the stack alone.
"""

import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from orchestrator.config.log_masking import masking_logs
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.engine.row_secrets import RowSecrets
from orchestrator.engine.stack_actions import (
    Begin,
    operation,
    refuse_busy,
    refuse_nested,
    refuse_partial_stack,
    refuse_suspended,
    takes_part,
)
from orchestrator.errors import Conflict, NotFound, cut, text_of, typed_message
from orchestrator.model.actions import SNAPSHOT
from orchestrator.model.messages import DeleteSnapshotJob, RestoreJob, SnapshotJob, StackJob
from orchestrator.model.nested_stack import AtRest, Fence
from orchestrator.model.plan import DesiredResource
from orchestrator.planning.rows import stack_as_made
from orchestrator.planning.stored_templates import job_of_template
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import INSIDE
from orchestrator.plugins.steps import ResourceFailure, ResourceState
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.stacks.snapshots import Entry, NewSnapshot, SnapshotRow
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.traversals import ClaimedEnd
from orchestrator.template.template_resource import kind_of_type

log = get_logger()

#: How many characters of a reason are kept.
_LONGEST = 1000


def take_snapshot(
    store: Store,
    job: SnapshotJob,
    settings: Settings,
    begin: Begin,
    *,
    inner_id: str | None = None,
    fence: Fence | AtRest | None = None,
) -> str:
    """Begin to take a snapshot of a stack; return the stack's id. The same job again begins nothing.

    It holds the resources of the definition. Replaced and removed rows that are not cleaned up yet take no part, in
    whatever state they are.

    ``inner_id`` is the snapshot's id in a nested stack, whose snapshot is a part of the parent stack's.

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
    refuse_partial_stack(stack, "a snapshot")
    if stack.template_id != stack.completed_template_id:
        raise Conflict(
            f"stack {stack.name!r} is {stack.action}_{stack.status}: the definition that it was given last never was "
            "complete; update it first"
        )
    rows, left_over = store.stacks.resources(stack.id), store.stacks.left_over(stack.id)
    if inner_id is None:
        new = NewSnapshot(id=str(uuid.uuid4()), name=job.snapshot, most=settings.max_snapshots_per_stack)
    else:
        # The limit counts at the root stack.
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
        fence=fence,
    )
    if not begin(stack, traversal):
        raise Conflict(f"stack {stack.name!r} is being changed by others; try again")
    return stack.id


def restore(store: Store, job: RestoreJob, begin: Callable[[StackRow, StackJob, SnapshotRow], bool]) -> str:
    """Begin to bring a stack back to a snapshot; return the stack's id. The same job again begins nothing.

    The stack is updated to the definition that it had, with a refresh, and each resource with an entry in the
    snapshot is then restored from that. ``begin`` begins the update; False if another operation was faster.

    Raises:
        InvalidInput: the definition is not valid any more, such as with a type that is gone.
        NotFound: there is no such stack or snapshot.
        Conflict: the stack is busy or suspended, the snapshot not complete, or a lifecycle plugin refused.
    """
    if done := store.stacks.accepted(job.job_id):
        return done
    stack = store.stacks.find(job.name, project=job.project)
    refuse_nested(stack)
    snapshot = restorable(store, stack, job.snapshot)
    definition = job_of_template(store, stack, snapshot.template_id, job_id=job.job_id)
    wanted = replace(
        definition,
        rollback=job.rollback,
        timeout_minutes=job.timeout_minutes or definition.timeout_minutes,
        refresh=True,
        unprotect=job.unprotect,
    )
    if not begin(stack, wanted, snapshot):
        raise Conflict(f"stack {stack.name!r} is being changed by others; try again")
    return stack.id


def restorable(store: Store, stack: StackRow, snapshot: str) -> SnapshotRow:
    """Return the snapshot of this name or id, if the stack can be brought back to it.

    Raises:
        NotFound: there is none.
        Conflict: the stack is busy or suspended, or the snapshot is not complete, or from before a move between stacks.
    """
    refuse_busy(store, stack, "RESTORE")
    refuse_suspended(stack)
    row = store.snapshots.find(stack.id, snapshot)
    if (row.action, row.status) != ("CREATE", "COMPLETE"):
        raise Conflict(
            f"snapshot {snapshot!r} is {row.action}_{row.status}: only a complete one can be restored"
        )
    if (name := store.families.transferred_since(stack.root_id, row.created_at)) is not None:
        # By its definition the object would be deleted where it is, and another one made in its old place.
        raise Conflict(
            f"snapshot {snapshot!r} cannot be restored: resource {name!r} was moved into or out of a nested stack "
            "since it was taken"
        )
    return row


def with_entries(
    desired_resources: Sequence[DesiredResource], entries: Sequence[Entry]
) -> list[DesiredResource]:
    """Return the desired resources, each with its snapshot's entry in the fragment, from which its node restores it.

    Raises:
        Conflict: an entry cannot be read.
    """
    faults = [f"resources.{entry.name}: {entry.fault}" for entry in entries if entry.fault]
    if faults:
        raise Conflict(f"the snapshot cannot be restored: {'; '.join(faults)}")
    held = {(entry.name, entry.type): entry for entry in entries}
    return [
        replace(desired, fragment={**desired.fragment, "restore": [held[desired.name, desired.type].entry]})
        if (desired.name, desired.type) in held
        else desired
        for desired in desired_resources
    ]


def delete_snapshot(
    store: Store,
    job: DeleteSnapshotJob,
    types: Mapping[str, type[Resource]],
    settings: Settings,
    *,
    clients: Clients,
) -> str:
    """Delete a snapshot; return the stack's id. A failure is recorded on the snapshot, which may be deleted again.

    Raises:
        NotFound: there is no such stack or snapshot.
        Conflict: the snapshot is being made, or restored.
    """
    stack = store.stacks.find(job.name, project=job.project)
    refuse_nested(stack)
    done = store.stacks.accepted(job.job_id)
    try:
        snapshot = store.snapshots.find(stack.id, job.snapshot)
    except NotFound:
        if done:
            return done
        raise
    begin_to_let_go(store, stack, snapshot, job_id=job.job_id)
    let_go(store, stack, snapshot, types, settings, clients=clients)
    return stack.id


def begin_to_let_go(store: Store, stack: StackRow, row: SnapshotRow, *, job_id: str) -> None:
    """Record that a snapshot is being deleted.

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
    """Have every type delete its entry of a snapshot, and then the snapshot itself; failures are recorded on it.

    May run more than once, also at the same time.
    """
    faults = []
    present = store.stacks.resources(stack.id)
    # An entry has the name of its time.
    rows = {name: each for each in present for name in each.former_names}
    rows |= {each.name: each for each in present}
    credential = store.traversals.context(stack.traversal_id).get("credential", "")
    own_clients = clients.of(stack.project, credential)
    for entry in store.snapshots.entries(row):
        named = rows.get(entry.name)
        row_of_type = named if named and named.type == entry.type else None
        if entry.fault:
            # Nothing can ever read it: the snapshot goes without it.
            log.warning("an entry of a snapshot cannot be read", stack_name=stack.name, resource=entry.name)
            continue
        secrets = RowSecrets(
            store=store,
            types=types,
            settings=settings,
            stack=stack,
            row=row_of_type,
            clients=own_clients,
        )
        try:
            if isinstance(entry.entry, Mapping) and (inside := entry.entry.get(INSIDE)):
                let_go_inside(store, inside, types, settings, clients=clients)
                continue
            resource = _resource_of(entry, row_of_type, stack, types, settings)
            resource.clients = own_clients
            resource.annotations = store.annotations.when_looked_at(stack.id, entry.name)
            with masking_logs(secrets.masked):
                resource.handle_delete_snapshot(entry.entry)
        except Exception as error:
            sentence = secrets.masked(
                text_of(error) if isinstance(error, ResourceFailure) else typed_message(error)
            )
            with masking_logs(secrets.masked):
                log.warning(
                    "a snapshot cannot be deleted", stack_name=stack.name, resource=entry.name, exc_info=error
                )
            faults.append(f"resources.{entry.name}: {sentence}")
    if faults:
        store.snapshots.fail_delete(row.id, cut("; ".join(faults), _LONGEST))
    else:
        store.snapshots.forget(row.id)


def let_go_of_all(
    store: Store,
    ending: ClaimedEnd,
    types: Mapping[str, type[Resource]],
    settings: Settings,
    *,
    clients: Clients,
) -> None:
    """Delete the snapshots of a deleted stack; of an abandoned stack, only their rows."""
    stack = store.stacks.find(ending.stack_id, project=ending.project)
    for snapshot in store.snapshots.all(stack.id):
        if ending.options.get("abandon"):
            store.snapshots.forget(snapshot.id)
        else:
            let_go(store, stack, snapshot, types, settings, clients=clients)


def let_go_inside(
    store: Store,
    snapshot_id: str,
    types: Mapping[str, type[Resource]],
    settings: Settings,
    *,
    clients: Clients,
) -> None:
    """Delete the snapshot of a nested stack; one that is gone is no error.

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


def _resource_of(
    entry: Entry,
    row: ResourceRow | None,
    stack: StackRow,
    types: Mapping[str, type[Resource]],
    settings: Settings,
) -> Resource:
    """Return the resource of a snapshot's entry, rebuilt from the row, if there is one of its type."""
    kind = kind_of_type(types, entry.type)
    if kind is None:
        raise ResourceFailure(f"resource type {entry.type!r} is not installed where the coordinator runs")
    state = ResourceState(uuid="")
    if row is not None:
        state = ResourceState(
            uuid=row.id, physical_id=row.physical_id, data=dict(row.data), metadata=dict(row.metadata)
        )
    return kind(
        name=row.made_as if row else entry.name,
        type_name=entry.type,
        state=state,
        properties=typed_properties(kind, (row.properties if row else None) or {}),
        stack=stack_as_made(
            StackDefinition(name=stack.name, id=stack.id, project=stack.project, asker=entry.name),
            row.made_in if row else None,
        ),
        settings=settings,
        now=0.0,
    )
