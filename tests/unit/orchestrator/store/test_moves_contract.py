"""What every store promises of moves: rows are renamed with all that is on record by their names, or nothing is."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.model.names import membership
from orchestrator.store import tables
from orchestrator.store.machines.reservations import NewReservation
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.traversals.new_traversal import NewTraversal, RowNames
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import update_of


@pytest.fixture
def at_rest(bench: Bench) -> Bench:
    bench.run_all(bench.begin({"a": set(), "b": {"a"}}))
    return bench


def named(name: str, *former: str, complete: str | None = None) -> RowNames:
    return RowNames(name=name, former=former, complete=complete)


def moving(
    bench: Bench, names: Mapping[str, RowNames], moved: Mapping[str, str], number: int = 2
) -> NewTraversal:
    """Return an update that renames rows."""
    return replace(update_of(bench, {"b": set()}, number=number), names=names, moved=moved)


def begin(bench: Bench, new: NewTraversal, expected: str = "s-t1") -> bool:
    return bench.store.traversal_starts.begin_next(new, expected=expected) is not None


def row_of(bench: Bench, row_id: str) -> ResourceRow:
    row = bench.store.stacks.row(row_id)
    assert row is not None
    return row


def test_row_has_its_new_name_and_an_event_says_which_it_had(at_rest: Bench) -> None:
    before = row_of(at_rest, "s-a")
    assert begin(at_rest, moving(at_rest, {"s-a": named("x", "a", complete="a")}, {"x": "a"}))
    after = row_of(at_rest, "s-a")
    assert (after.name, after.former_names, after.complete_name) == ("x", ("a",), "a")
    assert (before.made_as, after.made_as) == ("a", "a")
    assert after.physical_id == before.physical_id
    assert row_of(at_rest, "s-b").former_names == ()
    events = [each for each in at_rest.store.events.read("s-id", limit=100) if each.action == "MOVE"]
    assert [(each.resource, each.resource_id, each.status, each.reason) for each in events] == [
        ("x", "s-a", "COMPLETE", "its name was 'a'")
    ]


def test_names_are_exchanged_at_once(at_rest: Bench) -> None:
    assert at_rest.store.reservations.reserve(reservation("o", {("a", "n"): 3, ("b", "n"): 5}), fits=bool)
    names = {"s-a": named("b", "a"), "s-b": named("a", "b")}
    assert begin(at_rest, moving(at_rest, names, {"b": "a", "a": "b"}))
    assert {each.id: each.name for each in at_rest.store.stacks.resources("s-id")} == {"s-a": "b", "s-b": "a"}
    assert reserved(at_rest) == {("a", "n", "memory_mib"): 5, ("b", "n", "memory_mib"): 3}


def test_names_settle_without_a_move(at_rest: Bench) -> None:
    assert begin(at_rest, moving(at_rest, {"s-a": named("x", "a", complete="a")}, {"x": "a"}))
    assert begin(at_rest, moving(at_rest, {"s-a": named("x", "a")}, {}, number=3), expected="s-t2")
    row = row_of(at_rest, "s-a")
    assert (row.name, row.former_names, row.complete_name) == ("x", ("a",), None)
    events = at_rest.store.events.read("s-id", limit=100)
    assert [each.action for each in events if each.action == "MOVE"] == ["MOVE"]


def test_nothing_is_renamed_if_another_operation_was_faster(at_rest: Bench) -> None:
    new = moving(at_rest, {"s-a": named("x", "a")}, {"x": "a"})
    assert not begin(at_rest, new, expected="other")
    assert row_of(at_rest, "s-a").name == "a"


def test_names_for_an_unfinished_stack_are_not_given_to_one_that_is_complete_by_now(at_rest: Bench) -> None:
    new = replace(moving(at_rest, {"s-a": named("x", "a")}, {"x": "a"}), is_unfinished=True)
    assert at_rest.store.stacks.find("s", project="p").status == "COMPLETE"
    assert not begin(at_rest, new)
    assert row_of(at_rest, "s-a").name == "a"
    assert begin(at_rest, replace(new, is_unfinished=False))


def test_resource_is_found_by_a_former_name_until_another_has_it(at_rest: Bench) -> None:
    assert begin(at_rest, moving(at_rest, {"s-a": named("x", "a")}, {"x": "a"}))
    assert at_rest.store.stacks.resource("s-id", "a").id == "s-a"
    assert begin(at_rest, moving(at_rest, {"s-b": named("a", "b")}, {"a": "b"}, number=3), expected="s-t2")
    assert at_rest.store.stacks.resource("s-id", "a").id == "s-b"


def test_reservations_annotations_and_drift_have_the_new_name(at_rest: Bench) -> None:
    reservations = at_rest.store.reservations
    group = membership("s-id", "a")
    assert reservations.reserve(reservation("o", {("a", "n"): 3, ("b", "n"): 5}), fits=bool)
    assert reservations.reserve(reservation("p", {("c", "n"): 7}, stack_id="other", kind=group), fits=bool)
    value = at_rest.store.codec.pack({"seen": 1}, ("annotation", "value", "s-id", "plugin", "a"))
    stale = at_rest.store.codec.pack({"seen": 0}, ("annotation", "value", "s-id", "plugin", "x"))
    of_plugin = {"stack_id": "s-id", "plugin": "plugin"}
    drift = {
        "stack_id": "s-id",
        "root_id": "s-id",
        "type": "t",
        "finding": b"",
        "since": 1.0,
        "seen_at": 1.0,
        "standing": "detected",
    }
    with at_rest.store.database.write() as connection:
        connection.execute(tables.annotation.insert().values(**of_plugin, resource="a", value=value))
        connection.execute(tables.annotation.insert().values(**of_plugin, resource="x", value=stale))
        for row_id, path in (("s-a", "a"), ("inner", "a/inner"), ("s-b", "ab")):
            connection.execute(tables.drift.insert().values(**drift, resource_id=row_id, key="k", path=path))
    assert begin(at_rest, moving(at_rest, {"s-a": named("x", "a")}, {"x": "a"}))
    assert reserved(at_rest) == {
        ("x", "n", "memory_mib"): 3,
        ("b", "n", "memory_mib"): 5,
        ("c", "n", membership("s-id", "x")): 7,
    }
    assert at_rest.store.annotations.of("s-id", "x") == {"plugin": {"seen": 1}}
    assert at_rest.store.annotations.of("s-id", "a") == {}
    with at_rest.store.database.read() as connection:
        paths = connection.execute(sa.select(tables.drift.c.resource_id, tables.drift.c.path)).all()
    assert {row.resource_id: row.path for row in paths} == {"s-a": "x", "inner": "x/inner", "s-b": "ab"}


def reservation(
    operation_id: str,
    amounts: Mapping[tuple[str, str], int],
    *,
    stack_id: str = "s-id",
    kind: str = "memory_mib",
) -> NewReservation:
    return NewReservation(
        operation_id=operation_id,
        stack_id=stack_id,
        amounts={place: {kind: amount} for place, amount in amounts.items()},
        seconds=1000.0,
    )


def reserved(bench: Bench) -> dict[tuple[str, str, str], int]:
    """Return the amounts that are reserved, by resource, machine and kind."""
    table = tables.reservation
    with bench.store.database.read() as connection:
        rows = connection.execute(sa.select(table).where(table.c.amount > 0)).all()
    return {(row.resource, row.node, row.kind): row.amount for row in rows}
