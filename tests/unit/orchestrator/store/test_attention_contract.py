"""Every store reads what needs a person: of one project, bounded, in as many statements however much there is."""

import pytest
import sqlalchemy as sa

from orchestrator.config.settings import Settings
from orchestrator.queries.attention import quiet_operations, stored_attention
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.stacks.attention import AttentionRows
from tests.counting import statements
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete


def read(bench: Bench, project: str = "p", limit: int = 50) -> AttentionRows:
    return bench.store.attention.read(project=project, quiet_seconds=300, limit=limit)


def change(bench: Bench, name: str, **values: object) -> None:
    stack = tables.stack
    with bench.store.database.write() as connection:
        connection.execute(stack.update().where(stack.c.name == name).values(**values))


def fail(bench: Bench, stack: str) -> None:
    (order,) = bench.begin({"a": set()}, stack=stack)
    bench.finish(bench.claim(order), Ending.FAILED, reason="no room")


def hold(bench: Bench, stack: str) -> None:
    (order,) = bench.begin({"a": set()}, stack=stack, hooks={"a": ["pre-create"]})
    bench.store.nodes.finish(
        bench.claim(order), Outcome(ending=Ending.PAUSED, hook="pre-create", properties={})
    )


def test_failed_and_rolled_back_stacks_come_newest_first_with_the_number_of_all(bench: Bench) -> None:
    for stack in ("old", "new", "back"):
        fail(bench, stack)
        bench.clock.pass_(10)
    change(bench, "back", action="ROLLBACK", status="COMPLETE")
    bench.run_all(bench.begin({"a": set()}, stack="fine"))
    rows = read(bench)
    assert [(row.name, row.action, row.status) for row in rows.failed] == [
        ("new", "CREATE", "FAILED"),
        ("old", "CREATE", "FAILED"),
    ]
    assert "no room" in rows.failed[0].reason
    assert rows.failed[0].since == bench.clock.now - 20
    assert [row.name for row in rows.rolled_back] == ["back"]
    first = read(bench, limit=1)
    assert ([row.name for row in first.failed], first.failed_total) == (["new"], 2)


def test_stacks_of_another_project_deleted_and_nested_ones_are_left_out(bench: Bench) -> None:
    for stack in ("theirs", "gone", "inner"):
        fail(bench, stack)
        change(bench, stack, partial=("a",))
    hold(bench, "held")
    change(bench, "theirs", project="other")
    change(bench, "held", project="other")
    change(bench, "gone", deleted_at=1.0)
    change(bench, "inner", parent_id="x")
    bench.clock.pass_(1000)
    assert read(bench) == AttentionRows(as_of=bench.clock.now)
    assert [row.stack for row in read(bench, "other").held] == ["held"]
    assert [row.name for row in read(bench, "other").failed] == ["theirs"]
    assert [row.name for row in read(bench, "other").partial] == ["theirs"]


def test_stacks_that_were_updated_in_part_come_by_name_with_the_number_of_all(bench: Bench) -> None:
    for stack in ("web", "db", "whole"):
        bench.run_all(bench.begin({"a": set()}, stack=stack))
    change(bench, "web", partial=("page", "key"))
    change(bench, "db", partial=("it's",))
    found = [(row.name, row.id, row.traversal_id, row.partial) for row in read(bench).partial]
    assert found == [("db", "db-id", "db-t1", ("it's",)), ("web", "web-id", "web-t1", ("page", "key"))]
    first = read(bench, limit=1)
    assert ([row.name for row in first.partial], first.partial_total) == (["db"], 2)
    (group,) = stored_attention(bench.store, Settings(project="p")).groups
    assert (group.kind, group.total) == ("partial", 2)


def test_a_resource_is_held_until_its_operation_is_over(bench: Bench) -> None:
    hold(bench, "web")
    (row,) = read(bench).held
    assert (row.stack, row.stack_id, row.resource, row.hook) == ("web", "web-id", "a", "pre-create")
    assert (row.since, row.traversal_id) == (bench.clock.now, "web-t1")
    with bench.store.database.write() as connection:
        connection.execute(tables.traversal.update().values(status="FAILED"))
    assert not read(bench).held


def test_an_operation_is_quiet_once_neither_it_nor_a_nested_stack_has_had_an_event(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, stack="web")
    bench.begin({"a": set()}, stack="inner")
    change(bench, "inner", root_id="web-id", parent_id="web-id")
    hold(bench, "held")
    bench.clock.pass_(400)
    (row,) = read(bench).quiet
    assert (row.name, row.action, row.since) == ("web", "CREATE", bench.clock.now - 400)
    bench.claim(order)
    assert not read(bench).quiet
    bench.clock.pass_(400)
    assert [row.name for row in read(bench).quiet] == ["web"]
    with bench.store.database.write() as connection:
        connection.execute(
            tables.event.insert().values(
                at=bench.clock.now,
                stack_id="inner-id",
                traversal_id="inner-t1",
                action="CREATE",
                status="COMPLETE",
            )
        )
    assert not read(bench).quiet
    assert (read(bench).in_progress, read(bench).oldest) == (2, ("held", "held-id", bench.clock.now - 800))


def test_an_operation_is_compared_with_the_longest_of_the_last_complete_ones_of_its_kind(
    bench: Bench,
) -> None:
    bench.run_all(bench.begin({"a": set()}))
    begin_delete(bench)
    traversal = tables.traversal
    past = [9000.0, 60.0, 61.0, 1000.0, 63.0, 64.0]
    with bench.store.database.write() as connection:
        known = connection.execute(sa.select(traversal)).mappings().first()
        assert known is not None
        for no, seconds in enumerate(past):
            values = {"id": f"past-{no}", "action": "DELETE", "created_at": float(no), "status": "COMPLETE"}
            connection.execute(traversal.insert().values({**known, **values, "ended_at": no + seconds}))
    # The longest of the last five is not the longest of all.
    bench.clock.pass_(1000)
    assert quiet_operations(bench.store, read(bench), ()) == []
    bench.clock.pass_(1)
    (found,) = quiet_operations(bench.store, read(bench), ())
    assert "the longest of its last 5 runs" in found.why


def test_a_sink_is_late_once_an_event_has_waited_for_long(bench: Bench) -> None:
    bench.store.sink_cursors.register(["audit"])
    bench.begin({"a": set()})
    late = bench.store.sink_cursors.late
    assert late(project="p", seconds=300, limit=5) == []
    bench.clock.pass_(301)
    (row,) = late(project="p", seconds=300, limit=5)
    assert (row.name, row.stack_id, row.waiting_since, row.total) == ("audit", None, bench.clock.now - 301, 1)
    cursor = tables.sink_cursor
    with bench.store.database.write() as connection:
        connection.execute(cursor.update().values(stack_id="s-id", position=0))
    assert [row.stack_name for row in late(project="p", seconds=300, limit=5)] == ["s"]
    assert late(project="other", seconds=300, limit=5) == []


def test_the_delay_of_a_sink_is_the_age_of_the_oldest_event_that_waits_for_it(bench: Bench) -> None:
    cursors, cursor = bench.store.sink_cursors, tables.sink_cursor
    cursors.register(["audit", "far"])
    assert cursors.delays() == {("settings", "audit"): 0.0, ("settings", "far"): 0.0}
    bench.begin({"a": set()}, stack="old")
    bench.clock.pass_(50)
    bench.begin({"a": set()}, stack="new")
    bench.clock.pass_(20)
    with bench.store.database.write() as connection:
        (audit,) = connection.execute(sa.select(cursor).where(cursor.c.name == "audit")).mappings()
        connection.execute(cursor.update().where(cursor.c.name == "audit").values(position=10**6))
        for stack in ("new", "old"):
            name = f"{stack}-id:0"
            own = {"name": name, "type": "webhook", "stack_id": f"{stack}-id", "position": 0}
            connection.execute(cursor.insert().values({**audit, **own}))
    # Of sinks that environments name there may be as many as stacks: they are one by their type.
    assert cursors.delays() == {
        ("settings", "audit"): 0.0,
        ("settings", "far"): 70.0,
        ("environments", "webhook"): 70.0,
    }


@pytest.mark.parametrize("bench", ["sqlite-encrypted"], indirect=True)
def test_the_number_of_statements_does_not_grow_with_the_number_of_stacks(
    bench: Bench,
) -> None:
    told = Settings(project="p", broker_url="memory://")

    def make(number: int) -> None:
        fail(bench, f"failed-{number}")
        hold(bench, f"held-{number}")
        bench.begin({"a": set()}, stack=f"quiet-{number}")
        bench.clock.pass_(400)

    def counted() -> int:
        with statements() as sent:
            stored_attention(bench.store, told)
        return len(sent)

    make(0)
    few = counted()
    for number in range(1, 20):
        make(number)
    assert counted() == few, counted
    assert 5 < few <= 25
