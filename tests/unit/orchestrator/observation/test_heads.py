"""What the head of pages about one stack says."""

from dataclasses import replace

from orchestrator.observation.facts import NodeFact
from orchestrator.observation.heads import HeadView, head_of
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
NODE = NodeFact(
    no=0,
    key="",
    phase="converge",
    action="-",
    state="blocked",
    dependents=(),
    quiet=False,
    attempt=0,
    retries=0,
    due_at=None,
    hook=None,
    worker=None,
    resource_id="",
)
TALLY = (
    (replace(NODE, state="done", attempt=1), 4),
    (replace(NODE, state="done", quiet=True), 2),
    (replace(NODE, state="running", attempt=1), 1),
    (replace(NODE, state="waiting", attempt=1), 1),
    (replace(NODE, state="waiting", attempt=1, retries=1, reason="no answer"), 2),
    (replace(NODE, state="waiting", hook="pre-create"), 1),
    (replace(NODE, state="blocked"), 3),
    (replace(NODE, phase="end", resource_id=None), 1),
    (replace(NODE, phase="join", resource_id=None), 5),
)


def head(operation: OperationView) -> HeadView:
    return head_of(operation, TALLY, tags=(), deleted_at=None, cursor=7, as_of=101.0)


def test_counts_are_told_in_the_order_of_a_resources_life() -> None:
    assert list(head(UNDER_WAY).counts.items()) == [
        ("blocked", 3),
        ("running", 1),
        ("waiting", 1),
        ("retrying", 2),
        ("held", 1),
        ("done", 4),
        ("unchanged", 2),
    ]


def test_what_was_already_as_it_is_to_be_is_done_and_what_only_counts_others_is_nothing() -> None:
    shown = head(UNDER_WAY)
    assert (shown.total, shown.done) == (14, 6)


def test_what_has_not_begun_when_all_is_over_is_never_reached() -> None:
    over = replace(UNDER_WAY, status="FAILED", ended_at=110.0)
    assert head(over).counts["unreached"] == 4
    assert "blocked" not in head(over).counts
    assert head(over).total == 14
