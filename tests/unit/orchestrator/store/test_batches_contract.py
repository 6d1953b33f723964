"""What every store promises of nodes that are claimed and finished together: what it promises of each."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import END, JOIN, CheckOrder
from orchestrator.store import tables
from orchestrator.store.direct import _numbered
from orchestrator.store.nodes import batch_statements, link_statement, statements
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from tests.drivers import driver_of
from tests.thoroughness import examples
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_update, created

TYPES = ("Test",)
SEEDS = range(6)


def outcome_of(claim: Claim, **more: Any) -> Outcome:
    """Return the outcome of an action that is done, with all that it may record."""
    key = claim.order.key
    return Outcome(
        ending=Ending.DONE,
        physical_id=f"physical-{key}",
        on_node="host",
        reference_id=f"reference-{key}",
        properties={"p": key},
        definition_hash=f"hash-{key}",
        attributes=[[["a"], key]],
        metadata={"m": key} if len(key) % 2 else None,
        metadata_hash=f"metadata-{key}" if len(key) % 2 else None,
        data={"d": key},
        requires=[claim.resource_id],
        node_data=[claim.resource_id, key, claim.action, "COMPLETE", key, key, []],
        **more,
    )


def pass_on(bench: Bench, orders: Sequence[CheckOrder]) -> list[CheckOrder]:
    """Return the orders that a worker checks, joins passed on and ends left out."""
    waiting, found = list(orders), list[CheckOrder]()
    while waiting:
        order = waiting.pop()
        if order.phase == JOIN:
            waiting += bench.store.nodes.release_join(order).ready
        elif order.phase != END:
            found.append(order)
    return found


def one_by_one(bench: Bench, orders: Sequence[CheckOrder]) -> None:
    """Carry out everything, each by itself."""
    waiting = pass_on(bench, orders)
    while waiting:
        claim = bench.claim(waiting.pop())
        waiting += pass_on(bench, bench.store.nodes.finish(claim, outcome_of(claim)).ready)


def together(bench: Bench, orders: Sequence[CheckOrder], chance: random.Random) -> None:
    """Carry out everything in batches, of which the next is claimed at times with the end of the last."""
    waiting, claims = pass_on(bench, orders), list[Claim]()
    while waiting or claims:
        if not claims:
            some, waiting = waiting[:5], waiting[5:]
            taken = bench.store.nodes.claim_batch(some, worker="w", types=TYPES)
            assert not taken.left
            claims = list(taken.claims)
        finished = bench.store.nodes.finish_batch(
            [(claim, outcome_of(claim)) for claim in claims], types=TYPES, most=chance.choice((0, 1, 4, 32))
        )
        assert not finished.left
        claims = list(finished.claims)
        waiting += pass_on(bench, finished.ready)


def picture(bench: Bench, stack: str) -> Any:
    """Return what is on record of a stack, without ids and times."""
    drop = {
        "id",
        "stack_id",
        "created_at",
        "updated_at",
        "started_at",
        "planned_traversal",
        "applied_traversal",
    }
    queries = {
        "node": "SELECT n.* FROM node n JOIN traversal t ON t.id = n.traversal_id WHERE t.stack_id = :id ORDER BY n.no",
        "resource": "SELECT * FROM resource WHERE stack_id = :id ORDER BY name",
        "event": "SELECT * FROM event WHERE stack_id = :id ORDER BY resource, id",
    }
    own = {
        "node": {"traversal_id", "resource_id", "ready_at", "due_at"},
        "event": {"at", "traversal_id", "resource_id"},
    }
    found: dict[str, list[dict[str, Any]]] = {}
    with bench.store.database.read() as connection:
        for table, sql in queries.items():
            rows = connection.execute(sa.text(sql), {"id": f"{stack}-id"}).mappings()
            left_out = drop | own.get(table, set())
            found[table] = [
                {
                    name: str(value).replace(f"{stack}-", "-")
                    if isinstance(value, str)
                    else value is None
                    if isinstance(value, (bytes, type(None)))
                    else value
                    for name, value in row.items()
                    if name not in left_out
                }
                for row in rows
            ]
    resources = bench.store.stacks.resources(f"{stack}-id")
    return found, [(each.name, each.attributes, each.reference_id, each.physical_id) for each in resources]


def graph(seed: int) -> dict[str, set[str]]:
    """Return a dependency graph of 24 resources; the first is required by most, the last requires most."""
    chance = random.Random(seed)
    names = [f"r{number:02}" for number in range(24)]
    requires = {
        name: set(chance.sample(names[:number], min(number, chance.randrange(4))))
        for number, name in enumerate(names)
    }
    for name in names[1:]:
        if chance.random() < 0.5:
            requires[name].add(names[0])
    requires[names[-1]] = set(names[:-1])
    return requires


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_done_together_is_on_record_as_if_each_were_done_by_itself(bench: Bench, seed: int) -> None:
    requires = graph(seed)
    one_by_one(bench, bench.begin(dict(requires), stack="s"))
    together(bench, bench.begin(dict(requires), stack="z"), random.Random(seed))
    assert picture(bench, "z") == picture(bench, "s")


def test_the_links_of_a_chain_are_on_record_as_if_each_were_done_by_itself(bench: Bench) -> None:
    names = [f"r{number}" for number in range(12)]
    requires = {name: {names[number - 1]} if number else set() for number, name in enumerate(names)}
    one_by_one(bench, bench.begin(dict(requires), stack="s"))
    (first,) = bench.begin(dict(requires), stack="z")
    claims: Sequence[Claim] = [bench.claim(first)]
    for name in names[1:]:
        finished = bench.store.nodes.finish_batch([(claims[0], outcome_of(claims[0]))], types=TYPES, most=1)
        claims = finished.claims
        assert ([claim.order.key for claim in claims], finished.ready, finished.left) == ([name], (), [])
        assert bench.store.nodes.inputs(claims[0])[0][1] == names[names.index(name) - 1]
    finished = bench.store.nodes.finish_batch([(claims[0], outcome_of(claims[0]))], types=TYPES, most=1)
    assert ([order.phase for order in finished.ready], finished.claims) == ([END], [])
    assert picture(bench, "z") == picture(bench, "s")


#: States that nodes and their resources may be in before they are claimed.
PLANNED = (
    *(("converge", action) for action in ("CREATE", "UPDATE", "ADOPT", "RESTORE")),
    *(("operate", action) for action in ("CHECK", "SUSPEND", "RESUME", "SNAPSHOT")),
    ("cleanup", "DELETE"),
)
ACTIONS = ("INIT", "CREATE", "ADOPT", "UPDATE", "DELETE", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "RESTORE")
STATES = tuple(
    itertools.product(
        PLANNED,
        ACTIONS,
        ("COMPLETE", "FAILED", "IN_PROGRESS"),
        (0.0, 900.0),
        (None, b"token"),
        (None, *(f'["pre-{action}", "post-create"]' for action in ("create", "update", "delete"))),
        (False, True),
        (0, 0, 0, 1),
    )
)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_link_claims_a_node_in_any_state_as_a_claim_of_its_own_does(bench: Bench, seed: int) -> None:
    pairs = random.Random(seed).sample(STATES, examples(40))
    requires = {f"a{number}": set[str]() for number in range(len(pairs))}
    requires |= {f"b{number}": {f"a{number}"} for number in range(len(pairs))}
    first: dict[str, dict[str, Claim]] = {}
    for stack in ("s", "z"):
        first[stack] = {order.key: bench.claim(order) for order in bench.begin(dict(requires), stack=stack)}
        with bench.store.database.write() as connection:
            for number, state in enumerate(pairs):
                put(connection, stack, f"b{number}", state)
    for number in range(len(pairs)):
        alone, linked = first["s"][f"a{number}"], first["z"][f"a{number}"]
        ready = bench.store.nodes.finish(alone, outcome_of(alone)).ready
        taken = bench.store.nodes.claim_batch(ready, worker=alone.worker, types=TYPES)
        finished = bench.store.nodes.finish_batch([(linked, outcome_of(linked))], types=TYPES, most=1)
        assert list(map(of_any_stack, finished.claims)) == list(map(of_any_stack, taken.claims))
        assert [order.key for order in finished.ready] == [order.key for order in taken.left]
    assert picture(bench, "z") == picture(bench, "s")


def put(connection: sa.Connection, stack: str, name: str, state: tuple[Any, ...]) -> None:
    """Put a node that is blocked, and its resource, into a state."""
    (phase, planned), action, status, started_at, token, hooks, quiet, lost = state
    resource = tables.resource.update().where(tables.resource.c.id == f"{stack}-{name}")
    row = {"action": action, "status": status, "started_at": started_at, "token": token, "reason": "before"}
    assert connection.execute(resource.values(**row)).rowcount == 1
    node = tables.node.update().where(tables.node.c.resource_id == f"{stack}-{name}")
    marks = {"phase": phase, "action": planned, "hooks": hooks, "quiet": quiet, "lost": lost}
    assert connection.execute(node.values(**marks)).rowcount == 1


def of_any_stack(claim: Claim) -> Claim:
    """Return a claim without what differs by stack, and without the action for which its order was made."""
    order = replace(claim.order, stack="", stack_id="", traversal_id="", action="", node_data=())
    return replace(claim, order=order, resource_id="", requires=(), misplaced=())


def test_a_batch_takes_what_is_ready_and_free_and_of_its_types(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set(), "c": set()})
    old = {order.key: order for order in begin_update(bench, {"a": set(), "b": set(), "c": set()})}
    bench.claim(old["a"])
    new = {order.key: order for order in begin_update(bench, {"a": set(), "b": set(), "c": set()}, number=3)}
    bench.claim(new["c"])
    orders = [new["a"], new["b"], new["c"], replace(new["c"], no=99)]
    none = bench.store.nodes.claim_batch(orders, worker="w", types=["Other"])
    assert (none.claims, [order.key for order in none.left]) == ([], ["a", "b"])
    taken = bench.store.nodes.claim_batch(orders, worker="w", types=TYPES)
    assert [claim.order.key for claim in taken.claims] == ["b"]
    # Its resource is held by the operation before: claimed alone, it waits for that.
    assert taken.left == [new["a"]]
    assert bench.store.nodes.claim_batch(orders[1:], worker="w", types=TYPES) == replace(
        taken, claims=[], left=[]
    )


def test_a_node_that_has_lost_its_worker_is_claimed_alone_from_then_on(bench: Bench) -> None:
    orders = bench.begin({"a": set(), "b": set()})
    bench.claim(orders[0])
    bench.clock.pass_(61)
    again = {order.key: order for order in bench.sweep()}
    assert {key: order.alone for key, order in again.items()} == {"a": True, "b": False}
    taken = bench.store.nodes.claim_batch(list(again.values()), worker="w", types=TYPES)
    assert ([claim.order.key for claim in taken.claims], [order.key for order in taken.left]) == (
        ["b"],
        ["a"],
    )
    assert bench.claim(again["a"]).attempt == 2


def test_what_is_fenced_off_is_left_and_changes_nothing(bench: Bench) -> None:
    orders = bench.begin({"a": set(), "b": set(), "c": {"a", "b"}})
    claims = [bench.claim(order) for order in orders]
    bench.clock.pass_(61)
    # Another worker has taken one of them over.
    late = next(order for order in bench.sweep() if order.key == "a")
    newer = bench.claim(late)
    ended = [(claim, outcome_of(claim)) for claim in claims]
    finished = bench.store.nodes.finish_batch(ended, types=TYPES, most=8)
    assert [claim.order.key for claim, _ in finished.left] == ["a", "b"]
    assert (finished.claims, finished.ready) == ([], ())
    assert [bench.store.nodes.finish(*each).accepted for each in finished.left] == [False, False]
    assert bench.store.nodes.finish(newer, outcome_of(newer)).accepted


def test_the_end_of_one_that_was_taken_over_is_no_end_of_the_others(bench: Bench) -> None:
    orders = bench.begin({"a": set(), "b": set(), "c": {"a"}, "d": {"b"}})
    claims = [bench.claim(order) for order in orders]
    old = replace(claims[0], attempt=0)
    ended = [(claim, outcome_of(claim)) for claim in (old, claims[1])]
    finished = bench.store.nodes.finish_batch(ended, types=TYPES, most=8)
    assert [claim.order.key for claim, _ in finished.left] == ["a"]
    assert [claim.order.key for claim in finished.claims] == ["d"]
    assert finished.ready == ()


def test_what_comes_ready_beyond_the_limit_is_for_others(bench: Bench) -> None:
    (first,) = bench.begin({"a": set(), **{f"b{number}": {"a"} for number in range(6)}})
    claim = bench.claim(first)
    finished = bench.store.nodes.finish_batch([(claim, outcome_of(claim))], types=TYPES, most=4)
    assert (len(finished.claims), len(finished.ready)) == (4, 2)
    assert {each.order.node_data for each in finished.claims} == {finished.ready[0].node_data}
    assert bench.store.nodes.inputs(finished.claims[0])[0][1] == "a"
    ready = bench.store.nodes.claim_batch(finished.ready, worker="other", types=TYPES)
    assert len(ready.claims) == 2


def test_ends_of_an_operation_that_was_superseded_wake_the_next(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    old = [bench.claim(order) for order in begin_update(bench, {"a": set(), "b": set()})]
    new = begin_update(bench, {"a": set(), "b": set()}, number=3)
    assert [bench.store.nodes.claim(order, worker="next") for order in new] == [None, None]
    ended = [(claim, outcome_of(claim)) for claim in old]
    finished = bench.store.nodes.finish_batch(ended, types=TYPES, most=8)
    assert {(order.traversal_id, order.key) for order in finished.ready} == {("s-t3", "a"), ("s-t3", "b")}
    assert not finished.claims


def test_a_claim_that_is_given_back_is_ready_for_another_and_fences_the_first_off(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()})
    claim = bench.claim(order)
    assert bench.store.nodes.give_back(claim) == (order,)
    assert bench.store.nodes.give_back(claim) == ()
    assert not bench.store.nodes.finish(claim, outcome_of(claim)).accepted
    again = bench.claim(order, worker="other")
    assert (again.attempt, again.was) == (2, ("CREATE", "IN_PROGRESS"))
    assert bench.store.nodes.finish(again, outcome_of(again)).accepted
    # Its action was begun once, and went on.
    events = picture(bench, "s")[0]["event"]
    assert [event["status"] for event in events if event["resource"] == "a"] == ["IN_PROGRESS", "COMPLETE"]


def test_a_claim_of_a_superseded_operation_that_is_given_back_wakes_the_next(bench: Bench) -> None:
    created(bench, {"a": set()})
    (old,) = begin_update(bench, {"a": set()})
    claim = bench.claim(old)
    (new,) = begin_update(bench, {"a": set()}, number=3)
    assert bench.store.nodes.claim(new, worker="next") is None
    (woken,) = bench.store.nodes.give_back(claim)
    assert woken.traversal_id == new.traversal_id
    assert bench.claim(woken).attempt == 1


def test_plans_that_were_made_for_empty_tables_find_each_row_by_its_whole_key(bench: Bench) -> None:
    if not bench.store.database.postgres:
        pytest.skip("SQLite has no such statements")
    bench.begin({"a": set()})
    for statement in (batch_statements.CLAIM, batch_statements.FINISH, link_statement.LINK):
        plan = generic_plan(bench, statement)
        conditions = [line.strip() for line in plan if "Index Cond" in line]
        keys = [line for line in conditions if "traversal_id =" in line]
        assert keys, plan
        assert all("no =" in line for line in keys), "\n".join(plan)
        assert not any("Seq Scan" in line for line in plan), "\n".join(plan)


def generic_plan(bench: Bench, statement: statements.Statement) -> list[str]:
    """Return PostgreSQL's plan of a statement for any parameters, on a connection as a worker has it."""
    text, names = _numbered(statement.at(bench.store.database.now))
    explain = f"EXPLAIN EXECUTE explained({', '.join(['NULL'] * len(names))})"
    with driver_of(bench.store.database) as driver:
        driver.execute(b"PREPARE explained AS " + text, prepare=False)
        try:
            return [row[0] for row in driver.execute(explain, prepare=False)]
        finally:
            driver.execute("DEALLOCATE explained", prepare=False)
