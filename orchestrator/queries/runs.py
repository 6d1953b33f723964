"""Operations side by side: what each did to each resource of a stack."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from hooks.values.states import ASIDE
from orchestrator.errors import cut
from orchestrator.model.actions import CHECK
from orchestrator.model.messages import CLEANUP
from orchestrator.views.facts import NodeFact
from orchestrator.views.runs import (
    ABSENT,
    CHANGED,
    DELETED,
    FAILED,
    MADE,
    OTHER,
    PENDING,
    REPLACED,
    RUNNING,
    UNCHANGED,
    UNREACHED,
    RunFacts,
    RunRow,
    RunsView,
    RunWork,
)
from orchestrator.views.stacks import TraversalView
from orchestrator.views.states import phase_of, state_of
from orchestrator.views.vertex_states import DONE, HELD, RETRYING, WAITING
from orchestrator.views.vertex_states import FAILED as HAS_FAILED
from orchestrator.views.vertex_states import RUNNING as IS_RUNNING
from orchestrator.views.vertex_states import UNCHANGED as IS_UNCHANGED
from orchestrator.views.vertex_states import UNREACHED as IS_UNREACHED

#: The most characters of a reason in a cell.
_SHOWN_CHARACTERS: Final = 300
#: What a completed action of an event says; the first one that was completed counts.
_BY_ACTION: Final = {
    "CREATE": MADE,
    "ADOPT": MADE,
    "UPDATE": CHANGED,
    "RESTORE": CHANGED,
    "SUSPEND": CHANGED,
    "RESUME": CHANGED,
    "DELETE": DELETED,
}
_UNDER_WAY: Final = frozenset({IS_RUNNING, WAITING, RETRYING, HELD})
_AT_REST: Final = frozenset({DONE, IS_UNCHANGED})
#: The actions of events that are not part of what an operation does: the last notes that a replacement is needed.
_NO_PART: Final = ASIDE | {"REPLACE"}


def runs_of(operations: Sequence[TraversalView], facts: RunFacts, *, more: bool) -> RunsView:
    """Return some operations of a stack side by side, with a row for each resource that one of them had."""
    nodes: dict[str, dict[str, list[NodeFact]]] = defaultdict(lambda: defaultdict(list))
    for node in facts.nodes:
        nodes[node.name][node.traversal_id].append(node.alike)
    work: dict[tuple[str, str], list[RunWork]] = defaultdict(list)
    types: dict[str, str] = {}
    actions = {each.id: each.action for each in operations}
    for done in facts.work:
        types[done.name] = done.type
        if _counts(done, actions.get(done.traversal_id, "")):
            work[done.name, done.traversal_id].append(done)
    # The newest come first, and stay.
    reasons: dict[tuple[str, str], str] = {}
    for traversal_id, name, reason in facts.reasons:
        reasons.setdefault((name, traversal_id), cut(reason, _SHOWN_CHARACTERS))
    kept = {node.traversal_id for node in facts.nodes}
    return RunsView(
        operations=tuple(operations),
        rows=tuple(
            _row(
                name,
                facts.types.get(name) or types.get(name, ""),
                facts.nested.get(name),
                [(each, nodes[name].get(each.id, ()), work.get((name, each.id), ())) for each in operations],
                reasons,
            )
            for name in sorted(nodes)
        ),
        more=more,
        trimmed=tuple(each.id for each in operations if each.id not in kept),
    )


def _counts(done: RunWork, action: str) -> bool:
    """Whether an action is part of an operation; health marks are checks at any time."""
    return done.action not in _NO_PART and (done.action != CHECK or action == CHECK)


def _row(
    name: str,
    type_: str,
    nested: str | None,
    columns: Sequence[tuple[TraversalView, Sequence[NodeFact], Sequence[RunWork]]],
    reasons: Mapping[tuple[str, str], str],
) -> RunRow:
    cells, seconds, why = [], {}, {}
    for place, (operation, nodes, work) in enumerate(columns):
        cell = cell_of(nodes, work, is_over=operation.status != "IN_PROGRESS")
        took = _seconds(work)
        if took is not None and cell not in (UNCHANGED, ABSENT):
            seconds[place] = took
        if cell == FAILED and (reason := reasons.get((name, operation.id))):
            why[place] = reason
        cells.append(cell)
    return RunRow(
        name=name, type=type_, nested_stack_id=nested, cells="".join(cells), seconds=seconds, reasons=why
    )


def cell_of(nodes: Sequence[NodeFact], work: Sequence[RunWork], *, is_over: bool) -> str:
    """Return the letter for what one operation did to one resource.

    ``nodes`` are those of its name: what makes, changes or keeps it, and deletions of it or of what it replaces.
    Without nodes, the operation had no such resource. A replacement counts as soon as the new one is made, and also
    where an operation deletes what an earlier one replaced.
    """
    if not nodes:
        return ABSENT
    states = [(phase_of(node) == CLEANUP, state_of(node, (), is_over=is_over), node) for node in nodes]
    of_old = {state for is_old, state, _ in states if is_old}
    of_new = {state for is_old, state, _ in states if not is_old}
    every = of_old | of_new
    outcomes = (
        (HAS_FAILED in every, FAILED),
        (bool(every & _UNDER_WAY), RUNNING),
        (not is_over and bool(every - _AT_REST), PENDING),
        (IS_UNREACHED in (of_new or of_old), UNREACHED),
        (not of_new, DELETED if DONE in of_old else UNCHANGED),
        (DONE in of_old, REPLACED),
        (DONE not in of_new, UNCHANGED),
    )
    for holds, letter in outcomes:
        if holds:
            return letter
    did = _done(work) or _BY_ACTION.get(next(node.action for is_old, _, node in states if not is_old), OTHER)
    # What it replaces could not be deleted any more.
    return REPLACED if of_old and did == MADE else did


def _done(work: Sequence[RunWork]) -> str:
    done = [_BY_ACTION.get(each.action, OTHER) for each in work if each.is_complete]
    return next((each for each in (MADE, CHANGED, OTHER) if each in done), "")


def _seconds(work: Sequence[RunWork]) -> float | None:
    """Return how long the actions on a resource took together, of those whose beginning and end are known."""
    took = [
        max(0.0, each.ended_at - each.begun_at)
        for each in work
        if each.begun_at is not None and each.ended_at is not None
    ]
    return round(sum(took), 3) if took else None
