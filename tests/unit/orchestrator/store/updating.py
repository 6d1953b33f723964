"""Updates and deletions on a bench: how they begin, how their nodes end, and what they leave."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from orchestrator.model.messages import JOIN, CheckOrder
from orchestrator.model.plan import DesiredResource, Match, Row, plan_delete, plan_update
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Claim, Ending, Finished, Outcome
from orchestrator.store.traversals.new_traversal import NewTraversal, RowNames
from tests.unit.orchestrator.store.conftest import Bench

RECORDED = ["row", "name", "CREATE", "COMPLETE", "p", "r", []]


def rows_of(bench: Bench, stack_id: str = "s-id") -> list[Row]:
    return [
        Row(
            id=row.id,
            name=row.name,
            type=row.type,
            action=row.action,
            status=row.status,
            requires=row.requires,
        )
        # Of two rows of one name and age, always the same is matched.
        for row in sorted(bench.store.stacks.resources(stack_id), key=operator.attrgetter("id"))
    ]


def begin_update(
    bench: Bench,
    requires: Mapping[str, set[str]],
    *,
    clean: Sequence[str] = (),
    number: int = 2,
    after: int | None = None,
    known: Sequence[str] | None = None,
    other_types: Mapping[str, str] | None = None,
) -> tuple[CheckOrder, ...]:
    """Begin an update of the stack to resources that require each other so; return the first orders.

    It follows the operation of the number before, or that which it comes ``after``.
    """
    new = update_of(bench, requires, clean=clean, number=number, known=known, other_types=other_types)
    if not bench.store.traversal_starts.begin_next(new, expected=f"s-t{after or number - 1}"):
        return ()
    return orders_of(new)


def update_of(
    bench: Bench,
    requires: Mapping[str, set[str]],
    *,
    clean: Sequence[str] = (),
    number: int = 2,
    known: Sequence[str] | None = None,
    other_types: Mapping[str, str] | None = None,
    moved: Mapping[str, str] | None = None,
) -> NewTraversal:
    """Return an update of the stack, planned with its present rows; ``moved`` are their names, by the new ones."""
    rows = rows_of(bench)
    now = {was: name for name, was in (moved or {}).items()}
    names = {
        row.id: RowNames(name=now[row.name], former=(row.name,), complete=row.name)
        for row in rows
        if row.name in now
    }
    rows = [replace(row, name=now.get(row.name, row.name)) for row in rows]
    by_name = {row.name: row for row in rows}
    desired_resources = [
        DesiredResource(
            name=name,
            type="Test",
            resource_id=f"new-{number}-{name}",
            fragment={"definition": {}, "n": number},
            requires=frozenset(others),
            wanted=frozenset(),
        )
        for name, others in requires.items()
    ]
    matches = {
        desired.name: Match(row=by_name.get(desired.name), clean=desired.name in clean, node_data=RECORDED)
        for desired in desired_resources
    }
    plan = plan_update(desired_resources, matches, rows)
    return NewTraversal(
        id=f"s-t{number}",
        stack_id="s-id",
        stack="s",
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan,
        context={},
        new_types={
            desired.resource_id: "Test" for desired in desired_resources if desired.name not in by_name
        },
        known=[row.id for row in rows] if known is None else known,
        job_id=f"job-{number}",
        other_types={by_name[name].id: kind for name, kind in (other_types or {}).items()},
        names=names,
        moved={each.name: each.former[0] for each in names.values()},
    )


def orders_of(new: NewTraversal) -> tuple[CheckOrder, ...]:
    """Return the orders for the nodes that are ready when a traversal begins."""
    return tuple(
        CheckOrder(
            stack_id=new.stack_id,
            traversal_id=new.id,
            no=node.no,
            key=node.key,
            phase=node.phase,
            stack=new.stack,
            action=node.action,
            node_data=(),
        )
        for node in new.plan.ready
    )


def begin_delete(bench: Bench, *, number: int = 2, after: int | None = None) -> bool:
    rows = rows_of(bench)
    new = NewTraversal(
        id=f"s-t{number}",
        stack_id="s-id",
        stack="s",
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan_delete(rows),
        context={},
        new_types={},
        known=[row.id for row in rows],
    )
    return bench.store.traversal_starts.begin_next(new, expected=f"s-t{after or number - 1}") is not None


def order_of(bench: Bench, no: int, *, number: int = 2) -> CheckOrder:
    node = tables.node
    with bench.store.database.read() as connection:
        row = connection.execute(
            node.select().where(tables.in_traversal(f"s-t{number}"), node.c.no == no)
        ).one()
    return CheckOrder(
        stack_id="s-id",
        traversal_id=f"s-t{number}",
        no=no,
        key=row.key,
        phase=row.phase,
        stack="s",
        action=row.action,
        node_data=(),
    )


def created(bench: Bench, requires: Mapping[str, set[str]]) -> None:
    """Make a stack of resources, all the way."""
    bench.run_all(bench.begin(dict(requires)))


def end(bench: Bench, claim: Claim, ending: Ending, *, changed: bool = True, data: bool = True) -> Finished:
    """End a claim's step, perhaps with other node data than is on record."""
    return bench.store.nodes.finish(
        claim,
        Outcome(
            ending=ending,
            physical_id="physical",
            reference_id="other",
            token="token" if ending is Ending.WAITING else None,
            node_data=RECORDED if ending is Ending.DONE and data else None,
            changed=changed,
            new_id="replacement" if ending is Ending.REPLACE else "",
            untouched=ending is Ending.RETRY,
        ),
    )


def pass_on(bench: Bench, orders: Sequence[CheckOrder]) -> list[CheckOrder]:
    """Carry joins out as a worker does; return what is left."""
    left, waiting = [], list(orders)
    while waiting:
        order = waiting.pop()
        if order.phase == JOIN:
            waiting.extend(bench.store.nodes.release_join(order).ready)
        else:
            left.append(order)
    return left


def keys(orders: Sequence[CheckOrder]) -> list[tuple[str, str]]:
    return sorted((order.phase, order.key) for order in orders)


def node_of(bench: Bench, key: str, phase: str, *, number: int = 2) -> sa.Row[Any]:
    node = tables.node
    mine = (tables.in_traversal(f"s-t{number}"), node.c.key == key, node.c.phase == phase)
    with bench.store.database.read() as connection:
        return connection.execute(node.select().where(*mine)).one()
