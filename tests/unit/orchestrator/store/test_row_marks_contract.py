"""What every store promises to plans: what is done to a row changes its mark, and no plan begins on other rows."""

from dataclasses import replace

import pytest

from orchestrator.model.plan_binding import PlanBinding, since
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import update_of


@pytest.fixture
def at_rest(bench: Bench) -> Bench:
    bench.run_all(bench.begin({"a": set(), "b": {"a"}}))
    return bench


def test_marks_stay_until_something_is_done_to_a_row(at_rest: Bench) -> None:
    marks, store = at_rest.store.row_marks, at_rest.store
    before = marks.of("s-id")
    assert sorted(mark.name for mark in before.values()) == ["a", "b", "stack s"]
    assert marks.of("s-id") == before
    row, stack = store.stacks.resource("s-id", "a"), store.stacks.find("s-id", project="p")
    # Each of these leaves the stack's last operation the same.
    assert store.stacks.write_signal(row, stack.traversal_id, {"n": 1}, "told")
    signalled = marks.of("s-id")
    assert since(before, signalled) == ("a",)
    row = store.stacks.resource("s-id", "a")
    assert store.health.mark(row, [(stack, None)], unhealthy=True, reason="it hums")
    assert since(signalled, marks.of("s-id")) == ("a",)


def test_a_planned_traversal_begins_on_the_rows_of_its_plan_alone(at_rest: Bench) -> None:
    store = at_rest.store
    binding = PlanBinding(
        id="p",
        action="UPDATE",
        project="p",
        stack="s",
        stack_id="s-id",
        traversal_id="s-t1",
        planned_at=0.0,
        definition="d",
        rows=store.row_marks.of("s-id"),
    )
    new = replace(update_of(at_rest, {"a": set(), "b": {"a"}}), applies=binding)
    row = store.stacks.resource("s-id", "b")
    assert store.stacks.write_signal(row, "s-t1", {"n": 1}, "told")
    assert store.traversal_starts.begin_next(new, expected="s-t1") is None
    assert store.stacks.find("s-id", project="p").traversal_id == "s-t1"
    fresh = replace(new, applies=replace(binding, rows=store.row_marks.of("s-id")))
    assert store.traversal_starts.begin_next(fresh, expected="s-t1") is not None
    assert store.stacks.find("s-id", project="p").traversal_id == new.id
