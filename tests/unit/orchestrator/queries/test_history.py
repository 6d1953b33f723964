"""What faces tell of operations that are over."""

from dataclasses import replace

import pytest

from orchestrator.queries.history import traversal_view
from orchestrator.store.history.past import TraversalRow
from orchestrator.store.stacks.stacks import StackRow

STACK = StackRow(
    id="s-id",
    name="s",
    project="p",
    action="CREATE",
    status="COMPLETE",
    reason="",
    traversal_id="s-t1",
    template_id="none",
    parent_id=None,
    parent_resource=None,
    root_id="s-id",
    depth=0,
    completed_template_id="none",
    timeout_minutes=60,
    rollback=False,
    created_at=100.0,
    updated_at=102.0,
    deleted_at=None,
)
ROW = TraversalRow(
    id="s-t1",
    action="CREATE",
    status="COMPLETE",
    reason="",
    template_id="none",
    created_at=100.0,
    ended_at=102.0,
    counts={},
)


def test_a_replaced_resource_is_neither_made_nor_deleted() -> None:
    counts = {"CREATE_COMPLETE": 3, "UPDATE_COMPLETE": 1, "DELETE_COMPLETE": 2}
    view = traversal_view(replace(ROW, action="UPDATE", counts=counts, replaced=2), STACK)
    assert (view.made, view.changed, view.replaced, view.deleted) == (1, 1, 2, 0)


@pytest.mark.parametrize(
    ("action", "happened", "failed"),
    [
        ("CREATE", "CREATE_FAILED", 2),
        ("UPDATE", "DELETE_FAILED", 2),
        ("CHECK", "CHECK_FAILED", 2),
        # Somebody marked it as unhealthy meanwhile, or later.
        ("CREATE", "CHECK_FAILED", 0),
        ("UPDATE", "SIGNAL_FAILED", 0),
        ("CREATE", "CREATE_COMPLETE", 0),
    ],
)
def test_an_operation_failed_at_what_it_did_itself(action: str, happened: str, failed: int) -> None:
    assert traversal_view(replace(ROW, action=action, counts={happened: 2}), STACK).failed == failed
