"""What every store promises of moves between stacks: rows move with all that is on record of them, or nothing does."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import CheckOrder
from orchestrator.model.nested_stack import Family
from orchestrator.model.plan import DesiredResource, plan_create
from orchestrator.planning.transfers import EMPTY
from orchestrator.store import tables
from orchestrator.store.machines.reservations import NewReservation
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.traversals.new_traversal import NewTraversal
from orchestrator.store.traversals.transfers import NewNestedStack, Transfer, Transfers
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import update_of

INNER = "s-web"


def begin_inner(bench: Bench, *names: str) -> list[CheckOrder]:
    """Begin the stack that the resource ``web`` of the stack is; return the first orders."""
    plan = plan_create(
        [
            DesiredResource(
                name=name,
                type="Test",
                resource_id=f"inner-{name}",
                fragment={"definition": {}},
                requires=frozenset(),
                wanted=frozenset(),
            )
            for name in names
        ]
    )
    new = NewTraversal(
        id="inner-t1",
        stack_id=INNER,
        stack="s-web",
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan,
        context={"name": "s-web", "parameters": {}},
        new_types={f"inner-{name}": "Test" for name in names},
        family=Family(parent_id="s-id", parent_resource=INNER, root_id="s-id", depth=1),
    )
    bench.store.traversal_starts.begin_create(new)
    return [
        CheckOrder(
            stack_id=INNER,
            traversal_id=new.id,
            no=node.no,
            key=node.key,
            phase=node.phase,
            stack=new.stack,
            action=node.action,
            node_data=(),
        )
        for node in plan.ready
    ]


@pytest.fixture
def at_rest(bench: Bench) -> Bench:
    bench.run_all(bench.begin({"a": set(), "web": {"a"}}))
    bench.run_all(begin_inner(bench, "y"))
    return bench


def row_of(bench: Bench, row_id: str) -> ResourceRow:
    row = bench.store.stacks.row(row_id)
    assert row is not None
    return row


def stack_of(bench: Bench, stack_id: str) -> StackRow:
    stack = bench.store.stacks.by_id(stack_id)
    assert stack is not None
    return stack


def transfer(bench: Bench, row_id: str, stack_id: str, path: str) -> Transfer:
    """Return the move of a row to a stack, where it has the path's last name."""
    row = row_of(bench, row_id)
    source = stack_of(bench, row.stack_id)
    return Transfer(
        row_id=row.id,
        stack_id_before=row.stack_id,
        name_before=row.name,
        path_before=f"{'web/' if row.stack_id == INNER else ''}{row.name}",
        updated_at=row.updated_at,
        lock_traversal=row.lock_traversal,
        stack_id=stack_id,
        name=path.rpartition("/")[2],
        path=path,
        former=(row.name,),
        made_stack_id=source.id,
        made_stack_name=source.name,
    )


def transferring(
    bench: Bench, *rows: Transfer, expected: Mapping[str, str], number: int = 2, **more: object
) -> NewTraversal:
    """Return an update of the outermost stack that begins with moves between stacks."""
    new = update_of(bench, {"web": set()}, number=number)
    # It was planned by the rows as they will be.
    new = replace(new, planned_by=None)
    return replace(new, transfers=Transfers(rows=rows, expected=expected, **more))  # type: ignore[arg-type]  # as given


def begin(bench: Bench, new: NewTraversal) -> bool:
    return bench.store.traversal_starts.begin_next(new, expected="s-t1") is not None


def into_web(bench: Bench, *, interrupts: bool = False) -> NewTraversal:
    moved = transfer(bench, "s-a", INNER, "web/x")
    return transferring(bench, moved, expected={INNER: "inner-t1"}, interrupts=interrupts)


def test_row_is_in_the_other_stack_and_an_event_there_says_where_it_was(at_rest: Bench) -> None:
    before = row_of(at_rest, "s-a")
    assert begin(at_rest, into_web(at_rest))
    after = row_of(at_rest, "s-a")
    assert (after.stack_id, after.name, after.former_names) == (INNER, "x", ("a",))
    assert (after.made_as, after.made_in, after.physical_id) == ("a", ("s-id", "s"), before.physical_id)
    assert after.transferred_at == at_rest.clock.now
    assert {row.id for row in at_rest.store.stacks.resources("s-id")} == {"s-web"}
    (event,) = [each for each in at_rest.store.events.read(INNER, limit=100) if each.action == "MOVE"]
    assert (event.resource, event.resource_id, event.reason) == ("x", "s-a", "it was 'a', and is 'web/x'")
    assert at_rest.store.stacks.addressed("s-id", "a").id == "s-a"


def test_what_was_applied_is_forgotten_and_what_was_planned_is_not(at_rest: Bench) -> None:
    assert begin(at_rest, into_web(at_rest))
    history = at_rest.store.histories.read(INNER, stack_of(at_rest, INNER).traversal_id)
    assert {"s-a", "inner-y"} == history.planned.keys()
    assert {"inner-y"} == history.applied.keys()


def test_way_back_leaves_no_trace(at_rest: Bench) -> None:
    assert begin(at_rest, into_web(at_rest))
    inner = stack_of(at_rest, INNER).traversal_id
    back = replace(transfer(at_rest, "s-a", "s-id", "a"), made_stack_id="s-id", made_stack_name="s")
    new = replace(transferring(at_rest, back, expected={INNER: inner}), id="s-t3", job_id=None)
    assert at_rest.store.traversal_starts.begin_next(new, expected="s-t2") is not None
    after = row_of(at_rest, "s-a")
    assert (after.stack_id, after.name, after.made_in) == ("s-id", "a", None)


def test_stack_that_takes_part_begins_nothing_that_was_planned_before(at_rest: Bench) -> None:
    before = stack_of(at_rest, INNER)
    assert begin(at_rest, into_web(at_rest))
    after = stack_of(at_rest, INNER)
    assert after.traversal_id != before.traversal_id
    assert (after.action, after.status, after.template_id) == ("CREATE", "COMPLETE", before.template_id)
    assert at_rest.store.traversals.context(after.traversal_id) == {"name": "s-web", "parameters": {}}
    late = replace(update_of(at_rest, {"y": set()}), id="inner-t2", stack_id=INNER, known=("inner-y",))
    assert at_rest.store.traversal_starts.begin_next(late, expected="inner-t1") is None


def test_nothing_is_moved_once_a_stack_that_takes_part_has_moved_on(at_rest: Bench) -> None:
    new = into_web(at_rest)
    other = replace(new, transfers=replace(new.transfers or Transfers(), expected={INNER: "other"}))
    assert not begin(at_rest, other)
    assert row_of(at_rest, "s-a").stack_id == "s-id"
    assert stack_of(at_rest, "s-id").traversal_id == "s-t1"


def test_nothing_is_moved_once_a_row_has_changed(at_rest: Bench) -> None:
    new = into_web(at_rest)
    with at_rest.store.database.write() as connection:
        resource = tables.resource
        connection.execute(resource.update().where(resource.c.id == "s-a").values(lock_traversal="other"))
    assert not begin(at_rest, new)
    assert (row_of(at_rest, "s-a").stack_id, stack_of(at_rest, INNER).traversal_id) == ("s-id", "inner-t1")


@pytest.mark.parametrize("interrupts", [False, True])
def test_only_a_rollback_ends_what_is_under_way_inside(bench: Bench, interrupts: bool) -> None:
    bench.run_all(bench.begin({"a": set(), "web": {"a"}}))
    orders = begin_inner(bench, "y", "z")
    claim = bench.claim(orders[0])
    assert begin(bench, into_web(bench, interrupts=interrupts)) is interrupts
    inner = stack_of(bench, INNER)
    if not interrupts:
        assert (inner.traversal_id, inner.status) == ("inner-t1", "IN_PROGRESS")
        return
    assert (inner.status, inner.reason) == ("FAILED", "a rollback moved resources of it")
    # A step that runs comes to its end, and nothing else begins.
    assert bench.store.nodes.claim(orders[1], worker="w") is None
    assert bench.finish(claim).accepted
    assert row_of(bench, "inner-y").status == "COMPLETE"


def test_stack_is_made_for_what_is_moved_into_it(at_rest: Bench) -> None:
    outer = stack_of(at_rest, INNER)
    new = NewNestedStack.within(outer, "in", "in.yaml", row_id="new", template_id=EMPTY.id, has_row=False)
    moved = transfer(at_rest, "s-a", "new", "web/in/x")
    at_rest.store.templates.save(EMPTY, {})
    assert begin(at_rest, transferring(at_rest, moved, expected={INNER: "inner-t1"}, made=(new,)))
    made = stack_of(at_rest, "new")
    assert (made.parent_id, made.parent_resource, made.root_id, made.depth) == (INNER, "new", "s-id", 2)
    assert (made.action, made.status, made.template_id) == ("CREATE", "COMPLETE", EMPTY.id)
    row = row_of(at_rest, "new")
    assert (row.stack_id, row.name, row.type, row.physical_id) == (INNER, "in", "in.yaml", "new")
    assert (row.action, row.status) == ("CREATE", "IN_PROGRESS")
    assert row_of(at_rest, "s-a").stack_id == "new"
    assert at_rest.store.traversals.context(made.traversal_id)["parameters"] == {}


def test_nested_stack_is_moved_with_all_that_is_in_it(at_rest: Bench) -> None:
    outer = stack_of(at_rest, "s-id")
    new = NewNestedStack.within(outer, "all", "all.yaml", row_id="new", template_id=EMPTY.id, has_row=False)
    moved = transfer(at_rest, INNER, "new", "all/web")
    assert begin(at_rest, transferring(at_rest, moved, expected={}, made=(new,)))
    inner = stack_of(at_rest, INNER)
    assert (inner.parent_id, inner.depth, inner.traversal_id) == ("new", 2, "inner-t1")
    assert [each.id for each in at_rest.store.families.children("new")] == [INNER]


def test_reservations_annotations_drift_and_outputs_move_with_it(at_rest: Bench) -> None:
    store = at_rest.store
    amounts = {("a", "n"): {"memory_mib": 3}}
    new = NewReservation(operation_id="o", stack_id="s-id", amounts=amounts, seconds=1000.0)
    assert store.reservations.reserve(new, fits=bool)
    value = store.codec.pack({"seen": 1}, ("annotation", "value", "s-id", "plugin", "a"))
    drift = {
        "resource_id": "s-a",
        "key": "k",
        "path": "a",
        "stack_id": "s-id",
        "root_id": "s-id",
        "type": "t",
        "finding": b"",
        "since": 1.0,
        "seen_at": 1.0,
        "standing": "detected",
    }
    reader = {
        "resource_id": "s-a",
        "stack_id": "s-id",
        "root_id": "s-id",
        "source_id": "other",
        "output": "o",
    }
    with store.database.write() as connection:
        values = {"stack_id": "s-id", "plugin": "plugin", "resource": "a", "value": value}
        connection.execute(tables.annotation.insert().values(**values))
        connection.execute(tables.drift.insert().values(**drift))
        connection.execute(tables.output_reader.insert().values(**reader))
    assert begin(at_rest, into_web(at_rest))
    own = store.reservations.promised((), stack_id=INNER).own
    assert own["x", "n"]["memory_mib"] == 3
    assert store.reservations.promised((), stack_id="s-id").own == {}
    assert store.annotations.of(INNER, "x") == {"plugin": {"seen": 1}}
    assert store.annotations.of("s-id", "a") == {}
    with store.database.read() as connection:
        found = connection.execute(sa.select(tables.drift.c.stack_id, tables.drift.c.path)).all()
        readers = connection.execute(sa.select(tables.output_reader.c.stack_id)).scalars().all()
    assert ([tuple(row) for row in found], readers) == ([(INNER, "web/x")], [INNER])
