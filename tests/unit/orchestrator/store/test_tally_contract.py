"""What every store promises to those who only want to know how many are in which state."""

from orchestrator.queries.graph import picture_of
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending, Outcome
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_unclean_contract import fail, made
from tests.unit.orchestrator.store.updating import begin_update, pass_on


def counts(bench: Bench, traversal_id: str) -> dict[str, int]:
    """Return how many are in which state, and hold that whoever else counts tells the same."""
    observations = bench.store.observations
    head = observations.head("s-id", traversal_id)
    picture = picture_of(observations.facts("s-id", traversal_id))
    told = dict(head.tally.counts)
    assert told == {state: count for state, count in picture.counts.items() if count}
    assert head.operation == picture.operation
    assert bench.store.families.counts(traversal_id) == told
    stack = bench.store.stacks.find("s", project="p")
    assert bench.store.families.progress(stack).counts == told
    (row,) = bench.store.stack_pages.page(project="p").rows
    assert (row.counts, row.total, row.done) == (told, head.tally.total, head.tally.done)
    under_way = head.operation.status == "IN_PROGRESS"
    assert bench.store.census.take().nodes == (told if under_way else {})
    return told


def test_a_tally_counts_what_the_graph_shows(bench: Bench) -> None:
    a, c, d = bench.begin({"a": set(), "b": {"a"}, "c": set(), "d": set(), "e": {"b", "c", "d"}})
    assert counts(bench, "s-t1") == {"blocked": 2, "ready": 3}
    bench.run(a)
    bench.claim(c)
    assert counts(bench, "s-t1") == {"blocked": 1, "ready": 2, "running": 1, "done": 1}
    bench.finish(bench.claim(d), Ending.FAILED, reason="no room")
    assert counts(bench, "s-t1") == {"running": 1, "done": 1, "failed": 1, "unreached": 2}


def test_what_stands_at_a_hook_is_held_until_all_is_over(bench: Bench) -> None:
    a, b, *_ = bench.begin({"a": set(), "b": set(), "c": {"a"}})
    with bench.store.database.write() as connection:
        stands = {"state": "waiting", "hook": "pre-create"}
        connection.execute(tables.node.update().where(tables.node.c.no == a.no).values(**stands))
    assert counts(bench, "s-t1") == {"held": 1, "ready": 1, "blocked": 1}
    bench.finish(bench.claim(b), Ending.FAILED, reason="no room")
    assert counts(bench, "s-t1") == {"failed": 1, "unreached": 2}


def test_what_is_tried_again_is_told_so_everywhere(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.store.nodes.finish(bench.claim(a), Outcome(ending=Ending.RETRY, reason="busy"))
    assert counts(bench, "s-t1") == {"retrying": 1}


def test_a_cleanup_that_was_held_back_is_counted_as_never_reached(bench: Bench) -> None:
    made(bench, {"a": set(), "b": {"a"}})
    orders = {order.key: order for order in pass_on(bench, begin_update(bench, {"k": set()}))}
    fail(bench, orders["b"])
    assert counts(bench, "s-t2") == {"ready": 1, "failed": 1, "unreached": 1}
    bench.run(orders["k"])
    assert bench.store.traversals.complete("s-t2")
    assert counts(bench, "s-t2") == {"done": 1, "failed": 1, "unreached": 1}


def test_of_no_traversal_nothing_is_counted(bench: Bench) -> None:
    assert bench.store.families.counts("none") == {}
