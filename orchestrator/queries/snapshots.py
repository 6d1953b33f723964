"""Snapshots of a stack, for faces."""

from collections.abc import Sequence

from orchestrator.store.stacks.snapshots import Entry, SnapshotRow
from orchestrator.views.stacks import SnapshotView


def snapshot_view(row: SnapshotRow, entries: Sequence[Entry] = ()) -> SnapshotView:
    """Return the view of a snapshot, without the data of its entries, which may be secret."""
    return SnapshotView(
        id=row.id,
        name=row.name,
        action=row.action,
        status=row.status,
        reason=row.reason,
        created_at=row.created_at,
        resources=tuple((entry.name, entry.type) for entry in entries),
    )
