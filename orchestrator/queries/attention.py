"""What needs a person: the findings of one project, read from the store in a bounded number of statements."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from orchestrator.queries.findings import (
    BEHIND_SECONDS,
    COMPARED,
    LEAST_QUIET_SECONDS,
    MOST,
    cache_findings,
    drift_findings,
    ended_findings,
    grouped,
    held_findings,
    machine_findings,
    partial_findings,
    process_findings,
    quiet_findings,
    sink_findings,
    stale_findings,
    stuck_findings,
    totals_of,
)
from orchestrator.views.attention import AttentionView, Finding

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.store.stacks.attention import AttentionRows
    from orchestrator.store.store import Store
    from orchestrator.views.caches import CacheView
    from orchestrator.views.nodes import NodeView

#: The kinds that are about the installation, which callers without the right to see the fleet are not shown.
OF_FLEET: Final = frozenset({"broker", "process", "machine", "cache"})


def stored_attention(store: "Store", settings: "Settings") -> AttentionView:
    """Return the findings of the settings' project that the store alone knows.

    Raises:
        Unavailable: the database does not answer.
    """
    project = settings.project
    rows = store.attention.read(project=project, quiet_seconds=LEAST_QUIET_SECONDS, limit=MOST)
    sinks = store.sink_cursors.late(project=project, seconds=BEHIND_SECONDS, limit=MOST)
    stuck = stuck_findings(store.stuck.all(project=project), rows.as_of)
    processes = process_findings(store.processes.all(project=project), rows, embedded=settings.embedded)
    # Without workers everything stands still: that is one finding, not one for each operation.
    others = [] if processes else [*stuck, *quiet_operations(store, rows, stuck)]
    of_stacks = [
        *ended_findings(rows),
        *held_findings(rows),
        *others,
        *partial_findings(rows),
        *drift_findings(rows),
        *stale_findings(rows),
    ]
    findings = [*processes, *of_stacks, *sink_findings(sinks)]
    return AttentionView(project=project, as_of=rows.as_of, groups=grouped(findings, totals_of(rows, sinks)))


def quiet_operations(store: "Store", rows: "AttentionRows", known: Iterable[Finding]) -> list[Finding]:
    """Return the operations without an event for longer than their last runs took, but for stacks in ``known``."""
    actions = {row.id: row.action for row in rows.quiet}
    past = store.past.durations(actions, limit=COMPARED) if actions else {}
    return quiet_findings(rows, known, past)


def with_installation(
    view: AttentionView,
    others: Iterable[Finding | None] = (),
    *,
    nodes: "Iterable[NodeView]" = (),
    caches: "Iterable[CacheView]" = (),
) -> AttentionView:
    """Return the findings of a view with those of the installation's nodes, caches and ``others``."""
    totals = {group.kind: group.total for group in view.groups}
    findings = [
        *(finding for finding in others if finding is not None),
        *(finding for group in view.groups for finding in group.findings),
        *machine_findings(nodes),
        *cache_findings(caches),
    ]
    return AttentionView(project=view.project, as_of=view.as_of, groups=grouped(findings, totals))


def of_project(view: AttentionView) -> AttentionView:
    """Return a view without the findings about the installation; the database's is left, since pages show it too."""
    groups = []
    for group in view.groups:
        kept = tuple(
            each
            for each in group.findings
            if each.kind not in OF_FLEET and (each.kind != "sink" or each.stack_id)
        )
        if kept:
            left_out = len(group.findings) - len(kept)
            groups.append(replace(group, findings=kept, total=group.total - left_out))
    return replace(view, groups=tuple(groups))
