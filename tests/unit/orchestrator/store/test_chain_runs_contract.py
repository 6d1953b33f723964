"""What every store promises of links of a chain that are carried out before they are claimed: all of it or nothing."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import END, CheckOrder
from orchestrator.store.nodes import run_statements
from orchestrator.store.nodes.claims import Claim, Ending, FinishedBatch, Outcome
from orchestrator.store.nodes.runs import Run
from tests.thoroughness import examples
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_batches_contract import (
    SEEDS,
    STATES,
    TYPES,
    generic_plan,
    one_by_one,
    outcome_of,
    pass_on,
    picture,
    put,
)
from tests.unit.orchestrator.store.updating import begin_update

NAMES = tuple("abcdef")
CHAIN = {name: {NAMES[number - 1]} if number else set[str]() for number, name in enumerate(NAMES)}
#: Rows of all that a run may change.
ALL_ROWS = ("stack", "traversal", "node", "resource", "event")


def run_of(bench: Bench, claim: Claim, most: int, outcome: Callable[[Claim], Outcome] = outcome_of) -> Run:
    """Carry out a claimed node, and at most so many links behind it."""
    run = bench.store.nodes.run_ahead(claim, types=TYPES, most=most)
    run.add(claim, outcome(claim))
    while (link := bench.store.nodes.next_of_run(run)) is not None:
        run.add(link, outcome(link))
    return run


def finished(bench: Bench, run: Run, most: int = 1) -> FinishedBatch | None:
    return bench.store.nodes.finish_run(run, types=TYPES, most=most)


def begun(bench: Bench, requires: dict[str, set[str]] = CHAIN, **more: Any) -> Claim:
    """Begin a stack of which one resource is ready, and claim that."""
    (order,) = bench.begin(dict(requires), **more)
    return bench.claim(order)


def events(bench: Bench, stack: str) -> list[tuple[str, str, str, float]]:
    """Return the events of a stack in their order."""
    sql = sa.text("SELECT resource, action, status, at FROM event WHERE stack_id = :id ORDER BY id")
    with bench.store.database.read() as connection:
        return [tuple(row) for row in connection.execute(sql, {"id": f"{stack}-id"})]


def all_rows(bench: Bench) -> list[Any]:
    with bench.store.database.read() as connection:
        return [connection.execute(sa.text(f"SELECT * FROM {name} ORDER BY 1, 2")).all() for name in ALL_ROWS]


def test_the_links_of_a_run_are_on_record_as_if_each_were_done_by_itself(bench: Bench) -> None:
    one_by_one(bench, bench.begin(dict(CHAIN), stack="s"))
    run = run_of(bench, begun(bench, stack="z"), most=32)
    assert [claim.order.key for claim, _ in run.ended] == list(NAMES)
    done = finished(bench, run)
    assert done is not None
    assert ([order.phase for order in done.ready], done.claims, done.passed) == ([END], [], 5)
    assert picture(bench, "z") == picture(bench, "s")
    assert events(bench, "z") == events(bench, "s")


def in_runs(bench: Bench, orders: Sequence[CheckOrder], chance: random.Random) -> int:
    """Carry out everything, each claimed node with some links behind it; return how many links there were."""
    waiting, claims, passed = pass_on(bench, orders), list[Claim](), 0
    while waiting or claims:
        claim = claims.pop() if claims else bench.claim(waiting.pop())
        run = run_of(bench, claim, most=chance.choice((1, 2, 32)))
        if run.passed:
            done = finished(bench, run, most=chance.choice((0, 1)))
            assert done is not None
        else:
            done = bench.store.nodes.finish_batch(run.ended, types=TYPES, most=1)
        assert not done.left
        passed += done.passed
        claims += done.claims
        waiting += pass_on(bench, done.ready)
    return passed


def branches(seed: int) -> dict[str, set[str]]:
    """Return a graph of 24 resources in which most require one other."""
    chance = random.Random(seed)
    names = [f"r{number:02}" for number in range(24)]
    requires = {names[0]: set[str]()}
    for number in range(1, len(names)):
        requires[names[number]] = {names[number - 1 if chance.random() < 0.7 else chance.randrange(number)]}
        if chance.random() < 0.2:
            requires[names[number]].add(names[chance.randrange(number)])
    return requires


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_with_runs_is_on_record_as_one_without(bench: Bench, seed: int) -> None:
    one_by_one(bench, bench.begin(branches(seed), stack="s"))
    assert in_runs(bench, bench.begin(branches(seed), stack="z"), random.Random(seed)) > 0
    assert picture(bench, "z") == picture(bench, "s")


def test_a_link_receives_the_node_data_of_the_one_before_it_and_of_what_is_done(bench: Bench) -> None:
    orders = {
        order.key: order for order in bench.begin({"x": set(), "a": set(), "b": {"a", "x"}, "c": {"b"}})
    }
    x = bench.claim(orders["x"])
    bench.store.nodes.finish(x, outcome_of(x))
    run = run_of(bench, bench.claim(orders["a"]), most=32)
    received = {
        claim.order.key: [data[1] for data in bench.store.nodes.inputs(claim)] for claim, _ in run.ended
    }
    assert {name: sorted(data) for name, data in received.items()} == {"a": [], "b": ["a", "x"], "c": ["b"]}
    assert finished(bench, run) is not None


def test_the_last_link_claims_what_it_makes_ready(bench: Bench) -> None:
    run = run_of(bench, begun(bench), most=3)
    assert [claim.order.key for claim, _ in run.ended] == ["a", "b", "c", "d"]
    done = finished(bench, run)
    assert done is not None
    assert ([claim.order.key for claim in done.claims], done.ready, done.passed) == (["e"], (), 3)
    assert bench.store.nodes.inputs(done.claims[0])[0][1] == "d"


def test_what_is_unchanged_is_passed_on_as_unchanged(bench: Bench) -> None:
    def outcome(claim: Claim) -> Outcome:
        return outcome_of(claim, changed=claim.order.key in "bd")

    bench.store.nodes.finish(begun(bench, {"a": set()}), Outcome(ending=Ending.DONE))
    run = run_of(bench, begun(bench, stack="z"), most=32, outcome=outcome)
    assert [claim.changed for claim, _ in run.ended] == [False, False, True, False, True, False]
    assert finished(bench, run) is not None
    nodes = [node for node in picture(bench, "z")[0]["node"] if node["phase"] == "converge"]
    assert [bool(node["changed"]) for node in nodes] == [False, False, True, False, True, False]


@pytest.mark.parametrize("seed", SEEDS)
def test_only_what_a_claim_would_begin_to_create_is_a_link(bench: Bench, seed: int) -> None:
    states = random.Random(seed).sample(STATES, examples(40))
    requires = {f"a{number}": set[str]() for number in range(len(states))}
    requires |= {f"b{number}": {f"a{number}"} for number in range(len(states))}
    orders = {order.key: order for order in bench.begin(requires)}
    with bench.store.database.write() as connection:
        for number, state in enumerate(states):
            put(connection, "s", f"b{number}", state)
    for number, ((phase, planned), *row, hooks, is_quiet, lost) in enumerate(states):
        run = run_of(bench, bench.claim(orders[f"a{number}"]), most=32)
        is_plain = row == ["INIT", "COMPLETE", 0.0, None] and not (hooks or is_quiet or lost)
        assert run.passed == int(is_plain and (phase, planned) == ("converge", "CREATE"))


CHANGES = {
    "a hook": "UPDATE node SET hooks = '[\"pre-create\"]' WHERE key = 'c'",
    "a lost worker": "UPDATE node SET lost = 1 WHERE key = 'c'",
    "another requirement": "UPDATE node SET remaining = 2 WHERE key = 'c'",
    "another definition": "UPDATE node SET fragment = NULL WHERE key = 'c'",
    "another attempt": "UPDATE node SET attempt = 1 WHERE key = 'c'",
    "another dependent": "UPDATE node SET dependents = '[]' WHERE key = 'c'",
    "a held resource": "UPDATE resource SET lock_traversal = 'other', lock_no = 1 WHERE name = 'c'",
    "a signal": "UPDATE resource SET metadata = NULL, data = attributes, physical_id = 'p' WHERE name = 'c'",
    "a begun action": "UPDATE resource SET action = 'CREATE', status = 'IN_PROGRESS' WHERE name = 'c'",
    "a failed operation": "UPDATE traversal SET status = 'FAILED'",
    "a superseded operation": "UPDATE traversal SET status = 'SUPERSEDED'",
    "another attempt at the first": "UPDATE node SET attempt = 2 WHERE key = 'a'",
    "a first that is given back": "UPDATE node SET state = 'ready' WHERE key = 'a'",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_is_dropped_as_a_whole_if_anything_has_changed_since_it_was_read(
    bench: Bench, change: str
) -> None:
    claim = begun(bench)
    run = run_of(bench, claim, most=32)
    with bench.store.database.write() as connection:
        connection.execute(sa.text(CHANGES[change]))
    before = all_rows(bench)
    assert finished(bench, run) is None
    assert all_rows(bench) == before
    first = bench.store.nodes.finish(claim, outcome_of(claim))
    assert first.accepted is ("first" not in change)


def test_a_run_of_a_lost_worker_ends_no_attempt_of_another(bench: Bench) -> None:
    first = begun(bench)
    run = run_of(bench, first, most=32)
    bench.clock.pass_(61)
    (again,) = bench.sweep()
    other = bench.claim(again, worker="other")
    done = bench.store.nodes.finish_batch([(other, outcome_of(other))], types=TYPES, most=1)
    # The other worker runs b, under the same attempt as the run took for granted.
    assert [(claim.order.key, claim.attempt) for claim in done.claims] == [("b", run.ended[1][0].attempt)]
    before = all_rows(bench)
    assert finished(bench, run) is None
    assert all_rows(bench) == before
    assert bench.store.nodes.finish(done.claims[0], outcome_of(done.claims[0])).accepted


def test_a_run_whose_answer_was_lost_changes_nothing_the_second_time(bench: Bench) -> None:
    run = run_of(bench, begun(bench), most=32)
    assert finished(bench, run) is not None
    before = all_rows(bench)
    assert finished(bench, run) is None
    assert all_rows(bench) == before


def test_an_update_that_comes_first_takes_the_links_over(bench: Bench) -> None:
    run = run_of(bench, begun(bench), most=32)
    assert run.passed == 5
    begin_update(bench, {"a": set()}, number=2)
    assert finished(bench, run) is None
    assert {name for name, _, status, _ in events(bench, "s") if status == "IN_PROGRESS"} <= {"", "a"}


def test_links_of_other_types_end_a_run(bench: Bench) -> None:
    claim = begun(bench)
    with bench.store.database.write() as connection:
        # A name that is part of another is another.
        connection.execute(sa.text("UPDATE resource SET type = 'Tes' WHERE name = 'd'"))
    assert run_of(bench, claim, most=32).passed == 2
    assert not bench.store.nodes.run_ahead(claim, types=(), most=32).ahead


def test_plans_that_were_made_for_empty_tables_find_each_row_by_its_whole_key(bench: Bench) -> None:
    if not bench.store.database.postgres:
        pytest.skip("SQLite has no such statements")
    bench.begin({"a": set()})
    for statement in (run_statements.PG_AHEAD, run_statements.PASS):
        plan = generic_plan(bench, statement)
        conditions = [line.strip() for line in plan if "Index Cond" in line]
        keys = [line for line in conditions if "traversal_id =" in line]
        assert keys, plan
        assert all("no =" in line for line in keys), "\n".join(plan)
        assert not any("Seq Scan" in line for line in plan), "\n".join(plan)
