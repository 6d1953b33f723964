"""Snapshots of a stack, as faces show them."""

from collections.abc import Sequence

from orchestrator.store.stacks.snapshots import Entry, SnapshotRow
from orchestrator.views.stacks import SnapshotView


def snapshot_view(row: SnapshotRow, entries: Sequence[Entry] = ()) -> SnapshotView:
    """Return what is shown of a snapshot: never what it holds, which may be secret."""
    return SnapshotView(
        id=row.id,
        name=row.name,
        action=row.action,
        status=row.status,
        reason=row.reason,
        created_at=row.created_at,
        resources=tuple((entry.name, entry.type) for entry in entries),
    )
