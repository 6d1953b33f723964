"""What several operations did to each resource, in one cell each."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.queries.runs import cell_of, runs_of
from orchestrator.views.facts import NodeFact
from orchestrator.views.runs import ABSENT, RunFacts, RunNode, RunWork
from orchestrator.views.stacks import TraversalView
from tests.unit.orchestrator.queries.made import node

NEW: dict[str, Any] = {"state": "done", "attempt": 1}
KEPT: dict[str, Any] = {"state": "done", "action": "UPDATE", "quiet": True}


def made(**fields: Any) -> NodeFact:
    return node(0, **{**NEW, **fields})


def deletion(**fields: Any) -> NodeFact:
    return node(1, **{"phase": "cleanup", "action": "DELETE", **NEW, **fields})


def work(action: str, traversal: str = "t1", *, name: str = "a", **fields: Any) -> RunWork:
    values: dict[str, Any] = {
        "begun_at": 10.0,
        "ended_at": 12.0,
        "is_complete": True,
        "type": "Cloud::Object",
        **fields,
    }
    return RunWork(traversal_id=traversal, name=name, action=action, **values)


def operation(traversal: str, status: str = "COMPLETE", action: str = "UPDATE") -> TraversalView:
    return TraversalView(
        id=traversal,
        stack="s",
        stack_id="stack-id",
        action=action,
        status=status,
        reason="",
        template_id="x",
        begun_at=1.0,
        ended_at=None if status == "IN_PROGRESS" else 2.0,
        duration_seconds=None,
        made=0,
        changed=0,
        deleted=0,
        failed=0,
    )


def facts(
    nodes: dict[str, dict[str, list[NodeFact]]], work: tuple[RunWork, ...] = (), **more: Any
) -> RunFacts:
    found = [
        RunNode(traversal_id=traversal, name=name, alike=alike)
        for traversal, by_name in nodes.items()
        for name, several in by_name.items()
        for alike in several
    ]
    values: dict[str, Any] = {"reasons": (), "types": {}, "nested": {}, **more}
    return RunFacts(nodes=found, work=work, **values)


@pytest.mark.parametrize(
    ("nodes", "done", "cell"),
    [
        ([made()], (), "m"),
        ([made(action="UPDATE")], (), "c"),
        # A resource that an earlier operation had not made yet is made by an update.
        ([made(action="UPDATE")], (work("CREATE"),), "m"),
        ([made(phase="operate", action="SUSPEND")], (), "c"),
        ([made(phase="operate", action="CHECK")], (), "o"),
        ([node(0, **KEPT)], (), "u"),
        ([node(0, **KEPT), deletion(attempt=0, quiet=True)], (), "u"),
        ([deletion()], (), "d"),
        ([made(), deletion()], (work("CREATE"), work("DELETE")), "r"),
        # The new one was made, and the operation failed before the old one was deleted.
        ([made(), deletion(state="superseded", attempt=0)], (work("CREATE"),), "r"),
        # The old one is deleted by the next operation.
        ([node(0, **KEPT), deletion()], (work("DELETE"),), "r"),
        ([made(), deletion(state="failed")], (), "f"),
        ([made(state="failed")], (), "f"),
        ([made(state="blocked", attempt=0)], (), "n"),
        ([made(state="superseded", attempt=0)], (), "n"),
        ([], (), "-"),
    ],
)
def test_an_operation_that_is_over_did_one_thing_to_a_resource(
    nodes: list[NodeFact], done: tuple[RunWork, ...], cell: str
) -> None:
    assert cell_of(nodes, done, is_over=True) == cell


@pytest.mark.parametrize(
    ("nodes", "cell"),
    [
        ([made(state="running")], "w"),
        ([made(state="waiting")], "w"),
        ([made(state="waiting", hook="pre-create", attempt=0)], "w"),
        ([made(state="blocked", attempt=0)], "p"),
        ([made(), deletion(state="blocked", attempt=0)], "p"),
        ([made(), deletion(state="running")], "w"),
        ([made()], "m"),
    ],
)
def test_an_operation_under_way_says_what_goes_on_and_what_waits(nodes: list[NodeFact], cell: str) -> None:
    assert cell_of(nodes, (), is_over=False) == cell


STATES = st.sampled_from(("blocked", "ready", "running", "waiting", "done", "failed", "superseded"))
NODES = st.builds(
    lambda state, phase, quiet, attempt: node(
        0,
        phase=phase,
        state=state,
        quiet=quiet,
        attempt=attempt,
        action="DELETE" if phase == "cleanup" else "CREATE",
    ),
    STATES,
    st.sampled_from(("converge", "cleanup", "operate")),
    st.booleans(),
    st.integers(0, 1),
)


@given(st.lists(NODES, max_size=4), st.booleans())
def test_every_cell_has_one_letter_and_only_an_operation_without_the_resource_has_none(
    nodes: list[NodeFact], is_over: bool
) -> None:
    cell = cell_of(nodes, (), is_over=is_over)
    assert len(cell) == 1
    assert (cell == ABSENT) == (not nodes)
    if is_over:
        assert cell != "p"


def test_a_row_has_a_cell_for_each_operation_with_its_time_and_the_reason_of_its_failure() -> None:
    view = runs_of(
        [operation("t2", "FAILED"), operation("t1", action="CREATE")],
        facts(
            {
                "t1": {"a": [made()], "b": [made()]},
                "t2": {"a": [made(), deletion()], "b": [made(state="failed")]},
            },
            (
                work("CREATE", "t1"),
                work("UPDATE", "t2", ended_at=None),
                work("REPLACE", "t2", ended_at=None, is_complete=False),
                work("CREATE", "t2", ended_at=13.5),
                work("DELETE", "t2"),
                # A health mark, and a signal, are no work of the operation.
                work("CHECK", "t2", ended_at=999.0),
                work("SIGNAL", "t2", ended_at=999.0),
                work("CREATE", "t2", name="b", is_complete=False, type="Other"),
            ),
            reasons=(("t2", "b", "the last"), ("t2", "b", "the first"), ("t1", "a", "tried again")),
            types={"a": "Cloud::Newer"},
            nested={"a": "inner"},
        ),
        more=True,
    )
    first, second = view.rows
    assert (first.name, first.type, first.nested_stack_id, first.cells) == (
        "a",
        "Cloud::Newer",
        "inner",
        "rm",
    )
    assert (first.seconds, first.reasons) == ({0: 5.5, 1: 2.0}, {})
    assert (second.name, second.type, second.nested_stack_id, second.cells) == ("b", "Other", None, "fm")
    assert second.reasons == {0: "the last"}
    assert (view.more, view.trimmed) == (True, ())


def test_an_operation_whose_steps_are_purged_is_named() -> None:
    view = runs_of([operation("t2"), operation("t1")], facts({"t2": {"a": [made()]}}), more=False)
    assert view.trimmed == ("t1",)
    assert [row.cells for row in view.rows] == ["m-"]


def test_a_long_reason_is_cut() -> None:
    seen = facts({"t1": {"a": [made(state="failed")]}}, reasons=(("t1", "a", "x" * 5000),))
    (row,) = runs_of([operation("t1", "FAILED")], seen, more=False).rows
    assert len(row.reasons[0]) < 400
