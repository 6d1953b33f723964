"""What every store promises of protection: it is recorded on quiet stacks, and operations begin only as it was read."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.stacks.protections import ProtectionChange
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_update, update_of


@pytest.fixture
def at_rest(bench: Bench) -> Bench:
    bench.run_all(bench.begin({"a": set(), "b": {"a"}}))
    return bench


def stack_of(bench: Bench) -> StackRow:
    return bench.store.stacks.find("s", project="p")


def row_of(bench: Bench, name: str) -> ResourceRow:
    return bench.store.stacks.resource("s-id", name)


def mark(bench: Bench, *names: str, protected: bool = True) -> bool:
    rows = [row_of(bench, name) for name in names]
    return bench.store.protections.mark([stack_of(bench)], rows, protected=protected, reason="why")


def held(bench: Bench) -> dict[str, tuple[str, ...]]:
    return bench.store.protections.held(stack_of(bench), bench.store.stacks.resources("s-id"))


def test_marks_are_found_until_they_are_taken_off(at_rest: Bench) -> None:
    assert held(at_rest) == {}
    assert mark(at_rest, "a", "b")
    assert held(at_rest) == {"s-a": ("a",), "s-b": ("b",)}
    assert mark(at_rest, "b", protected=False)
    assert held(at_rest) == {"s-a": ("a",)}
    assert mark(at_rest)
    stack = stack_of(at_rest)
    assert (stack.protected, stack.protections) == (True, 3)
    events = at_rest.store.events.read("s-id", limit=100)
    assert [(each.action, each.resource, each.reason) for each in events if "PROTECT" in each.action] == [
        ("PROTECT", "a", "why"),
        ("PROTECT", "b", "why"),
        ("UNPROTECT", "b", "why"),
        ("PROTECT", "", "why"),
    ]


def test_what_is_inside_of_a_nested_stack_is_found_by_the_row_that_holds_it(at_rest: Bench) -> None:
    at_rest.run_all(at_rest.begin({"x": set()}, stack="inner"))
    stack = tables.stack
    with at_rest.store.database.write() as connection:
        nested = {"parent_id": "s-id", "parent_resource": "s-a", "root_id": "s-id", "depth": 1}
        connection.execute(stack.update().where(stack.c.id == "inner-id").values(**nested))
        connection.execute(stack.update().where(stack.c.id == "s-id").values(root_id="s-id"))
    inner = at_rest.store.stacks.by_id("inner-id")
    assert inner is not None
    row = at_rest.store.stacks.resource("inner-id", "x")
    assert at_rest.store.protections.mark([inner, stack_of(at_rest)], [row], protected=True, reason="")
    assert held(at_rest) == {"s-a": ("a/x",)}
    assert at_rest.store.protections.mark([inner, stack_of(at_rest)], [], protected=True, reason="")
    assert held(at_rest) == {"s-a": ("a/x", "a")}


def test_nothing_is_marked_once_an_operation_has_begun_or_a_row_is_held(at_rest: Bench) -> None:
    before, row = stack_of(at_rest), row_of(at_rest, "a")
    orders = begin_update(at_rest, {"a": set(), "b": {"a"}})
    assert not at_rest.store.protections.mark([before], [row], protected=True, reason="")
    claim = at_rest.claim(orders[0])
    assert not mark(at_rest, "a")
    assert not row_of(at_rest, "a").protected
    at_rest.finish(claim)
    assert mark(at_rest, "a")


def test_an_operation_begins_only_by_the_protection_that_was_read(at_rest: Bench) -> None:
    new = replace(update_of(at_rest, {"a": set()}), protection=ProtectionChange(version=0))
    assert mark(at_rest, "a")
    assert at_rest.store.traversal_starts.begin_next(new, expected="s-t1") is None
    again = replace(new, protection=ProtectionChange(version=1))
    assert at_rest.store.traversal_starts.begin_next(again, expected="s-t1") is not None


def test_what_an_operation_is_permitted_to_lose_is_protected_no_more(at_rest: Bench) -> None:
    assert mark(at_rest, "a", "b")
    assert mark(at_rest)
    change = ProtectionChange(
        version=2, taken=[row_of(at_rest, "b")], rows={"s-a": True, "s-b": False}, stack=True
    )
    new = replace(update_of(at_rest, {"a": set()}), protection=change)
    assert at_rest.store.traversal_starts.begin_next(new, expected="s-t1") is not None
    assert held(at_rest) == {"s-a": ("a",)}
    assert not stack_of(at_rest).protected
    events = at_rest.store.events.read("s-id", limit=100)
    assert [
        (each.action, each.resource, each.reason, each.traversal_id)
        for each in events
        if each.action == "UNPROTECT"
    ] == [
        ("UNPROTECT", "", "permitted to UPDATE (--unprotect)", new.id),
        ("UNPROTECT", "b", "permitted to UPDATE (--unprotect)", new.id),
    ]


def test_what_takes_the_place_of_a_protected_row_is_protected(at_rest: Bench) -> None:
    assert mark(at_rest, "a")
    orders = begin_update(at_rest, {"a": set(), "b": {"a"}})
    claim = at_rest.claim(orders[0])
    replaced = Outcome(ending=Ending.REPLACE, reason="it is another", new_id="new-a", physical_id="p")
    assert at_rest.store.nodes.finish(claim, replaced).accepted
    resource = tables.resource
    with at_rest.store.database.read() as connection:
        rows = connection.execute(
            sa.select(resource.c.id, resource.c.protected)
            .where(resource.c.name == "a")
            .order_by(resource.c.id)
        ).all()
    assert [tuple(row) for row in rows] == [("new-a", True), ("s-a", False)]
