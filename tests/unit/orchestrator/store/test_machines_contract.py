"""What every store promises about machines."""

from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.machines.machines import MachineReport, StackOnMachine
from tests.unit.orchestrator.store.conftest import Bench


def said(name: str, *, incarnation: str = "i1", boot_id: str = "b1", rack: str = "r1") -> MachineReport:
    return MachineReport(
        name=name, incarnation=incarnation, boot_id=boot_id, report={"labels": {"rack": rack}}
    )


def test_a_machine_is_known_once_its_agent_spoke_and_says_the_newest(bench: Bench) -> None:
    machines = bench.store.machines
    machines.note([])
    assert machines.all() == []
    assert machines.find("n1") is None
    machines.note([said("n2"), said("n1")])
    bench.clock.pass_(5)
    machines.note([said("n1", incarnation="i2", boot_id="b2", rack="r9")])
    first, second = machines.all()
    assert (first.name, second.name) == ("n1", "n2")
    assert first.report == {"labels": {"rack": "r9"}}
    assert (first.incarnation, first.now - first.seen_at, first.now - first.created_at) == ("i2", 0, 5)
    assert (second.incarnation, second.now - second.seen_at) == ("i1", 5)
    assert machines.find("n2") == second
    assert (first.is_drained, first.drain_reason, first.watched_at) == (False, "", 0)


def test_a_boot_stays_unseen_to_until_it_is_said_to_be_seen_to(bench: Bench) -> None:
    machines = bench.store.machines
    machines.note([said("n1"), said("n2")])
    machines.note([said("n1", boot_id="b2")])
    assert [each.boot_id for each in machines.all()] == ["b1", "b1"]
    machines.booted("n1", "b2")
    assert [each.boot_id for each in machines.all()] == ["b2", "b1"]


def test_a_drained_machine_stays_so_since_when_it_was_whatever_its_agent_says(bench: Bench) -> None:
    machines = bench.store.machines
    machines.note([said("n1")])
    assert not machines.drain("n2", "disk")
    assert not machines.undrain("n2")
    assert machines.drain("n1", "disk")
    since = bench.clock.now
    bench.clock.pass_(7)
    assert machines.drain("n1", "new disk")
    machines.note([said("n1")])
    [row] = machines.all()
    assert (row.is_drained, row.drained_at, row.drain_reason) == (True, since, "new disk")
    assert machines.undrain("n1")
    [row] = machines.all()
    assert (row.is_drained, row.drained_at, row.drain_reason) == (False, None, "")


def test_a_machine_is_watched_by_one_and_those_first_that_waited_longest(bench: Bench) -> None:
    machines = bench.store.machines

    def claimed(limit: int = 10) -> list[str]:
        return [row.name for row in machines.claim_to_watch(every_seconds=300, limit=limit)]

    assert claimed() == []
    machines.note([said("n1"), said("n2"), said("n3")])
    assert claimed(limit=2) == ["n1", "n2"]
    bench.clock.pass_(10)
    assert claimed() == ["n3"]
    assert claimed() == []
    bench.clock.pass_(290)
    assert claimed() == ["n1", "n2"]
    [row] = [each for each in machines.all() if each.name == "n1"]
    assert row.watched_at == bench.clock.now
    bench.clock.pass_(300)
    assert claimed() == ["n3", "n1", "n2"]


def test_the_stacks_on_a_node_are_those_that_are_in_no_other_and_are_there(bench: Bench) -> None:
    store, machines = bench.store, bench.store.machines
    for stack in ("web", "shop", "gone", "inner", "elsewhere"):
        bench.run_all(bench.begin({"a": set(), "b": set()}, stack=stack))
    row, stacks = tables.resource, tables.stack
    with store.database.write() as connection:
        on_it = row.c.stack_id.in_(["web-id", "gone-id", "inner-id"])
        connection.execute(row.update().where(on_it).values(on_node="n1"))
        connection.execute(row.update().where(row.c.stack_id == "elsewhere-id").values(on_node="n2"))
        is_removed = (row.c.stack_id == "elsewhere-id") & (row.c.name == "b")
        connection.execute(row.update().where(is_removed).values(on_node="n3", action="DELETE"))
        connection.execute(stacks.update().where(stacks.c.id == "inner-id").values(root_id="shop-id"))
        connection.execute(stacks.update().where(stacks.c.id == "gone-id").values(deleted_at=sa.literal(1.0)))
    assert machines.stacks_on("n1") == [
        StackOnMachine(id="shop-id", name="shop", project="p"),
        StackOnMachine(id="web-id", name="web", project="p"),
    ]
    assert machines.stacks_on("n3") == []
    found = [
        (each.stack, each.name, each.type, each.action, each.status) for each in machines.residents("n1")
    ]
    assert found == [
        (stack, name, "Test", "CREATE", "COMPLETE") for stack in ("inner", "web") for name in ("a", "b")
    ]
    assert [each.physical_id for each in machines.residents("n2")] == ["physical-a"]
    assert machines.residents("n3") == []
    assert machines.residents("n1", project="p") == machines.residents("n1")
    assert machines.residents("n1", project="other") == []
    since = bench.clock.now
    assert machines.is_looked_at_since("n1", since)
    assert not machines.is_looked_at_since("n1", since + 1)
    assert machines.is_looked_at_since("n3", since + 1)


def test_a_machine_is_forgotten_once_nothing_is_on_it_nor_promised_of_it(bench: Bench) -> None:
    machines, row, reservation = bench.store.machines, tables.resource, tables.reservation
    machines.note([said("n1"), said("n2")])
    bench.run_all(bench.begin({"a": set()}, stack="web"))
    with bench.store.database.write() as connection:
        connection.execute(row.update().values(on_node="n1"))
    assert machines.forget("n1") == "resource 'a' of stack 'web' is on it"
    claim = {"stack_id": "s", "resource": "b", "node": "n1", "kind": "vcpus", "operation_id": "o"}
    now = bench.clock.now
    with bench.store.database.write() as connection:
        connection.execute(row.update().values(action="DELETE"))
        connection.execute(
            reservation.insert(),
            [
                {**claim, "amount": 1, "created_at": now, "expires_at": now + 9},
                # Its deletion is not settled yet.
                {
                    **claim,
                    "resource": "a",
                    "operation_id": "",
                    "amount": 1,
                    "created_at": now,
                    "expires_at": None,
                },
            ],
        )
    assert machines.forget("n1") == "room on it is claimed for resource 'b'"
    assert [each.name for each in machines.all()] == ["n1", "n2"]
    bench.clock.pass_(10)
    assert machines.forget("n1") == ""
    assert machines.forget("n1") == ""
    assert [each.name for each in machines.all()] == ["n2"]
    with bench.store.database.read() as connection:
        assert connection.execute(sa.select(reservation)).all() == []


def test_what_is_on_a_lost_machine_goes_with_it_unless_somebody_is_at_it(bench: Bench) -> None:
    machines, row, reservation = bench.store.machines, tables.resource, tables.reservation
    machines.note([said("n1"), said("n2")])
    bench.run_all(bench.begin({"a": set(), "b": {"a"}, "c": set()}, stack="web"))
    promise = {"stack_id": "s", "kind": "vcpus", "operation_id": "", "amount": 1, "created_at": 0.0}
    with bench.store.database.write() as connection:
        connection.execute(row.update().where(row.c.name != "c").values(on_node="n1", physical_id="n1/x"))
        connection.execute(row.update().where(row.c.name == "c").values(on_node="n2", physical_id="n2/x"))
        connection.execute(row.update().where(row.c.name == "b").values(lock_traversal="t"))
        connection.execute(
            reservation.insert(), [{**promise, "resource": "a", "node": n} for n in ("n1", "n2")]
        )
    assert (
        machines.forget("n1", lost=True) == "resource 'b' on it is being looked after; try again in a minute"
    )
    with bench.store.database.write() as connection:
        connection.execute(row.update().values(lock_traversal=None))
    assert machines.forget("n1", lost=True) == ""
    assert [each.name for each in machines.all()] == ["n2"]
    columns = (row.c.name, row.c.action, row.c.status, row.c.on_node, row.c.physical_id, row.c.unhealthy)
    with bench.store.database.read() as connection:
        assert [tuple(each) for each in connection.execute(sa.select(*columns).order_by(row.c.name))] == [
            ("a", "CHECK", "FAILED", None, None, True),
            ("b", "CHECK", "FAILED", None, None, True),
            ("c", "CREATE", "COMPLETE", "n2", "n2/x", False),
        ]
        assert list(connection.execute(sa.select(reservation.c.node)).scalars()) == ["n2"]


def test_many_who_look_at_once_get_each_machine_once(bench: Bench) -> None:
    machines = bench.store.machines
    names = [f"n{number:02}" for number in range(20)]
    machines.note(said(name) for name in names)

    def claimed(_: int) -> list[str]:
        return [row.name for row in machines.claim_to_watch(every_seconds=300, limit=3)]

    with ThreadPoolExecutor(8) as pool:
        found = [name for batch in pool.map(claimed, range(30)) for name in batch]
    assert sorted(found) == names
