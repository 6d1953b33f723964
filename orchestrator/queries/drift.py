"""Drift for faces: views of what is on record."""

from orchestrator.store.stacks.drifts import DriftRow
from orchestrator.views.drift import DriftView


def drift_view(row: DriftRow) -> DriftView:
    """Return the view of a difference."""
    finding = row.finding
    return DriftView(
        resource=row.path,
        type=row.type,
        key=row.key,
        recorded=finding.recorded,
        observed=finding.observed,
        hidden=finding.hidden,
        since_at=row.since,
        seen_at=row.seen_at,
        times=row.times,
        standing=row.standing.value,
        why=row.why,
    )
