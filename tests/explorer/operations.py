"""Operations of the store that may meet in a scene: what a process does in one call, or in a few."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import Conflict
from orchestrator.model.messages import END, CheckOrder
from orchestrator.model.nested_stack import Family, Fence
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.model.plan import DesiredResource, Match, plan_create, plan_delete, plan_update
from orchestrator.planning.matching import plan_row
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.store.stacks.drifts import Observed, Overtaken
from orchestrator.store.stacks.observation_turns import ObservationTurn, TurnEnd
from orchestrator.store.traversals.new_traversal import Fenced, NewTraversal
from orchestrator.store.traversals.traversals import ClaimedEnd
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_transfers_contract import (
    INNER,
    stack_of,
    transfer,
    transferring,
)
from tests.unit.orchestrator.store.updating import (
    orders_of,
    rows_of,
    update_of,
)

#: How long a step waits for something that only a signal brings earlier.
LONG_SECONDS = 50_000.0


@dataclass
class Found:
    """What explored operations start from: the claims of running steps, and orders, by name."""

    claims: dict[str, Claim] = field(default_factory=dict)
    orders: dict[str, CheckOrder] = field(default_factory=dict)


Operating = Callable[[Bench, Found], Any]


def claims(name: str) -> Operating:
    """Claim an order as a worker does."""
    return lambda bench, found: bench.store.nodes.claim(found.orders[name], worker="other")


def ends(name: str, ending: Ending = Ending.DONE, *, seconds: float = 0) -> Operating:
    """Report the end of a running step."""

    def finish(bench: Bench, found: Found) -> Sequence[CheckOrder]:
        return bench.finish(found.claims[name], ending, seconds=seconds, reason="no luck").ready

    return finish


def claims_together(*names: str) -> Operating:
    """Claim some orders as a worker does that has received them in one message."""

    def claim(bench: Bench, found: Found) -> Sequence[Claim | CheckOrder]:
        orders = [found.orders[name] for name in names]
        taken = bench.store.nodes.claim_batch(orders, worker="other", types=["Test"])
        return [*taken.claims, *taken.left]

    return claim


def end_together(*names: str) -> Operating:
    """Report the ends of running steps as one batch, and claim what they make ready."""

    def finish(bench: Bench, found: Found) -> Sequence[Claim | CheckOrder]:
        ended = [(found.claims[name], Outcome(ending=Ending.DONE)) for name in names]
        finished = bench.store.nodes.finish_batch(ended, types=["Test"], most=8)
        alone = [bench.store.nodes.finish(*each).ready for each in finished.left]
        return [*finished.claims, *finished.ready, *(order for ready in alone for order in ready)]

    return finish


def runs_on(name: str, *, most: int = 8) -> Operating:
    """Carry a running step out with links behind it, as one run if nothing has come in between."""

    def run_on(bench: Bench, found: Found) -> Sequence[Claim | CheckOrder]:
        nodes, claim = bench.store.nodes, found.claims[name]
        run = nodes.run_ahead(claim, types=["Test"], most=most)
        run.add(claim, Outcome(ending=Ending.DONE))
        while (link := nodes.next_of_run(run)) is not None:
            run.add(link, Outcome(ending=Ending.DONE))
        finished = nodes.finish_run(run, types=["Test"], most=8) if run.passed else None
        if finished is None:
            return end_together(name)(bench, found)  # type: ignore[no-any-return]
        return [*finished.claims, *finished.ready]

    return run_on


def gives_back(name: str) -> Operating:
    """Give back a claim whose step was not begun."""
    return lambda bench, found: bench.store.nodes.give_back(found.claims[name])


def replaces(name: str) -> Operating:
    """Report that a resource must be replaced."""

    def replace(bench: Bench, found: Found) -> Sequence[CheckOrder]:
        outcome = Outcome(ending=Ending.REPLACE, new_id=f"new-{name}")
        return bench.store.nodes.finish(found.claims[name], outcome).ready

    return replace


def joins(name: str) -> Operating:
    """Pass a join on."""
    return lambda bench, found: bench.store.nodes.release_join(found.orders[name]).ready


def signals(resource_id: str) -> Operating:
    """Wake those who wait for what a signal to a resource brings."""
    return lambda bench, _: bench.store.nodes.wake_dependents(resource_id)


def sweeps(*, backlog: int | None = None) -> Operating:
    """Sweep once."""
    return lambda bench, _: bench.store.sweeper.sweep(backlog=backlog).orders


def beats(*names: str) -> Operating:
    """Extend the leases of running steps."""

    def beat(bench: Bench, found: Found) -> None:
        held = (found.claims[name] for name in names)
        bench.store.nodes.heartbeat([(c.order.traversal_id, c.order.no, c.attempt) for c in held])

    return beat


def updates(
    number: int, requires: Mapping[str, set[str]], moved: Mapping[str, str] | None = None
) -> Operating:
    """Begin an update, planned with the present rows, that supersedes the operation before, if no other one has.

    ``moved`` are names of rows, by their new ones.
    """

    def update(bench: Bench, _: Found) -> Sequence[CheckOrder]:
        before = f"s-t{number - 1}"
        while bench.store.stacks.find("s-id", project="p").traversal_id == before:
            new = update_of(bench, requires, number=number, moved=moved)
            if bench.store.traversal_starts.begin_next(new, expected=before):
                return orders_of(new)
        return ()

    return update


def transfers(number: int, row_id: str, path: str) -> Operating:
    """Begin an update that moves a row out of the nested stack, as a rollback does, if no other one has begun."""

    def update(bench: Bench, _: Found) -> Sequence[CheckOrder]:
        before = f"s-t{number - 1}"
        while stack_of(bench, "s-id").traversal_id == before:
            inner = stack_of(bench, INNER).traversal_id
            moved = transfer(bench, row_id, "s-id", path)
            new = transferring(bench, moved, expected={INNER: inner}, number=number, interrupts=True)
            if bench.store.traversal_starts.begin_next(new, expected=before):
                return orders_of(new)
        return ()

    return update


def updates_nested(bench: Bench, _: Found) -> Sequence[CheckOrder]:
    """Begin an update of the nested stack, planned by its rows, unless the stack has another operation by now."""
    rows = [plan_row(row) for row in bench.store.stacks.resources(INNER)]
    desired = [
        DesiredResource(
            name=row.name,
            type="Test",
            resource_id=row.id,
            fragment={"definition": {}, "n": 2},
            requires=frozenset(),
            wanted=frozenset(),
        )
        for row in rows
    ]
    plan = plan_update(desired, {row.name: Match(row=row) for row in rows}, rows)
    new = NewTraversal(
        id="inner-t2",
        stack_id=INNER,
        stack="s-web",
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan,
        context={"name": "s-web", "parameters": {}},
        new_types={},
        known={row.id for row in rows},
    )
    begun = bench.store.traversal_starts.begin_next(new, expected="inner-t1")
    return orders_of(new) if begun else ()


def observes(bench: Bench, _: Found) -> None:
    """Record an observation of the tree of stacks, which locks all of them."""
    observed = Observed(stacks=bench.store.families.in_tree("s-id"), drifted=(), sound=(), present=())
    with suppress(Overtaken):
        turn = ObservationTurn(
            stack_id="s-id",
            policy=ObservationPolicy(),
            due_at=None,
            attempt=1,
            ended_attempt=0,
            observed_at=None,
            trouble="",
            repairs=(),
            repair_traversal=None,
            now=bench.clock.now,
        )
        bench.store.drifts.record(TurnEnd(turn=turn, due_at=None), observed)


def protects_nested(bench: Bench, _: Found) -> None:
    """Protect the nested stack, which locks the stacks that it is in."""
    stacks = [stack_of(bench, INNER), stack_of(bench, "s-id")]
    bench.store.protections.mark(stacks, (), protected=True, reason="")


def cancels(number: int) -> Operating:
    """Cancel the operation, which is over or superseded at the worst."""

    def cancel(bench: Bench, _: Found) -> CheckOrder | None:
        try:
            return bench.store.traversals.cancel(f"s-t{number}", reason="enough", job_id="cancel")
        except Conflict:
            return None

    return cancel


def gives_way(number: int) -> Operating:
    """Fail the operation because another one takes the stack."""
    return lambda bench, _: bench.store.traversals.fence(f"s-t{number}")


def completes(number: int) -> Operating:
    """Complete the operation, if nothing of it is left."""
    return lambda bench, _: bench.store.traversals.complete(f"s-t{number}")


def claims_end(bench: Bench, found: Found) -> ClaimedEnd | None:
    """Claim the end of the operation as a coordinator does, if it is over."""
    return bench.store.traversals.claim_end(found.orders["end"], worker="coordinator")


def nests(name: str) -> Operating:
    """Begin the nested stack of a running step."""

    def nest(bench: Bench, found: Found) -> CheckOrder | None:
        claim = found.claims[name]
        order = claim.order
        new = NewTraversal(
            id="nested-t1",
            stack_id="nested-id",
            stack="nested",
            project="p",
            template_id="none",
            timeout_minutes=60,
            plan=plan_create([]),
            context={},
            new_types={},
            family=Family(
                parent_id=order.stack_id, parent_resource=claim.resource_id, root_id=order.stack_id, depth=1
            ),
            fence=_fence(claim),
        )
        try:
            bench.store.traversal_starts.begin_create(new)
        except (Fenced, Conflict):
            return None
        return CheckOrder(
            stack_id=new.stack_id,
            traversal_id=new.id,
            no=0,
            key="",
            phase=END,
            stack=new.stack,
            node_data=(),
        )

    return nest


def deletes_nested(name: str) -> Operating:
    """Begin the deletion of the nested stack of a running step."""

    def delete(bench: Bench, found: Found) -> Sequence[CheckOrder]:
        fence = _fence(found.claims[name])
        rows = rows_of(bench, "nested-id")
        new = NewTraversal(
            id="nested-t2",
            stack_id="nested-id",
            stack="nested",
            project="p",
            template_id="none",
            timeout_minutes=60,
            plan=plan_delete(rows),
            context={},
            new_types={},
            known=[row.id for row in rows],
            fence=fence,
        )
        try:
            begun = bench.store.traversal_starts.begin_next(new, expected="nested-t1")
        except Fenced:
            return ()
        return orders_of(new) if begun else ()

    return delete


def _fence(claim: Claim) -> Fence:
    order = claim.order
    return Fence(
        resource_id=claim.resource_id, traversal_id=order.traversal_id, no=order.no, attempt=claim.attempt
    )
