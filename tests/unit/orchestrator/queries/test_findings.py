"""What needs a person: which facts are findings, in which order, and what is to be done about each."""

from typing import Any

import pytest

from orchestrator.queries.attention import with_installation
from orchestrator.queries.findings import (
    MOST,
    broker_finding,
    cache_findings,
    database_finding,
    drift_findings,
    ended_findings,
    grouped,
    held_findings,
    machine_findings,
    partial_findings,
    process_findings,
    quiet_findings,
    sink_findings,
    stuck_findings,
    totals_of,
)
from orchestrator.store.installation.sink_cursors import LateCursor
from orchestrator.store.stacks.attention import (
    AttentionRows,
    DriftedStack,
    EndedStack,
    HeldNode,
    PartialStack,
    QuietOperation,
)
from orchestrator.views.attention import KINDS, AttentionView, Finding
from orchestrator.views.caches import CacheView
from orchestrator.views.nodes import NodeView
from orchestrator.views.operations import StuckView
from tests.unit.orchestrator.queries.test_standstill import process

NOW = 10_000.0


def ended(name: str, action: str = "CREATE", status: str = "FAILED") -> EndedStack:
    return EndedStack(
        id=f"{name}-id",
        name=name,
        action=action,
        status=status,
        reason="no room",
        traversal_id="t",
        since=9.0,
    )


def rows(**some: Any) -> AttentionRows:
    return AttentionRows(as_of=NOW, **some)


@pytest.mark.parametrize(
    ("action", "button"), [("CREATE", "retry"), ("ROLLBACK", "retry"), ("DELETE", ""), ("CHECK", "")]
)
def test_a_failed_stack_can_be_tried_again_where_an_update_does_that(action: str, button: str) -> None:
    (finding,) = ended_findings(rows(failed=[ended("web", action)]))
    assert (finding.kind, finding.subject, finding.since, finding.action) == ("failed", "web", 9.0, button)
    assert finding.what == f"{action}_FAILED: no room"
    assert finding.page == "stack/web-id/failure"
    assert finding.command == f"isotherm stack {'update web --existing' if button else 'failure web'}"


def test_a_rolled_back_stack_is_a_finding_of_its_own_kind() -> None:
    (finding,) = ended_findings(rows(rolled_back=[ended("web", "ROLLBACK", "COMPLETE")]))
    assert (finding.kind, finding.what, finding.action) == ("rolled_back", "ROLLBACK_COMPLETE: no room", "")


@pytest.mark.parametrize(
    ("resources", "left", "what", "why"),
    [
        (1, 0, "1 resource differs from what is recorded", "--refresh"),
        (3, 2, "3 resources differ from what is recorded, 2 of them again and again", "Another system"),
    ],
)
def test_a_stack_that_others_changed_is_a_finding(resources: int, left: int, what: str, why: str) -> None:
    drifted = DriftedStack(
        id="i", name="my web", traversal_id="t", resources=resources, left_alone=left, since=5.0
    )
    (finding,) = drift_findings(rows(drifted=[drifted], drifted_total=1))
    assert (finding.kind, finding.what, finding.since) == ("drift", what, 5.0)
    assert why in finding.why
    assert finding.command == "isotherm stack drift show 'my web'"


def test_a_stack_that_was_updated_in_part_is_a_finding_with_the_first_names_that_were_left() -> None:
    left = PartialStack(id="i", name="my web", traversal_id="t", partial=tuple("abcdefg"))
    (group,) = grouped(partial_findings(rows(partial=[left])), totals_of(rows(partial_total=60), ()))
    (finding,) = group.findings
    assert (finding.kind, finding.what) == ("partial", "not as defined: a, b, c, d, e and 2 more")
    assert (finding.page, finding.command) == ("stack/i", "isotherm stack update 'my web' --existing")
    assert (group.total, group.page) == (60, "stacks?partial=1")


def test_a_held_resource_is_let_on_by_clearing_its_own_breakpoint() -> None:
    held = HeldNode(
        stack_id="i", stack="web", traversal_id="t", resource="a b/c", hook="pre-create", since=5.0
    )
    (finding,) = held_findings(rows(held=[held]))
    assert (finding.action, finding.resource, finding.hook) == ("clear_hook", "a b/c", "pre-create")
    assert finding.page == "stack/i/graph?focus=a%20b%2Fc"
    assert finding.command == "isotherm stack hook clear web 'a b/c'"


def quiet(seconds: float, usual: float | None = None, action: str = "UPDATE") -> list[Finding]:
    row = QuietOperation(
        id="i",
        name="web",
        action=action,
        traversal_id="t",
        begun_at=0.0,
        since=NOW - seconds,
    )
    past = {} if usual is None else {"i": [usual, 0.0, usual / 2], "other": [9000.0]}
    return quiet_findings(rows(quiet=[row]), (), past)


@pytest.mark.parametrize(
    ("seconds", "usual", "is_found"),
    [
        # Without an earlier run: half an hour.
        (1799.0, None, False),
        (1801.0, None, True),
        # Short runs: five minutes.
        (299.0, 10.0, False),
        (301.0, 10.0, True),
        # Long runs: as long as the longest.
        (3599.0, 3600.0, False),
        (3601.0, 3600.0, True),
    ],
)
def test_an_operation_is_quiet_for_longer_than_its_earlier_runs_took(
    seconds: float, usual: float | None, is_found: bool
) -> None:
    assert bool(quiet(seconds, usual)) is is_found


def test_a_quiet_operation_says_what_is_usual() -> None:
    assert "no earlier run of this operation is known" in quiet(2000)[0].why
    assert "earlier runs took less than that" in quiet(2000, 10)[0].why
    assert (
        "longer than the longest of its last 3 runs took altogether, 60 minutes" in quiet(4000, 3600)[0].why
    )


def test_a_deletion_cannot_be_cancelled() -> None:
    assert [quiet(2000, None, action)[0].action for action in ("UPDATE", "DELETE")] == ["cancel", ""]


def stuck(resource: str, why: str, seconds: float, stack: str = "web") -> StuckView:
    return StuckView(
        stack=stack, stack_id=f"{stack}-id", resource=resource, action="CREATE", why=why, seconds=seconds
    )


def test_the_stuck_resources_of_a_stack_are_one_finding() -> None:
    some = [
        stuck("a", "lost", 50.0),
        stuck("b", "lost", 40.0),
        stuck("c", "overdue", 30.0),
        stuck("a", "lost", 9.0, "db"),
    ]
    web, db = stuck_findings(some, NOW)
    assert (web.subject, web.since) == ("web", NOW - 50)
    assert web.what == "2 resources: the worker's lease has expired; 1 resource: its next check is overdue"
    assert db.what == "1 resource: the worker's lease has expired"


def test_what_is_stuck_is_not_reported_as_quiet_as_well() -> None:
    row = QuietOperation(id="web-id", name="web", action="CREATE", traversal_id="t", begun_at=0.0, since=0.0)
    known = stuck_findings([stuck("a", "lost", 50.0)], NOW)
    assert quiet_findings(rows(quiet=[row]), known, {}) == []


def test_without_workers_everything_stands_still_and_that_is_one_finding() -> None:
    under_way = rows(in_progress=2, oldest=("web", "i", 1.0))
    (finding,) = process_findings([process("coordinator")], under_way, embedded=False)
    assert finding.what == "no worker has been seen for a day or longer"
    assert finding.why == "2 operations in progress cannot go on: start one with the command."
    assert (finding.command, finding.page) == ("isotherm worker", "stacks/workers")
    (finding,) = process_findings([process("worker")], rows(), embedded=False)
    assert finding.why.startswith("An operation that is begun now would not go on")
    assert process_findings([process("worker"), process("coordinator")], under_way, embedded=False) == []


def test_without_a_broker_a_process_is_missing_only_while_something_is_in_progress() -> None:
    assert process_findings([], rows(), embedded=True) == []
    (finding,) = process_findings([], rows(in_progress=1, oldest=("web", "i", 1.0)), embedded=True)
    assert (finding.subject, finding.command) == ("web", "isotherm stack watch web")


def test_nodes_that_are_not_up_are_lost_the_longest_first() -> None:
    nodes = [
        NodeView(name="n1", state="up"),
        NodeView(name="n2", state="unreachable", seen_at=9.0),
        NodeView(name="a/b", state="failing", seen_at=5.0, drained=True),
    ]
    assert [(each.subject, each.what, each.since, each.page) for each in machine_findings(nodes)] == [
        ("a/b", "failing, drained", 5.0, "stacks/nodes/a%2Fb"),
        ("n2", "unreachable", 9.0, "stacks/nodes/n2"),
    ]


def test_a_sink_that_is_behind_is_named_without_its_error() -> None:
    late = LateCursor(
        name="audit",
        type="audit",
        stack_id=None,
        stack_name=None,
        waiting_since=5.0,
        failing_since=4.0,
        failures=3,
        total=70,
    )
    (finding,) = sink_findings([late])
    assert (finding.subject, finding.what) == ("audit", "failed 3 times since its last success")
    assert totals_of(rows(failed_total=2), [late])["sink"] == 70


def test_a_cache_is_a_finding_unless_it_works_or_is_disabled() -> None:
    views = [CacheView(client=state, state=state) for state in ("ok", "disabled", "unreachable", "wrong")]
    assert [each.subject for each in cache_findings(views)] == ["unreachable", "wrong"]


def test_findings_are_grouped_by_urgency_and_bounded() -> None:
    many = ended_findings(rows(failed=[ended(f"s{no}") for no in range(MOST + 1)]))
    nodes = machine_findings([NodeView(name="n", state="failing")])
    caches = cache_findings([CacheView(client="nova", state="wrong")])
    groups = grouped([*caches, *many, *nodes, database_finding("away")], {"failed": 170})
    assert [(group.kind, len(group.findings), group.total) for group in groups] == [
        ("database", 1, 1),
        ("machine", 1, 1),
        ("failed", MOST, 170),
        ("cache", 1, 1),
    ]
    assert "CREATE_FAILED" in groups[2].page
    assert all(group.title == KINDS[group.kind] for group in groups)


def test_what_the_installation_lacks_joins_what_the_store_knows() -> None:
    stored = AttentionView(
        project="p",
        as_of=NOW,
        groups=grouped(ended_findings(rows(failed=[ended("web")])), {"failed": 90}),
    )
    view = with_installation(stored, [broker_finding(1.0), None], nodes=[NodeView(name="n", state="failing")])
    assert [(group.kind, group.total) for group in view.groups] == [
        ("broker", 1),
        ("machine", 1),
        ("failed", 90),
    ]
    assert (view.total, view.to_dict()["total"]) == (92, 92)
