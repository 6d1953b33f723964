"""What every store writes down of attempts: whose they are, why one is followed by another, and which were lost."""

from orchestrator.model.messages import CheckOrder
from orchestrator.store.history.events import EventRow
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.views.facts import LOST, RETRY
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_update, created, node_of


def told(bench: Bench, resource: str = "a") -> list[EventRow]:
    return [row for row in bench.store.events.read("s-id") if row.resource == resource]


def said(rows: list[EventRow]) -> list[tuple[str, str, str]]:
    return [(f"{row.action}_{row.status}", row.cause, row.reason) for row in rows]


def try_again(bench: Bench, order: CheckOrder, reason: str, *, counts: bool = True) -> None:
    """Take a step that goes wrong, and let the time pass until it is tried again."""
    outcome = Outcome(ending=Ending.RETRY, reason=reason, seconds=5, counts=counts)
    assert bench.store.nodes.finish(bench.claim(order), outcome).accepted
    bench.clock.pass_(6)
    assert [each.key for each in bench.sweep()] == ["a"]


def test_events_tell_whose_attempt_it_was(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.finish(bench.claim(a, worker="first"), Ending.WAITING, seconds=0)
    bench.sweep()
    bench.finish(bench.claim(a, worker="second"))
    assert [(row.status, row.worker, row.cause) for row in told(bench)] == [
        ("IN_PROGRESS", "first", ""),
        ("COMPLETE", "second", ""),
    ]
    assert [row.worker for row in told(bench, "")] == [""]


def test_who_did_it_last_is_kept(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}})
    bench.finish(bench.claim(a, worker="somebody"))
    workers = {node.key: node.worker for node in bench.store.observations.facts("s-id", "s-t1").nodes}
    assert (workers["a"], workers["b"]) == ("somebody", None)


def test_every_counted_retry_is_told_with_its_reason(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    try_again(bench, a, "busy")
    try_again(bench, a, "busy")
    bench.run(a)
    assert said(told(bench)) == [
        ("CREATE_IN_PROGRESS", "", ""),
        ("CREATE_IN_PROGRESS", RETRY, "busy"),
        ("CREATE_IN_PROGRESS", RETRY, "busy"),
        ("CREATE_COMPLETE", "", ""),
    ]
    assert {row.worker for row in told(bench)} == {"w"}


def test_a_retry_that_nothing_limits_is_told_once_for_each_reason(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    for reason in ("silent", "silent", "deaf", "deaf", "silent"):
        try_again(bench, a, reason, counts=False)
    assert [row.reason for row in told(bench) if row.cause == RETRY] == ["silent", "deaf", "silent"]


def test_a_step_that_is_not_over_is_no_retry(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.finish(bench.claim(a), Ending.WAITING, seconds=1, reason="not yet")
    assert said(told(bench)) == [("CREATE_IN_PROGRESS", "", "")]


def test_an_action_that_never_began_tells_of_its_retries_too(bench: Bench) -> None:
    created(bench, {"a": set()})
    (a,) = begin_update(bench, {"a": set()})
    for reason, counts in (("busy", True), ("busy", True), ("silent", False), ("silent", False)):
        outcome = Outcome(ending=Ending.RETRY, reason=reason, untouched=True, counts=counts)
        assert bench.store.nodes.finish(bench.claim(a), outcome).accepted
        bench.sweep()
    rows = [row for row in told(bench) if row.cause]
    assert said(rows) == [
        ("UPDATE_IN_PROGRESS", RETRY, "busy"),
        ("UPDATE_IN_PROGRESS", RETRY, "busy"),
        ("UPDATE_IN_PROGRESS", RETRY, "silent"),
    ]


def test_a_lost_attempt_is_told_with_who_was_at_it(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    lost = bench.claim(a, worker="gone")
    bench.clock.pass_(61)
    assert [order.key for order in bench.sweep()] == ["a"]
    bench.sweep()
    bench.finish(bench.claim(a, worker="other"))
    assert not bench.finish(lost).accepted
    rows = told(bench)
    assert [(row.status, row.cause, row.worker) for row in rows] == [
        ("IN_PROGRESS", "", "gone"),
        ("IN_PROGRESS", LOST, "gone"),
        ("COMPLETE", "", "other"),
    ]
    assert rows[1].reason == "gone was not heard of any more"
    assert rows[1].type == "Test"


def test_what_a_dead_process_had_claimed_is_told_as_lost(bench: Bench) -> None:
    a, b = bench.begin({"a": set(), "b": set()})
    bench.claim(a, worker="dead")
    bench.claim(b, worker="alive")
    bench.store.sweeper.take_over(lambda name: name == "dead")
    bench.sweep()
    assert [row.cause for row in told(bench, "a")] == ["", LOST]
    assert [row.cause for row in told(bench, "b")] == [""]


def test_who_only_looked_whether_to_stop_began_nothing(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()}, hooks={"a": ["pre-create"]})
    assert bench.claim(a).looks
    bench.clock.pass_(61)
    bench.sweep()
    outcome = Outcome(ending=Ending.RETRY, reason="busy", seconds=0)
    assert bench.store.nodes.finish(bench.claim(a), outcome).accepted
    assert told(bench) == []


def test_whoever_waits_for_another_operation_to_let_go_has_done_nothing(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.claim(a, worker="first")
    (again,) = begin_update(bench, {"a": set()})
    assert bench.store.nodes.claim(again, worker="second") is None
    nodes = bench.store.observations.facts("s-id", "s-t2").nodes
    assert [node.worker for node in nodes if node.key == "a" and node.phase == "converge"] == [None]


def test_a_node_that_loses_too_many_workers_is_doomed_and_no_other(bench: Bench) -> None:
    a, b = bench.begin({"a": set(), "b": set()})
    bench.claim(b)
    for lost in range(1, 6):
        bench.claim(a, worker=f"w{lost}")
        bench.clock.pass_(61)
        bench.store.nodes.heartbeat([("s-t1", b.no, 1)])
        swept = bench.store.sweeper.sweep()
        doomed = [(order.key, times) for order, times in swept.doomed]
        assert doomed == ([("a", 5)] if lost == 5 else [])
        assert [order.key for order in swept.orders] == ([] if lost == 5 else ["a"])
    # If the coordinator dies before it has failed the node, the next lost attempt is counted too.
    bench.claim(a, worker="w6")
    bench.clock.pass_(61)
    bench.store.nodes.heartbeat([("s-t1", b.no, 1)])
    assert [(order.key, times) for order, times in bench.store.sweeper.sweep().doomed] == [("a", 6)]


def test_message_that_nobody_takes_is_no_lost_attempt(bench: Bench) -> None:
    bench.begin({"a": set()})
    for _ in range(5):
        bench.clock.pass_(600)
        swept = bench.store.sweeper.sweep()
        assert [order.key for order in swept.orders] == ["a"]
        assert not swept.doomed
    assert node_of(bench, "a", "converge", number=1).lost == 0


def test_sweep_that_finds_nothing_due_is_the_last(bench: Bench) -> None:
    assert not bench.store.sweeper.sweep().more
    bench.begin({"a": set()})
    assert not bench.store.sweeper.sweep().more
