"""What the head of pages about one stack says."""

from dataclasses import replace

from orchestrator.observation.heads import head_of
from orchestrator.observation.views import OperationView

UNDER_WAY = OperationView(
    stack="web",
    stack_id="s",
    project="default",
    traversal_id="t",
    action="CREATE",
    status="IN_PROGRESS",
    reason="",
    begun_at=100.0,
    ended_at=None,
    deadline=3700.0,
    in_force=True,
    stack_state="CREATE_IN_PROGRESS",
)
STORED = {"blocked": 3, "running": 1, "done": 4, "failed": 1}


def test_counts_are_told_in_the_order_of_a_resources_life() -> None:
    head = head_of(UNDER_WAY, STORED, tags=(), deleted_at=None, cursor=7, as_of=101.0)
    assert list(head.counts.items()) == [("blocked", 3), ("running", 1), ("done", 4), ("failed", 1)]
    assert (head.total, head.done) == (9, 4)


def test_what_is_still_blocked_when_all_is_over_is_never_reached() -> None:
    over = replace(UNDER_WAY, status="FAILED", ended_at=110.0)
    head = head_of(over, STORED, tags=(), deleted_at=None, cursor=7, as_of=111.0)
    assert head.counts["unreached"] == 3
    assert "blocked" not in head.counts
    assert head.total == 9
