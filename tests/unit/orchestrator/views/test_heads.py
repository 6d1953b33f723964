"""What is told of how many resources are in which state."""

from dataclasses import replace

from orchestrator.store.stacks.tallies import Tally
from orchestrator.views.facts import NodeFact
from orchestrator.views.states import counted

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
ALIKE = (
    (replace(NODE, state="done", attempt=1), 4),
    (replace(NODE, state="done", quiet=True), 2),
    (replace(NODE, state="running", attempt=1), 1),
    (replace(NODE, state="waiting", attempt=1), 1),
    (replace(NODE, state="waiting", attempt=1, retries=1, reason="no answer"), 2),
    (replace(NODE, state="waiting", hook="pre-create"), 1),
    (replace(NODE, state="blocked"), 3),
    (replace(NODE, phase="join"), 2),
)


def test_counts_are_told_in_the_order_of_a_resources_life() -> None:
    assert list(counted(ALIKE, is_over=False).items()) == [
        ("blocked", 3),
        ("running", 1),
        ("waiting", 1),
        ("retrying", 2),
        ("held", 1),
        ("done", 4),
        ("unchanged", 2),
        ("unreached", 2),
    ]


def test_what_was_already_as_it_is_to_be_is_done() -> None:
    tally = Tally(counts=counted(ALIKE, is_over=False))
    assert (tally.total, tally.done) == (16, 6)


def test_what_has_not_begun_when_all_is_over_is_never_reached() -> None:
    counts = counted(ALIKE, is_over=True)
    assert (counts["unreached"], sum(counts.values())) == (6, 16)
    assert counts.keys().isdisjoint({"blocked", "held"})
