"""What every store promises of a purge: what goes, what stays, and that others may write meanwhile."""

from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.purge import KINDS, Purge, Removed
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.purging.removals import BATCH
from orchestrator.store.traversals.operation_rows import (
    ENTERING,
    UNDER_WAY,
    Agreed,
    NewOperation,
    OperationRow,
)
from orchestrator.store.traversals.operation_starting import begin_operation
from orchestrator.store.traversals.templates import StoredTemplate
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, begin_update, created, node_of, order_of

HOUR = 3600.0
DAY = 24 * HOUR


def purge(bench: Bench, *, days: float = 30, most: int = 10_000, **more: Any) -> dict[str, int]:
    """Purge, and return what went."""
    wanted = Purge(older_than_seconds=days * DAY, max_events_per_stack=most, **more)
    counts: Counter[str] = Counter()
    for removed in bench.store.purger.purge(wanted):
        assert removed.kind in KINDS
        assert removed.count <= BATCH or more.get("dry_run")
        counts[removed.kind] += removed.count
    return dict(+counts)


def rows_in(bench: Bench, table: sa.Table) -> int:
    with bench.store.database.read() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def deleted(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    assert begin_delete(bench)
    bench.run_all(order_of(bench, no) for no in (0, 1))


def test_a_deleted_stack_goes_with_all_that_is_known_of_it(bench: Bench) -> None:
    deleted(bench)
    with bench.store.database.write() as connection:
        snapshot = {"id": "x", "stack_id": "s-id", "action": "SNAPSHOT", "status": "COMPLETE"}
        more = {"template_id": "t", "traversal_id": "s-t1", "created_at": 1}
        connection.execute(tables.snapshot.insert().values(**snapshot, **more))
        entry = {"snapshot_id": "x", "name": "a", "type": "Test", "entry": b""}
        connection.execute(tables.snapshot_resource.insert().values(**entry))
    bench.clock.pass_(31 * DAY)
    would = purge(bench, dry_run=True)
    assert would == {"stacks": 1, "traversals": 2, "nodes": 6, "resources": 2, "events": 12, "snapshots": 1}
    assert purge(bench) == would
    for table in (
        tables.stack,
        tables.traversal,
        tables.node,
        tables.resource,
        tables.event,
        tables.snapshot,
    ):
        assert rows_in(bench, table) == 0
    assert rows_in(bench, tables.snapshot_resource) == 0


def rows_of(bench: Bench, *stacks: str) -> list[Any]:
    """Return all rows of these stacks, of all tables."""
    found: list[Any] = []
    with bench.store.database.read() as connection:
        for table in tables.metadata.sorted_tables:
            for row in connection.execute(sa.select(table)).mappings():
                belongs = {
                    str(row.get(name, "")).partition("-")[0] for name in ("id", "stack_id", "traversal_id")
                }
                found += [dict(row)] if belongs & {*stacks} else []
    return found


def test_nothing_of_other_stacks_goes_with_a_deleted_one(bench: Bench) -> None:
    deleted(bench)
    others = ("r", "t")
    for name in (*others, "s"):
        if name in others:
            bench.begin({"a": set()}, stack=name)
        snapshot = {
            "id": f"{name}-snapshot",
            "stack_id": f"{name}-id",
            "action": "CREATE",
            "status": "COMPLETE",
        }
        more = {"template_id": "none", "traversal_id": f"{name}-t1", "created_at": 1}
        with bench.store.database.write() as connection:
            connection.execute(tables.snapshot.insert().values(**snapshot, **more))
    bench.clock.pass_(31 * DAY)
    before = rows_of(bench, *others)
    assert len(before) > 10
    assert purge(bench)["stacks"] == 1
    assert not rows_of(bench, "s")
    assert rows_of(bench, *others) == before


def test_what_was_deleted_lately_or_has_not_said_its_last_words_stays(bench: Bench) -> None:
    deleted(bench)
    bench.clock.pass_(29 * DAY)
    assert purge(bench) == {}
    with bench.store.database.write() as connection:
        untold = tables.in_traversal("s-t2") & (tables.node.c.phase == "end")
        connection.execute(tables.node.update().where(untold).values(state="ready", due_at=bench.clock.now))
    bench.clock.pass_(2 * DAY)
    assert purge(bench) == {}


def test_one_project_is_purged_without_another(bench: Bench) -> None:
    deleted(bench)
    bench.clock.pass_(31 * DAY)
    assert purge(bench, project="other") == {}
    assert purge(bench, project="p", dry_run=True)["stacks"] == 1
    assert purge(bench, project="p")["stacks"] == 1


def nest(bench: Bench, *, parent_deleted: bool, row: str) -> None:
    """Put the deleted stack into another, as that one's resource whose state is ``row``."""
    action, status = row.split("_", 1)
    with bench.store.database.write() as connection:
        within = {"parent_id": "outer-id", "parent_resource": "outer-r", "depth": 1}
        connection.execute(tables.stack.update().where(tables.stack.c.id == "s-id").values(**within))
        resource = tables.resource
        connection.execute(
            resource.update().where(resource.c.id == "outer-r").values(action=action, status=status)
        )
        if parent_deleted:
            outer = tables.stack.c.id == "outer-id"
            connection.execute(tables.stack.update().where(outer).values(deleted_at=bench.clock.now))


@pytest.mark.parametrize(
    ("parent_deleted", "row", "goes"),
    [
        (False, "DELETE_IN_PROGRESS", False),
        (False, "UPDATE_COMPLETE", False),
        (False, "DELETE_COMPLETE", True),
        (True, "DELETE_IN_PROGRESS", True),
    ],
)
def test_a_stack_in_a_stack_goes_once_that_one_knows_that_it_is_gone(
    parent_deleted: bool, row: str, goes: bool, bench: Bench
) -> None:
    deleted(bench)
    # The other resource, with the higher id, is there all the time.
    bench.begin({"r": set(), "z": set()}, stack="outer")
    nest(bench, parent_deleted=parent_deleted, row=row)
    # In a stack that is in progress nothing goes but the stack that is in it.
    bench.clock.pass_(31 * DAY)
    assert purge(bench).get("stacks", 0) == goes


def test_a_deleted_stack_stays_as_long_as_one_is_in_it(bench: Bench) -> None:
    created(bench, {"inner": set()})
    deleted_outer = {"deleted_at": bench.clock.now, "action": "DELETE"}
    bench.begin({}, stack="outer")
    bench.store.traversals.complete("outer-t1")
    with bench.store.database.write() as connection:
        stack, node = tables.stack, tables.node
        connection.execute(stack.update().where(stack.c.id == "outer-id").values(**deleted_outer))
        connection.execute(stack.update().where(stack.c.id == "s-id").values(parent_id="outer-id", depth=1))
        connection.execute(
            node.update().where(tables.in_traversal("outer-t1")).values(state="done", due_at=None)
        )
    bench.clock.pass_(31 * DAY)
    assert purge(bench, dry_run=True).get("stacks", 0) == 0
    assert purge(bench).get("stacks", 0) == 0
    with bench.store.database.write() as connection:
        connection.execute(stack.delete().where(stack.c.id == "s-id"))
    assert purge(bench)["stacks"] == 1


def update(bench: Bench, names: str, *, number: int, clean: str = "") -> None:
    """Update the stack to resources of these names, all the way."""
    bench.run_all(begin_update(bench, {name: set() for name in names}, clean=list(clean), number=number))


def test_of_a_living_stack_what_says_how_its_resources_are_stays(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    for number in (2, 3, 4):
        bench.clock.pass_(1)
        update(bench, "ab", number=number, clean="b")
    before = bench.store.histories.read("s-id", "s-t4")
    assert purge(bench) == {}
    bench.clock.pass_(31 * DAY)
    would = purge(bench, dry_run=True)
    # The first holds how b was made, the last is in force.
    assert would["traversals"] == 2
    assert purge(bench) == would
    assert purge(bench) == {}
    assert node_of(bench, "b", "converge", number=1).state == "done"
    assert [each.id for each in bench.store.past.traversals("s-id", limit=9)] == ["s-t4", "s-t1"]
    assert bench.store.histories.read("s-id", "s-t4") == before


def test_what_a_resource_was_to_become_and_what_it_was_made_both_stay(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    bench.clock.pass_(1)
    (a,) = begin_update(bench, {"a": set(), "b": set()}, clean=["b"])
    bench.finish(bench.claim(a), Ending.FAILED)
    bench.store.sweeper.sweep()
    end = order_of(bench, node_of(bench, "", "end").no)
    bench.run_all([end])
    bench.clock.pass_(1)
    update(bench, "b", number=3, clean="b")
    with bench.store.database.write() as connection:
        # As if the third traversal had failed before it came to a.
        a_row = tables.resource.c.name == "a"
        connection.execute(tables.resource.update().where(a_row).values(action="UPDATE", status="FAILED"))
    before = bench.store.histories.read("s-id", "s-t3")
    assert before.planned["s-a"] != before.applied["s-a"]
    bench.clock.pass_(31 * DAY)
    purge(bench)
    assert bench.store.histories.read("s-id", "s-t3") == before


def test_what_a_create_was_begun_with_stays_until_it_said_what_it_made(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.store.nodes.finish(bench.claim(a), Outcome(ending=Ending.WAITING, seconds=1))
    bench.clock.pass_(1)
    assert begin_update(bench, {"a": set()})
    before = bench.store.histories.begun("s-a")
    assert before
    with bench.store.database.write() as connection:
        told = tables.in_traversal("s-t1") & tables.node.c.due_at.is_not(None)
        connection.execute(tables.node.update().where(told).values(due_at=None, state="superseded"))
    bench.clock.pass_(31 * DAY)
    purge(bench)
    assert bench.store.histories.begun("s-a") == before


def test_rows_that_are_gone_go_unless_somebody_may_still_come_to_them(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    bench.clock.pass_(1)
    update(bench, "b", number=2, clean="b")
    assert rows_in(bench, tables.resource) == 2
    bench.clock.pass_(31 * DAY)
    node = tables.node
    of_a = tables.in_traversal("s-t2") & (node.c.resource_id == "s-a")
    with bench.store.database.write() as connection:
        connection.execute(node.update().where(of_a).values(state="blocked"))
    assert purge(bench).get("resources", 0) == 0
    with bench.store.database.write() as connection:
        connection.execute(node.update().where(of_a).values(state="done"))
    assert purge(bench)["resources"] == 1
    assert [row.name for row in bench.store.stacks.resources("s-id")] == ["b"]


def test_whatever_the_age_nothing_goes_that_an_operation_may_be_about_to_need(bench: Bench) -> None:
    bench.store.templates.save(StoredTemplate(source="one", file="t", files={"f": "d1"}), {"d1": "content"})
    bench.store.stacks.refuse_job("refused", {"kind": "Conflict", "message": "no"})
    created(bench, {"a": set(), "b": set()})
    bench.clock.pass_(1)
    update(bench, "b", number=2, clean="b")
    bench.clock.pass_(HOUR - 2)
    assert purge(bench, days=0) == {}
    bench.clock.pass_(4)
    gone = purge(bench, days=0)
    assert gone.pop("jobs")
    assert gone == {"templates": 1, "files": 1, "resources": 1, "nodes": 2}


def test_templates_and_files_stay_as_long_as_something_refers_to_them(bench: Bench) -> None:
    templates = bench.store.templates
    used = StoredTemplate(source="used", file="t", files={"x": "d1", "y": "d2"})
    other = StoredTemplate(source="other", file="t", files={"x": "d1", "z": "d3"})
    templates.save(used, {"d1": "1", "d2": "2"})
    templates.save(other, {"d1": "1", "d3": "3"})
    created(bench, {"a": set()})
    stack = tables.stack
    with bench.store.database.write() as connection:
        connection.execute(stack.update().values(completed_template_id=used.id))
    bench.clock.pass_(31 * DAY)
    assert purge(bench, dry_run=True) == {"templates": 1, "files": 1}
    assert purge(bench) == {"templates": 1, "files": 1}
    assert templates.load(used.id) == used
    assert [templates.file(digest) for digest in ("d1", "d2")] == ["1", "2"]


def used_as(bench: Bench, template_id: str, use: str) -> None:
    """Let a row refer to a template from now on."""
    column = {
        "stack": tables.stack.c.template_id,
        "completed": tables.stack.c.completed_template_id,
        "traversal": tables.traversal.c.template_id,
        "resource": tables.resource.c.template_id,
    }
    with bench.store.database.write() as connection:
        if use == "snapshot":
            row = {"id": "x", "stack_id": "s-id", "action": "SNAPSHOT", "status": "COMPLETE", "name": "n"}
            more = {"template_id": template_id, "traversal_id": "s-t1", "created_at": 1}
            connection.execute(tables.snapshot.insert().values(**row, **more))
        else:
            changed = column[use]
            assert isinstance(changed.table, sa.Table)
            connection.execute(changed.table.update().values({changed: template_id}))


@pytest.mark.parametrize("use", ["stack", "completed", "traversal", "resource", "snapshot"])
def test_template_that_comes_into_use_after_the_purge_looked_stays(
    bench: Bench, use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a rollback, or an update that keeps the template: nothing is saved again for it."""
    template = StoredTemplate(source="one", file="t", files={})
    bench.store.templates.save(template, {})
    created(bench, {"a": set()})
    bench.clock.pass_(31 * DAY)
    removals = bench.store.purger._removals
    remove = removals.remove

    def use_and_remove(table: sa.Table, which: Any) -> int:
        if table is tables.template:
            used_as(bench, template.id, use)
        return remove(table, which)

    monkeypatch.setattr(removals, "remove", use_and_remove)
    assert purge(bench) == {}
    assert bench.store.templates.load(template.id) == template


def test_what_is_saved_again_is_young_again(bench: Bench) -> None:
    template = StoredTemplate(source="one", file="t", files={"f": "d1"})
    bench.store.templates.save(template, {"d1": "content"})
    bench.clock.pass_(31 * DAY)
    bench.store.templates.save(template, {"d1": "content"})
    assert purge(bench, days=0) == {}
    assert bench.store.templates.load(template.id) == template


def test_events_go_oldest_first_and_stay_counted(bench: Bench) -> None:
    names = {f"r{number}": set[str]() for number in range(300)}
    created(bench, names)
    assert bench.store.purger.trim_events("s-id", most=1000) == 0
    assert bench.store.purger.trim_events("s-id", most=10) == 592
    events = bench.store.events.read("s-id")
    assert len(events) == 10
    assert (events[-1].action, events[-1].status, events[-1].resource) == ("CREATE", "COMPLETE", "")
    assert bench.store.past.traversal("s-id", "s-t1").counts["CREATE_COMPLETE"] == 300
    assert bench.store.purger.trim_events("s-id", most=10) == 0
    assert purge(bench, most=4) == {"events": 6}
    assert bench.store.past.traversal("s-id", "s-t1").counts["CREATE_COMPLETE"] == 300


def test_events_of_an_operation_that_is_not_over_stay(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.claim(a)
    assert bench.store.purger.trim_events("s-id", most=1) == 0
    with bench.store.database.write() as connection:
        # All that is left of it waits for people.
        connection.execute(tables.node.update().values(due_at=None, state="waiting"))
    assert bench.store.purger.trim_events("s-id", most=1) == 0
    assert len(bench.store.events.read("s-id")) == 2


def test_others_write_between_any_two_steps(bench: Bench) -> None:
    deleted(bench)
    bench.clock.pass_(31 * DAY)
    steps = bench.store.purger.purge(Purge(older_than_seconds=0, max_events_per_stack=1))
    orders = bench.begin({"x": set()}, stack="other")
    seen: list[Removed] = []
    for step in steps:
        seen.append(step)
        bench.store.stacks.refuse_job(f"job-{len(seen)}", {"kind": "Conflict", "message": "no"})
    assert len(seen) > 5
    bench.run_all(orders)
    assert bench.store.past.stack("other", project="p").status == "COMPLETE"


def test_one_of_many_gets_its_turn_once_in_a_while(bench: Bench) -> None:
    bench.store.purger.take_turn(every_seconds=HOUR)
    for _ in range(2):
        bench.clock.pass_(HOUR - 1)
        assert not bench.store.purger.take_turn(every_seconds=HOUR)
        bench.clock.pass_(1)
        turns = [bench.store.purger.take_turn(every_seconds=HOUR) for _ in range(3)]
        assert turns == [True, False, False]


def test_the_first_turn_is_due_once_the_time_between_two_has_passed_since_somebody_asked(
    bench: Bench,
) -> None:
    assert [bench.store.purger.take_turn(every_seconds=HOUR) for _ in range(2)] == [False, False]
    bench.clock.pass_(HOUR - 1)
    assert not bench.store.purger.take_turn(every_seconds=HOUR)
    bench.clock.pass_(1)
    assert bench.store.purger.take_turn(every_seconds=HOUR)


def test_what_a_failed_snapshot_is_made_of_stays_until_it_is_deleted(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    bench.clock.pass_(1)
    update(bench, "ab", number=2)
    bench.clock.pass_(1)
    update(bench, "b", number=3, clean="b")
    node, snapshot = tables.node, tables.snapshot
    with bench.store.database.write() as connection:
        left = tables.in_traversal("s-t2") & (node.c.key == "a") & (node.c.phase == "converge")
        connection.execute(node.update().where(left).values(phase="operate"))
        said = {"id": "x", "stack_id": "s-id", "action": "CREATE", "status": "FAILED", "name": "n"}
        more = {"template_id": "t", "traversal_id": "s-t2", "created_at": 1}
        connection.execute(snapshot.insert().values(**said, **more))
    (row,) = bench.store.snapshots.all("s-id")
    assert [entry.name for entry in bench.store.snapshots.entries(row)] == ["a"]
    bench.clock.pass_(31 * DAY)
    purge(bench)
    assert [entry.name for entry in bench.store.snapshots.entries(row)] == ["a"]
    bench.store.snapshots.forget("x")
    assert purge(bench)["resources"] == 1


def entered(bench: Bench, operation_id: str, *, cause: str) -> OperationRow:
    """Let an operation begin to be asked about, with one plugin that agreed."""
    new = NewOperation(
        id=operation_id,
        cause=cause,
        stack_id="s-id",
        stack="s",
        project="default",
        action="CREATE",
        shown=None,
    )
    row = bench.store.ledger.open(new, owner="me", lease_seconds=60, lost_limit=5, is_idle=lambda _: False)
    assert row
    bench.store.ledger.begin_pre_op(row, 0, "limits", lease_seconds=60)
    bench.store.ledger.end_pre_op(row, 0, None, seconds=0.1, lease_seconds=60)
    return row


def over(bench: Bench, operation_id: str, state: str) -> None:
    left = bench.store.ledger.leave(
        operation_id,
        states=(state,),
        owner="me",
        outcome="refused",
        reason="no",
        lease_seconds=60,
        is_idle=lambda _: True,
    )
    assert left
    bench.store.ledger.close(left)


def test_operations_go_with_their_traversals_and_those_that_never_began_by_their_age(bench: Bench) -> None:
    deleted(bench)
    begun = entered(bench, "s-t1", cause="1")
    with bench.store.database.write() as connection:
        agreed = Agreed(operation_id=begun.id, attempt=begun.attempt, annotations={"limits": {"a": {"x": 1}}})
        begin_operation(connection, bench.store.codec, agreed, stack_id="s-id", action="CREATE", now=1.0)
    over(bench, "s-t1", UNDER_WAY)
    entered(bench, "refused", cause="2")
    over(bench, "refused", ENTERING)
    bench.clock.pass_(31 * DAY)
    entered(bench, "young", cause="3")
    entered(bench, "refused lately", cause="4")
    over(bench, "refused lately", ENTERING)
    would = purge(bench, dry_run=True)
    assert would["operations"] == 2
    assert purge(bench) == would
    assert rows_in(bench, tables.annotation) == 0
    assert rows_in(bench, tables.operation_call) == rows_in(bench, tables.operation) == 2


@pytest.mark.parametrize("was_complete", [True, False])
def test_adoption_is_forgotten_once_its_stack_was_complete(bench: Bench, was_complete: bool) -> None:
    """A rollback reads which rows were to be adopted since the stack was complete."""
    created(bench, {"a": set()})
    bench.clock.pass_(1)
    update(bench, "a", number=2)
    update(bench, "a", number=3)
    with bench.store.database.write() as connection:
        traversals = tables.traversal.update()
        if not was_complete:
            connection.execute(traversals.values(status="SUPERSEDED"))
        adopted = traversals.where(tables.traversal.c.id == "s-t1")
        connection.execute(adopted.values(action="ADOPT", status="SUPERSEDED"))
    bench.clock.pass_(31 * DAY)
    purge(bench)
    with bench.store.database.read() as connection:
        left = {*connection.execute(sa.select(tables.traversal.c.id)).scalars()}
    assert ("s-t1" in left) is not was_complete
    assert "s-t3" in left
