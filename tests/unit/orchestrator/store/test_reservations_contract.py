"""What every store promises of the ledger: room is claimed whole or not at all, and given up once it is over."""

import threading
from collections.abc import Mapping

import pytest

from orchestrator.model.names import membership
from orchestrator.store import tables
from orchestrator.store.machines.machines import MachineReport
from orchestrator.store.machines.reservations import NewReservation, Promised
from orchestrator.store.traversals.operation_rows import OVER, NewOperation
from tests.unit.orchestrator.store.conftest import Bench

MEMORY = "memory_mib"
Places = Mapping[tuple[str, str], int]


def claim(
    bench: Bench,
    places: Places,
    *,
    operation: str = "o1",
    stack: str = "s-id",
    most: int = 100,
    seconds: float = 60,
    kinds: Mapping[str, int] | None = None,
) -> bool:
    """Claim memory for resources on nodes, each of which has so much of it."""

    def fits(promised: Promised) -> bool:
        wanted: dict[str, int] = {}
        for (resource, node), amount in places.items():
            had = promised.own.get((resource, node), {}).get(MEMORY, 0)
            wanted[node] = wanted.get(node, 0) + max(0, amount - had)
        return all(
            promised.totals.get((node, MEMORY), 0) + amount <= most and node not in promised.drained
            for node, amount in wanted.items()
        )

    new = NewReservation(
        operation_id=operation,
        stack_id=stack,
        amounts={place: {MEMORY: amount, **(kinds or {})} for place, amount in places.items()},
        seconds=seconds,
    )
    return bench.store.reservations.reserve(new, fits=fits)


def total(bench: Bench, node: str = "n1") -> int:
    """Return how much of a node's memory is promised or claimed."""
    return bench.store.reservations.promised([node], stack_id="").totals.get((node, MEMORY), 0)


def settle(
    bench: Bench, operation: str = "o1", *, wanted: Mapping[str, int] | None = None, began: bool = True
) -> None:
    amounts = None if wanted is None else {name: {MEMORY: amount} for name, amount in wanted.items()}
    bench.store.reservations.settle(operation, "s-id", wanted=amounts, began=began)


def put(
    bench: Bench, node: str | None, *names: str, action: str = "CREATE", status: str = "COMPLETE"
) -> None:
    """Let rows of these names be on a node, of a stack whose rows they are already."""
    resource = tables.resource
    with bench.store.database.write() as connection:
        mine = resource.update().where(resource.c.stack_id == "s-id", resource.c.name.in_(names))
        connection.execute(mine.values(on_node=node, action=action, status=status))


def end(bench: Bench, operation: str) -> None:
    """Have an operation over."""
    row = tables.operation
    with bench.store.database.write() as connection:
        over = row.update().where(row.c.id == operation)
        connection.execute(over.values(state=OVER, outcome="complete"))


@pytest.fixture(autouse=True)
def machines(bench: Bench) -> None:
    """Have two machines, and a stack with two resources that are on none yet."""
    bench.store.machines.note(MachineReport(name=name, incarnation="i", boot_id="b") for name in ("n1", "n2"))
    bench.begin({"a": set(), "b": set()})
    for operation in ("o1", "o2"):
        new = NewOperation(
            id=operation,
            cause=operation,
            stack_id="s-id",
            stack="s",
            project="p",
            action="UPDATE",
            shown=None,
        )
        bench.store.ledger.open(new, owner="w", lease_seconds=60, lost_limit=5, is_idle=lambda _: False)
        bench.clock.pass_(1)


def test_room_is_claimed_on_all_nodes_or_on_none(bench: Bench) -> None:
    assert claim(bench, {("a", "n1"): 60, ("b", "n2"): 60})
    assert not claim(bench, {("a", "n1"): 40, ("b", "n2"): 41}, operation="o2", stack="t")
    assert (total(bench), total(bench, "n2")) == (60, 60)
    assert claim(bench, {("a", "n1"): 40, ("b", "n2"): 40}, operation="o2", stack="t")
    assert (total(bench), total(bench, "n2")) == (100, 100)


def test_who_claims_twice_claims_once(bench: Bench) -> None:
    for _ in range(2):
        assert claim(bench, {("a", "n1"): 100})
    assert claim(bench, {("a", "n2"): 100})
    assert (total(bench), total(bench, "n2")) == (0, 100)


def test_several_operations_need_what_they_share_only_once(bench: Bench) -> None:
    assert claim(bench, {("a", "n1"): 60})
    assert claim(bench, {("a", "n1"): 100}, operation="o2")
    assert total(bench) == 100
    settle(bench, "o2", began=False)
    assert total(bench) == 60


def test_a_claim_is_void_once_it_expires_and_a_promise_never_is(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 30, ("b", "n1"): 30})
    put(bench, "n1", "a")
    settle(bench)
    assert claim(bench, {("b", "n1"): 70}, operation="o2")
    bench.clock.pass_(59)
    assert total(bench) == 100
    bench.clock.pass_(1)
    assert total(bench) == 30
    assert claim(bench, {("x", "n1"): 70}, operation="o3", stack="t")


def test_a_drained_machine_takes_nothing_more(bench: Bench) -> None:
    bench.store.machines.drain("n1", "new disks")
    assert not claim(bench, {("a", "n1"): 1})
    promised = bench.store.reservations.promised(["n1", "n2"], stack_id="s-id")
    assert promised.drained == {"n1": "it is drained: new disks"}


def test_what_is_there_keeps_its_room_and_what_is_not_loses_it(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 30, ("b", "n1"): 20})
    put(bench, "n1", "a")
    for _ in range(2):
        settle(bench, wanted={"a": 30, "b": 20})
        assert total(bench) == 30
        assert bench.store.reservations.promised(["n1"], stack_id="s-id").pending == {}


def test_the_room_of_what_is_gone_is_free_before_its_deletion_is_settled(bench: Bench) -> None:
    kind = membership("s-id", "g")
    claim(bench, {("a", "n1"): 60, ("b", "n1"): 40}, kinds={kind: 0})
    put(bench, "n1", "a", "b")
    settle(bench, wanted=None)
    put(bench, "n1", "a", action="DELETE", status="IN_PROGRESS")
    assert total(bench) == 100
    assert not claim(bench, {("x", "n1"): 60}, operation="o3", stack="t")
    put(bench, "n1", "a", action="DELETE")
    assert total(bench) == 40
    mine = bench.store.reservations.promised(["n1"], stack_id="s-id", kinds=[kind])
    assert list(mine.own) == [("b", "n1")]
    put(bench, "n1", "b", action="DELETE")
    assert bench.store.reservations.promised(["n1"], stack_id="t", kinds=[kind]).members == {}
    assert claim(bench, {("x", "n1"): 100}, operation="o3", stack="t")


def test_what_was_replaced_on_another_machine_is_gone_from_its_own(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 60})
    put(bench, "n1", "a")
    settle(bench)
    claim(bench, {("a", "n2"): 60}, operation="o2")
    put(bench, "n2", "a")
    assert (total(bench), total(bench, "n2")) == (0, 60)


def test_what_is_being_made_keeps_its_claim_until_that_expires(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 30, ("b", "n1"): 20})
    put(bench, None, "a", status="IN_PROGRESS")
    settle(bench)
    assert total(bench) == 30
    bench.clock.pass_(60)
    assert total(bench) == 0


def test_what_shrinks_gives_up_room_once_that_is_sure(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 80})
    put(bench, "n1", "a")
    settle(bench, wanted={"a": 80})
    claim(bench, {("a", "n1"): 50}, operation="o2")
    assert total(bench) == 80
    settle(bench, "o2")
    assert total(bench) == 80, "it failed: nobody knows how large it is"
    settle(bench, "o2", wanted={"a": 50})
    assert total(bench) == 50


def test_what_never_began_leaves_everything_as_it_was(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 50})
    put(bench, "n1", "a")
    settle(bench, wanted={"a": 50})
    claim(bench, {("a", "n1"): 90, ("b", "n2"): 10}, operation="o2")
    settle(bench, "o2", began=False)
    assert (total(bench), total(bench, "n2")) == (50, 0)


def test_what_an_operation_left_that_another_took_over_stays(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 50})
    claim(bench, {("b", "n2"): 20}, operation="o2")
    put(bench, "n1", "a")
    settle(bench)
    assert (total(bench), total(bench, "n2")) == (50, 20)


def test_what_is_found_to_be_there_is_promised_what_it_takes(bench: Bench) -> None:
    """Such as what was adopted: nobody knew before where it was."""
    claim(bench, {("a", "n1"): 30})
    put(bench, "n2", "a")
    settle(bench, wanted={"a": 30})
    assert (total(bench), total(bench, "n2")) == (0, 30)


def test_what_was_being_made_when_its_operation_ended_is_settled_by_the_next(bench: Bench) -> None:
    claim(bench, {("a", "n1"): 30, ("b", "n1"): 20})
    put(bench, None, "a", "b", status="IN_PROGRESS")
    settle(bench)
    end(bench, "o1")
    put(bench, "n1", "a")
    put(bench, None, "b")
    settle(bench, "o2")
    assert total(bench) == 30


@pytest.mark.parametrize("told", ["superseded", "complete"])
def test_who_is_told_late_of_its_end_changes_nothing(bench: Bench, told: str) -> None:
    """In which order operations on one stack are told of is not said."""
    claim(bench, {("a", "n1"): 50})
    claim(bench, {("a", "n1"): 10}, operation="o2")
    put(bench, "n1", "a")
    settle(bench, "o2", wanted={"a": 10})
    end(bench, "o2")
    settle(bench, wanted={"a": 50} if told == "complete" else None)
    assert total(bench) == 10


def test_members_of_groups_are_found_in_other_stacks(bench: Bench) -> None:
    kind = membership("s-id", "g")
    claim(bench, {("a", "n1"): 1}, kinds={kind: 0})
    claim(bench, {("b", "n2"): 1}, operation="o2", stack="t", kinds={kind: 0})
    told = bench.store.reservations.promised([], stack_id="t", kinds=[kind])
    assert told.members == {kind: ("n1",)}
    assert bench.store.reservations.promised([], stack_id="t").members == {}


def test_of_many_who_want_the_same_room_just_so_many_get_it_as_there_is_room_for(
    bench: Bench, request: pytest.FixtureRequest
) -> None:
    granted: list[str] = []

    def want(number: int) -> None:
        names = ("n1", "n2") if number % 2 else ("n2", "n1")
        places = dict.fromkeys(zip("ab", names, strict=True), 30)
        if claim(bench, places, operation=f"o{number}", stack=f"t{number}"):
            granted.append(f"o{number}")

    threads = [threading.Thread(target=want, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 3
    assert (total(bench), total(bench, "n2")) == (90, 90)


def test_groups_are_found_by_their_ids_within_their_project(bench: Bench) -> None:
    resource = tables.resource
    # In another project, with a lower id.
    bench.begin({"z": set()}, stack="another")
    another = tables.stack.update().where(tables.stack.c.name == "another")
    with bench.store.database.write() as connection:
        connection.execute(another.values(project="other"))
    with bench.store.database.write() as connection:
        packed = bench.store.codec.pack({"policy": "same_host"}, ("resource", "properties", "s-a"))
        mine = resource.update().where(resource.c.id == "s-a")
        connection.execute(mine.values(properties=packed, on_node="n1", physical_id="n1/adopted"))
    found = bench.store.reservations.groups(["s-a", "s-b", "none"], project="p", kind="Test")
    assert {key: (row.name, row.properties, row.kind) for key, row in found.items()} == {
        "s-a": ("a", {"policy": "same_host"}, membership("s-id", "a")),
        "s-b": ("b", {}, membership("s-id", "b")),
    }
    assert bench.store.reservations.groups(["s-a"], project="other", kind="Test") == {}
    assert bench.store.reservations.groups(["s-a"], project="p", kind="Other") == {}
    assert bench.store.reservations.names_on(["n1", "n2"]) == {"s-a", "adopted"}
    with bench.store.database.write() as connection:
        connection.execute(mine.values(action="DELETE", status="COMPLETE"))
    assert bench.store.reservations.names_on(["n1", "n2"]) == set()
