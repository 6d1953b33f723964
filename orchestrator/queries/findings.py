"""Findings: the decisions on what needs a person, as pure functions of what was read."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from hooks.values.states import ACTIONS
from orchestrator.model.actions import RETRIED
from orchestrator.model.names import listed
from orchestrator.queries.standstill import standstill_of
from orchestrator.store.installation.sink_cursors import LateCursor
from orchestrator.store.stacks.attention import (
    AttentionRows,
    DriftedStack,
    EndedStack,
    HeldNode,
    PartialStack,
    QuietOperation,
    StaleStack,
)
from orchestrator.views.attention import KINDS, Finding, FindingGroup
from orchestrator.views.caches import CacheView
from orchestrator.views.nodes import UP, NodeView
from orchestrator.views.operations import ProcessView, StuckView

#: The most findings of one kind that are shown.
MOST: Final = 50
#: An operation without an event for so long may stand still, if its earlier runs took less than that altogether.
LEAST_QUIET_SECONDS: Final = 300.0
#: How long an operation may be without an event if no earlier run is known.
QUIET_SECONDS: Final = 1800.0
#: The number of its earlier runs with which an operation in progress is compared.
COMPARED: Final = 5
#: How long events may wait for a sink.
BEHIND_SECONDS: Final = 300.0

_STUCK: Final = {
    "lost": "the worker's lease has expired",
    "undelivered": "no worker has taken it",
    "overdue": "its next check is overdue",
}


def grouped(findings: Iterable[Finding], totals: Mapping[str, int] | None = None) -> tuple[FindingGroup, ...]:
    """Return findings by kind, the most urgent kind first, at most ``MOST`` of each.

    ``totals`` are the numbers of the kinds of which not all were read.
    """
    of_kind: dict[str, list[Finding]] = {kind: [] for kind in KINDS}
    for finding in findings:
        of_kind[finding.kind].append(finding)
    return tuple(
        FindingGroup(
            kind=kind,
            title=KINDS[kind],
            findings=tuple(some[:MOST]),
            total=max(len(some), (totals or {}).get(kind, 0)),
            page=_LISTS.get(kind, ""),
        )
        for kind, some in of_kind.items()
        if some
    )


def totals_of(rows: AttentionRows, sinks: Sequence[LateCursor]) -> dict[str, int]:
    """Return the numbers of findings of the kinds that are read in part."""
    return {
        "failed": rows.failed_total,
        "rolled_back": rows.rolled_back_total,
        "held": rows.held_total,
        "partial": rows.partial_total,
        "drift": rows.drifted_total,
        "stale": rows.stale_total,
        "sink": sinks[0].total if sinks else 0,
    }


def database_finding(sentence: str) -> Finding:
    """Return the finding that the database does not answer; ``sentence`` says so in plain words."""
    return Finding(
        kind="database",
        subject="database",
        what=sentence,
        why="Nothing is carried out without it, and the findings that are read from it may be out of date.",
        command="isotherm doctor",
    )


def broker_finding(since: float | None = None) -> Finding:
    """Return the finding that the broker is not reached, ``since`` when if that is known."""
    return Finding(
        kind="broker",
        subject="broker",
        what="it cannot be reached",
        why="Operations stand still without it: start it again.",
        since=since,
        command="isotherm doctor",
    )


def unknown_finding(kind: str, subject: str, page: str, sentence: str) -> Finding:
    """Return the finding that the state of ``subject`` cannot be read; ``sentence`` says why not."""
    return Finding(
        kind=kind,
        subject=subject,
        what=f"unknown: {sentence}",
        why="Whether they work cannot be read.",
        page=page,
        command="isotherm doctor",
    )


def process_findings(
    processes: Iterable[ProcessView], rows: AttentionRows, *, embedded: bool
) -> list[Finding]:
    """Return the finding that no worker, no coordinator or, if ``embedded``, no process works on operations."""
    if embedded and rows.oldest is None:
        return []
    name, stack_id, _ = rows.oldest or ("", "", 0.0)
    lacking = standstill_of(processes, shlex.quote(name), embedded=embedded)
    if lacking is None:
        return []
    waiting = f"{rows.in_progress} operation{'' if rows.in_progress == 1 else 's'} in progress"
    why = f"{waiting} cannot go on" if rows.in_progress else "An operation that is begun now would not go on"
    return [
        Finding(
            kind="process",
            subject=name if embedded else "workers",
            what=lacking.lack[0].lower() + lacking.lack[1:],
            why=f"{why}: {lacking.remedy} the command.",
            since=lacking.since,
            page=f"stack/{stack_id}/graph" if embedded else "stacks/workers",
            command=lacking.command,
            stack=name if embedded else "",
            stack_id=stack_id if embedded else "",
        )
    ]


def machine_findings(nodes: Iterable[NodeView]) -> list[Finding]:
    """Return the nodes that are not up, those without a sign of life for longest first."""
    lost = sorted(
        (node for node in nodes if node.state != UP), key=lambda node: (node.seen_at or 0.0, node.name)
    )
    return [
        Finding(
            kind="machine",
            subject=node.name,
            what=node.states,
            why="Steps on it fail or wait: start its agent again, or forget the node if it is gone for good.",
            since=node.seen_at,
            page=f"stacks/nodes/{quote(node.name, safe='')}",
            command=f"isotherm node show {shlex.quote(node.name)}",
        )
        for node in lost
    ]


def ended_findings(rows: AttentionRows) -> list[Finding]:
    """Return the stacks that failed or were rolled back."""
    return [*map(_failed, rows.failed), *map(_rolled_back, rows.rolled_back)]


def _failed(row: EndedStack) -> Finding:
    why = {
        "ROLLBACK": "Neither the new definition nor the one before it is in force.",
        "DELETE": "Some of its resources still exist.",
        "CHECK": "A resource of it is not as it should be.",
    }
    is_retried, name = row.action in RETRIED, shlex.quote(row.name)
    return Finding(
        kind="failed",
        subject=row.name,
        what=f"{row.action}_{row.status}: {row.reason}" if row.reason else f"{row.action}_{row.status}",
        why=why.get(
            row.action, "It is not as its definition says, and stays so until the operation is repeated."
        ),
        since=row.since,
        page=f"stack/{row.id}/failure",
        command=f"isotherm stack update {name} --existing"
        if is_retried
        else f"isotherm stack failure {name}",
        action="retry" if is_retried else "",
        stack=row.name,
        stack_id=row.id,
        traversal_id=row.traversal_id,
    )


def _rolled_back(row: EndedStack) -> Finding:
    return Finding(
        kind="rolled_back",
        subject=row.name,
        what=f"{row.action}_{row.status}: {row.reason}" if row.reason else f"{row.action}_{row.status}",
        why="Its last change failed and was taken back: what was wanted is not there.",
        since=row.since,
        page=f"stack/{row.id}/failure",
        command=f"isotherm stack failure {shlex.quote(row.name)}",
        stack=row.name,
        stack_id=row.id,
        traversal_id=row.traversal_id,
    )


def partial_findings(rows: AttentionRows) -> list[Finding]:
    """Return the stacks of which an update with targets has left something."""
    return [_partial(row) for row in rows.partial]


def _partial(row: PartialStack) -> Finding:
    return Finding(
        kind="partial",
        subject=row.name,
        what=f"not as defined: {listed(row.partial)}",
        why="An update with targets has left these: one without targets does the rest.",
        page=f"stack/{row.id}",
        command=f"isotherm stack update {shlex.quote(row.name)} --existing",
        stack=row.name,
        stack_id=row.id,
        traversal_id=row.traversal_id,
    )


def drift_findings(rows: AttentionRows) -> list[Finding]:
    """Return the stacks that others have changed."""
    return [_drifted(row) for row in rows.drifted]


def _drifted(row: DriftedStack) -> Finding:
    number = "1 resource differs" if row.resources == 1 else f"{row.resources} resources differ"
    left = f", {row.left_alone} of them again and again" if row.left_alone else ""
    return Finding(
        kind="drift",
        subject=row.name,
        what=f"{number} from what is recorded{left}",
        why="Another system or a person changes them as well: undo that, or change the template."
        if row.left_alone
        else "An update with --refresh changes them back, and so does the observation mode repair.",
        since=row.since,
        page=f"stack/{row.id}/events",
        command=f"isotherm stack drift show {shlex.quote(row.name)}",
        stack=row.name,
        stack_id=row.id,
        traversal_id=row.traversal_id,
    )


def stale_findings(rows: AttentionRows) -> list[Finding]:
    """Return the stacks with values of other stacks' outputs that are outdated."""
    return [_outdated(row) for row in rows.stale]


def _outdated(row: StaleStack) -> Finding:
    name = shlex.quote(row.name)
    number = "1 value" if row.resources == 1 else f"{row.resources} values"
    return Finding(
        kind="stale",
        subject=row.name,
        what=f"{number} of other stacks' outputs may be outdated",
        why="The stack that it reads was changed or deleted since: an update reads the outputs again.",
        page=f"stack/{row.id}",
        command=f"isotherm stack update {name} --existing",
        stack=row.name,
        stack_id=row.id,
        traversal_id=row.traversal_id,
    )


def held_findings(rows: AttentionRows) -> list[Finding]:
    """Return the resources that are held at breakpoints."""
    return [_held(row) for row in rows.held]


def _held(row: HeldNode) -> Finding:
    return Finding(
        kind="held",
        subject=row.stack,
        what=f"{row.resource} is held at its breakpoint {row.hook}",
        why="It and what requires it wait until the breakpoint is cleared.",
        since=row.since,
        page=f"stack/{row.stack_id}/graph?focus={quote(row.resource, safe='')}",
        command=f"isotherm stack hook clear {shlex.quote(row.stack)} {shlex.quote(row.resource)}",
        action="clear_hook",
        stack=row.stack,
        stack_id=row.stack_id,
        traversal_id=row.traversal_id,
        resource=row.resource,
        hook=row.hook,
    )


def stuck_findings(stuck: Iterable[StuckView], now: float) -> list[Finding]:
    """Return the stacks with stuck work, one finding for each, the longest stuck first."""
    of_stack: dict[str, list[StuckView]] = {}
    for each in stuck:
        of_stack.setdefault(each.stack_id, []).append(each)
    return [_stuck(stack_id, some, now) for stack_id, some in of_stack.items()]


def _stuck(stack_id: str, some: Sequence[StuckView], now: float) -> Finding:
    longest = max(some, key=lambda each: each.seconds)
    amounts = Counter(each.why for each in some)
    what = "; ".join(
        f"{amount} resource{'' if amount == 1 else 's'}: {_STUCK[why]}" for why, amount in amounts.items()
    )
    return Finding(
        kind="stuck",
        subject=longest.stack,
        what=what,
        why="Nothing works on this part of the operation, although it is due.",
        since=now - longest.seconds,
        page="stacks/workers",
        command="isotherm doctor",
        stack=longest.stack,
        stack_id=stack_id,
    )


def quiet_findings(
    rows: AttentionRows, known: Iterable[Finding], past: Mapping[str, Sequence[float]]
) -> list[Finding]:
    """Return the operations without an event for longer than usual.

    Usual is the longest of the last complete runs of the same action on the same stack, but at least
    ``LEAST_QUIET_SECONDS``; without such runs it is ``QUIET_SECONDS``. ``past`` has the seconds that they took, by
    the stack's id, at most ``COMPARED`` of each. Stacks in ``known`` are left out.
    """
    others = {finding.stack_id for finding in known if finding.stack_id}
    return [
        _quiet(row, past.get(row.id, ()))
        for row in rows.quiet
        if row.id not in others and rows.as_of - row.since > quiet_seconds(past.get(row.id, ()))
    ]


def quiet_seconds(runs: Sequence[float]) -> float:
    """Return for how long an operation may be without an event, by the seconds that its last runs took."""
    return max(*runs, LEAST_QUIET_SECONDS) if runs else QUIET_SECONDS


def _quiet(row: QuietOperation, runs: Sequence[float]) -> Finding:
    minutes = quiet_seconds(runs) / 60
    if not runs:
        usual = f"longer than {minutes:.0f} minutes, and no earlier run of this operation is known"
    elif max(runs) < LEAST_QUIET_SECONDS:
        usual = f"longer than {minutes:.0f} minutes, and earlier runs took less than that altogether"
    else:
        longest = "its last run" if len(runs) == 1 else f"the longest of its last {len(runs)} runs"
        usual = f"longer than {longest} took altogether, {minutes:.0f} minutes"
    deletes = row.action == "DELETE"
    return Finding(
        kind="quiet",
        subject=row.name,
        what=f"{row.action}_IN_PROGRESS without any event",
        why=f"Nothing has happened in it for {usual}.",
        since=row.since,
        page=f"stack/{row.id}/timeline",
        command=f"isotherm stack timeline {shlex.quote(row.name)}"
        if deletes
        else f"isotherm stack cancel {shlex.quote(row.name)}",
        action="" if deletes else "cancel",
        stack=row.name,
        stack_id=row.id,
        traversal_id=row.traversal_id,
    )


def sink_findings(late: Iterable[LateCursor]) -> list[Finding]:
    """Return the event sinks for which events wait. Their errors are not shown: they may tell of other projects."""
    return [
        Finding(
            kind="sink",
            subject=row.type if row.stack_id else row.name,
            what=f"failed {row.failures} times since its last success"
            if row.failures
            else "events wait for it",
            why="Systems that rely on it do not hear of events, which are kept only up to a limit.",
            since=row.waiting_since,
            page=f"stack/{row.stack_id}/events" if row.stack_id else "",
            command="isotherm event-sink list",
            stack=row.stack_name or "",
            stack_id=row.stack_id or "",
        )
        for row in late
    ]


def cache_findings(caches: Iterable[CacheView]) -> list[Finding]:
    """Return the constraint caches that cannot be used."""
    return [
        Finding(
            kind="cache",
            subject=view.client,
            what=_CACHES.get(view.state, view.state),
            why="Each look-up asks the other system instead: operations go on, but more slowly.",
            page="stacks/cache",
            command=f"isotherm cache stats --client {shlex.quote(view.client)}",
        )
        for view in caches
        if view.state not in ("ok", "disabled")
    ]


_CACHES: Final = {
    "unreachable": "its store does not answer",
    "wrong": "its settings are wrong",
    "unknown": "it has settings or counters, but there is no such client plugin",
}
#: The pages that list all findings of a kind.
_LISTS: Final = {
    "process": "stacks/workers",
    "machine": "stacks/nodes",
    "failed": "stacks?states=" + ",".join(f"{action}_FAILED" for action in sorted(ACTIONS)),
    "stuck": "stacks/workers",
    "held": "stacks?states=" + ",".join(f"{action}_IN_PROGRESS" for action in sorted(ACTIONS)),
    "quiet": "stacks?states=" + ",".join(f"{action}_IN_PROGRESS" for action in sorted(ACTIONS)),
    "rolled_back": "stacks?states=ROLLBACK_COMPLETE",
    "partial": "stacks?partial=1",
    "cache": "stacks/cache",
}
