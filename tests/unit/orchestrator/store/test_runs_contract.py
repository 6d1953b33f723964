"""What every store promises of operations side by side: each node and each action of all of them, in few statements."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.store.nodes.claims import Ending
from tests.counting import heard
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, begin_update, created, order_of


@contextmanager
def queries() -> Iterator[list[str]]:
    """Collect the queries that a store sends meanwhile."""
    sent: list[str] = []
    with heard(lambda sql: sent.append(sql) if sql.lstrip().startswith("SELECT ") else None):
        yield sent


def test_all_operations_are_read_at_once_with_what_they_did(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    bench.clock.pass_(10)
    (order,) = begin_update(bench, {"a": set(), "b": set()}, clean=["b"])
    claim = bench.claim(order)
    bench.clock.pass_(5)
    bench.finish(claim, Ending.FAILED, reason="no luck")
    assert begin_delete(bench, number=3)
    bench.run_all(order_of(bench, no, number=3) for no in (0, 1))
    with queries() as sent:
        facts = bench.store.runs.facts("s-id", ["s-t3", "s-t2", "s-t1"])
    assert len(sent) == 5, sent
    states = {(node.traversal_id, node.name, node.alike.phase): node.alike for node in facts.nodes}
    assert states["s-t1", "a", "converge"].state == "done"
    assert states["s-t2", "a", "converge"].state == "failed"
    assert states["s-t3", "b", "cleanup"].state == "done"
    work = {(each.traversal_id, each.name, each.action): each for each in facts.work}
    failed = work["s-t2", "a", "UPDATE"]
    assert (failed.is_complete, failed.begun_at, failed.ended_at) == (False, 1_000_010, 1_000_015)
    assert work["s-t1", "b", "CREATE"].is_complete is True
    assert work["s-t3", "b", "DELETE"].type == "Test"
    assert facts.reasons == [("s-t2", "a", "no luck")]
    assert (facts.types, facts.nested) == ({"a": "Test", "b": "Test"}, {})


def test_only_the_operations_that_are_asked_for_are_read(bench: Bench) -> None:
    created(bench, {"a": set()})
    assert begin_delete(bench)
    bench.begin({"other": set()}, stack="u")
    facts = bench.store.runs.facts("s-id", ["s-t1"])
    assert (
        {node.traversal_id for node in facts.nodes} == {each.traversal_id for each in facts.work} == {"s-t1"}
    )
    assert bench.store.runs.facts("s-id", []).nodes == []
