"""What every store promises to adoptions: what is there already, and is to be taken over first."""

from dataclasses import replace
from functools import partial

import pytest
import sqlalchemy as sa

from orchestrator.errors import Conflict
from orchestrator.model.event_filter import EventFilter
from orchestrator.model.messages import CheckOrder
from orchestrator.model.plan import DesiredResource, plan_create
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending
from orchestrator.store.traversals.new_traversal import Adopted, NewTraversal
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_races_contract import at_once
from tests.unit.orchestrator.store.updating import begin_update, created, order_of


def adoption(*names: str, stack: str = "s", owners: frozenset[str] = frozenset()) -> NewTraversal:
    """Return the adoption of objects of these names by a new stack."""
    desired_resources = [
        DesiredResource(
            name=name,
            type="Test",
            resource_id=f"{stack}-{name}",
            fragment={"definition": {}},
            requires=frozenset(),
            wanted=frozenset(),
        )
        for name in names
    ]
    return NewTraversal(
        id=f"{stack}-t1",
        stack_id=f"{stack}-id",
        stack=stack,
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan_create(desired_resources, action="ADOPT"),
        context={"name": "s"},
        new_types={f"{stack}-{name}": "Test" for name in names},
        adopted={
            f"{stack}-{name}": Adopted(physical_id=f"there-{name}", metadata={"m": name}, data={"d": name})
            for name in names
        },
        owners=owners,
        options={"adopting": 1},
    )


def adopt(bench: Bench, *names: str) -> list[CheckOrder]:
    """Begin to adopt objects of these names; return the first orders."""
    new = adoption(*names)
    bench.store.traversal_starts.begin_create(new)
    return [order_of(bench, node.no, number=1) for node in new.plan.ready]


def told(bench: Bench, name: str) -> list[str]:
    read = bench.store.events.read("s-id", wanted=EventFilter(resources=(name,)), limit=100)
    return [f"{event.action}_{event.status}" for event in read]


def test_a_row_that_is_to_be_adopted_holds_what_is_there(bench: Bench) -> None:
    adopt(bench, "a")
    (row,) = bench.store.stacks.resources("s-id")
    assert (row.action, row.status, row.physical_id) == ("ADOPT", "IN_PROGRESS", "there-a")
    assert (row.metadata, row.data) == ({"m": "a"}, {"d": "a"})


def test_an_adoption_starts_when_it_is_claimed_first(bench: Bench) -> None:
    (order,) = adopt(bench, "a")
    bench.clock.pass_(7)
    first = bench.claim(order)
    assert (first.action, first.started, first.started_at) == ("ADOPT", False, bench.clock.now)
    assert (first.physical_id, first.data, first.metadata) == ("there-a", {"d": "a"}, {"m": "a"})
    assert first.was == ("ADOPT", "IN_PROGRESS")
    bench.finish(first, Ending.WAITING, seconds=1)
    bench.clock.pass_(2)
    (again,) = bench.sweep()
    second = bench.claim(again)
    assert (second.started, second.started_at) == (True, first.started_at)
    bench.finish(second)
    assert told(bench, "a") == ["ADOPT_IN_PROGRESS", "ADOPT_COMPLETE"]


@pytest.mark.parametrize("ending", [None, Ending.FAILED, Ending.WAITING])
def test_an_update_adopts_first_what_is_not_adopted_yet(bench: Bench, ending: Ending | None) -> None:
    (order,) = adopt(bench, "a")
    if ending is not None:
        bench.finish(bench.claim(order), ending, seconds=1, reason="no luck")
    (update,) = begin_update(bench, {"a": set()})
    claim = bench.claim(update)
    assert (claim.action, claim.started) == ("ADOPT", ending is Ending.WAITING)
    bench.finish(claim, Ending.NEXT)
    assert bench.claim(update).action == "UPDATE"


def test_an_update_updates_what_is_adopted(bench: Bench) -> None:
    (order,) = adopt(bench, "a")
    bench.run(order)
    (update,) = begin_update(bench, {"a": set()})
    assert bench.claim(update).action == "UPDATE"


def test_rows_that_were_to_be_adopted_are_known_whatever_became_of_them(bench: Bench) -> None:
    adopt(bench, "a", "b")
    assert bench.store.stacks.adopted("s-id") == {"s-a", "s-b"}
    begin_update(bench, {"a": set(), "c": set()})
    assert bench.store.stacks.adopted("s-id") == {"s-a", "s-b"}
    assert bench.store.stacks.adopted("other") == frozenset()


def test_whose_objects_are_is_known_until_they_are_gone(bench: Bench) -> None:
    adopt(bench, "a", "b")

    def owners(physical_ids: list[str]) -> list[tuple[str, str, str, str]]:
        found = bench.store.stacks.owners(physical_ids)
        return sorted((each.type, each.physical_id, each.stack, each.project) for each in found)

    ids = [f"there-{name}" for name in "abc"] + [f"other-{number}" for number in range(1000)]
    assert owners(ids) == [("Test", "there-a", "s", "p"), ("Test", "there-b", "s", "p")]
    assert owners([]) == []
    with bench.store.database.write() as connection:
        gone = tables.resource.update().where(tables.resource.c.name == "a")
        connection.execute(gone.values(action="DELETE", status="COMPLETE"))
    assert owners(ids) == [("Test", "there-b", "s", "p")]
    with bench.store.database.write() as connection:
        connection.execute(tables.stack.update().values(deleted_at=1.0))
    assert owners(ids) == []


def test_the_flags_of_an_operation_can_be_read(bench: Bench) -> None:
    adopt(bench, "a")
    assert bench.store.traversals.options("s-t1") == {"adopting": 1}


def test_rows_that_are_made_hold_nothing_yet(bench: Bench) -> None:
    bench.begin({"a": set()})
    with bench.store.database.read() as connection:
        row = connection.execute(sa.select(tables.resource)).one()
    assert (row.action, row.physical_id, row.data) == ("INIT", None, None)


@pytest.mark.parametrize("_round", range(3))
def test_of_stacks_that_adopt_an_object_at_once_one_has_it(bench: Bench, _round: int) -> None:
    new = [adoption("a", f"own-{stack}", stack=stack) for stack in "stuv"]
    results = at_once(*(partial(bench.store.traversal_starts.begin_create, each) for each in new))
    assert sum(isinstance(each, Conflict) for each in results) == len(new) - 1
    (owner,) = bench.store.stacks.owners(["there-a"])
    assert results["stuv".index(owner.stack)] is None


def test_object_is_refused_to_an_existing_stack_once_another_has_it(bench: Bench) -> None:
    created(bench, {"b": set()})
    bench.store.traversal_starts.begin_create(adoption("a", stack="t"))
    taking = replace(adoption("a"), id="s-t2", known={"s-b"})
    begin_next = bench.store.traversal_starts.begin_next
    assert begin_next(taking, expected="s-t1") is None
    # A row that was seen before and prevents nothing, such as one on another machine, is no obstacle.
    assert begin_next(replace(taking, owners=frozenset({"t-a"})), expected="s-t1") is not None
    assert {each.stack for each in bench.store.stacks.owners(["there-a"])} == {"s", "t"}
