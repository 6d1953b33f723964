"""Scenes of a stack's life, and the operations of the store that may meet there at the same moment."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import Conflict
from orchestrator.model.messages import END, CheckOrder
from orchestrator.model.nested_stack import Family, Fence
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.model.plan import DesiredResource, Match, plan_create, plan_delete, plan_update
from orchestrator.planning.matching import plan_row
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.store.stacks.drifts import Observed, Overtaken
from orchestrator.store.stacks.observation_turns import ObservationTurn, TurnEnd
from orchestrator.store.traversals.new_traversal import Fenced, NewTraversal
from orchestrator.store.traversals.traversals import ClaimedEnd
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_transfers_contract import (
    INNER,
    begin_inner,
    stack_of,
    transfer,
    transferring,
)
from tests.unit.orchestrator.store.updating import (
    begin_update,
    created,
    end,
    order_of,
    orders_of,
    rows_of,
    update_of,
)

#: How long a step waits for something that only a signal brings earlier.
LONG_SECONDS = 50_000.0


@dataclass
class Found:
    """What operations find at the beginning: the claims of running steps, and orders, by name."""

    claims: dict[str, Claim] = field(default_factory=dict)
    orders: dict[str, CheckOrder] = field(default_factory=dict)


Operating = Callable[[Bench, Found], Any]
#: Operations that pass over what others hold at the moment, as if they had not come.
PASSING = ("sweep", "claim")


@dataclass(frozen=True)
class Scene:
    """A state of the store, and operations that may meet in it."""

    name: str
    prepare: Callable[[Bench], Found]
    operations: Mapping[str, Operating]


# -- operations ----------------------------------------------------------------------------------------------------


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


# -- scenes --------------------------------------------------------------------------------------------------------

#: Two steps run with common dependents, and one of them has another dependent before those.
CREATED: Mapping[str, set[str]] = {
    "a": set(),
    "k": set(),
    "e": set(),
    "x": set(),
    "r": {"x"},
    "v": {"x"},
    "w": {"x"},
    "b": {"a"},
    "m": {"a", "k"},
    "n": {"a", "k"},
}


def _creating(bench: Bench) -> Found:
    found = Found(orders={order.key: order for order in bench.begin(dict(CREATED))})
    for order in bench.run(found.orders["x"]):
        found.orders[order.key] = order
    bench.finish(bench.claim(found.orders["w"]), Ending.WAITING, seconds=LONG_SECONDS)
    found.claims = {name: bench.claim(found.orders[name]) for name in ("a", "k", "v")}
    return found


def _updating(bench: Bench) -> Found:
    """A step of a superseded update runs on; the next one wants the same resource, and another one less."""
    created(bench, {"a": set(), "b": {"a"}, "g": set()})
    old = {order.key: order for order in begin_update(bench, {"a": set(), "b": {"a"}, "g": set()})}
    running = bench.claim(old["a"])
    new = begin_update(bench, {"a": set(), "b": {"a"}, "h": set()}, number=3)
    found = Found(orders={order.key: order for order in new}, claims={"a": running})
    found.claims["h"] = bench.claim(found.orders["h"])
    return found


def _overtaken(bench: Bench) -> Found:
    """A step of a superseded update has lost its lease, and the next one waits for its resource."""
    found = _updating(bench)
    assert bench.store.nodes.claim(found.orders["a"], worker="next") is None
    with bench.store.database.write() as connection:
        over = "UPDATE node SET due_at = 1000 WHERE traversal_id = 's-t2' AND state = 'running'"
        connection.execute(sa.text(over))
    return found


def _replacing(bench: Bench) -> Found:
    """Two steps of an update run, and one of them is to be replaced."""
    requires: dict[str, set[str]] = {"a": set(), "b": {"a"}, "d": set()}
    created(bench, requires)
    orders = {order.key: order for order in begin_update(bench, requires)}
    return Found(orders=orders, claims={name: bench.claim(orders[name]) for name in ("a", "d")})


def _nesting(bench: Bench) -> Found:
    """The lease of a step is over, and so is that of a step in its nested stack."""
    found = Found(orders={order.key: order for order in bench.begin({"a": set(), "b": {"a"}})})
    found.claims["a"] = bench.claim(found.orders["a"])
    (inside,) = bench.begin({"inner": set()}, stack="nested")
    bench.claim(inside)
    parent = sa.update(tables.stack).where(tables.stack.c.id == "nested-id")
    family = {"parent_id": "s-id", "parent_resource": "s-a", "root_id": "s-id", "depth": 1}
    with bench.store.database.write() as connection:
        connection.execute(parent.values(**family))
        connection.execute(sa.text("UPDATE node SET due_at = 1000 + no WHERE due_at IS NOT NULL"))
    return found


def _transferring(bench: Bench) -> Found:
    """A step of a nested stack runs, and another one is to begin, while the operation that it is part of has failed."""
    created(bench, {"a": set(), "web": {"a"}})
    found = Found(orders={order.key: order for order in begin_inner(bench, "y", "z")})
    found.claims["y"] = bench.claim(found.orders["y"])
    return found


def _ending(bench: Bench) -> Found:
    """Two last steps run, and the join of a resource that stays as it is was sent."""
    requires: dict[str, set[str]] = {"a": set(), "b": set(), "j": set(), "q": {"j"}}
    created(bench, requires)
    found = Found(orders={order.key: order for order in begin_update(bench, requires, clean=["q"])})
    found.claims = {name: bench.claim(found.orders[name]) for name in ("a", "b")}
    for order in end(bench, bench.claim(found.orders["j"]), Ending.DONE, changed=False).ready:
        found.orders[order.key] = order
    with bench.store.database.read() as connection:
        for name, which in (("end", "phase = 'end'"), ("q's cleanup", "phase = 'cleanup' AND key = 'q'")):
            sql = sa.text(f"SELECT no FROM node WHERE traversal_id = 's-t2' AND {which}")
            found.orders[name] = order_of(bench, connection.execute(sql).scalar_one())
    return found


def _late(bench: Bench) -> Found:
    """A lease is over, messages were lost, and a pause has passed."""
    requires: Mapping[str, set[str]] = {
        "a": set(),
        "b": {"a"},
        "e": set(),
        "f": set(),
        "g": set(),
        "h": set(),
        "p": set(),
        "y": set(),
        "z": {"a", "y"},
    }
    found = Found(orders={order.key: order for order in bench.begin(dict(requires))})
    bench.finish(bench.claim(found.orders["p"]), Ending.WAITING, seconds=1)
    found.claims = {name: bench.claim(found.orders[name]) for name in ("a", "y")}
    with bench.store.database.write() as connection:
        connection.execute(sa.text("UPDATE node SET due_at = 1000 + no WHERE due_at IS NOT NULL"))
    return found


#: A chain, and two steps with one common dependent.
LINKED: Mapping[str, set[str]] = {
    "a": set(),
    "b": {"a"},
    "c": {"b"},
    "d": set(),
    "k": set(),
    "x": {"d", "k"},
}


def _linking(bench: Bench) -> Found:
    """Three steps run, each with one dependent."""
    found = Found(orders={order.key: order for order in bench.begin(dict(LINKED))})
    found.claims = {name: bench.claim(found.orders[name]) for name in ("a", "d", "k")}
    return found


def _linking_late(bench: Bench) -> Found:
    """Their leases are over."""
    found = _linking(bench)
    with bench.store.database.write() as connection:
        connection.execute(sa.text("UPDATE node SET due_at = 1000 + no WHERE due_at IS NOT NULL"))
    return found


def _linking_deletes(bench: Bench) -> Found:
    """A step of a superseded update holds the resource that a deletion wants after the one that it deletes."""
    created(bench, _A_AND_B)
    old = {order.key: order for order in begin_update(bench, _A_AND_B)}
    found = Found(claims={"a": bench.claim(old["a"])})
    found.orders = {order.key: order for order in begin_update(bench, {}, number=3)}
    found.claims["b"] = bench.claim(found.orders["b"])
    assert len(found.claims["b"].dependents) == 1
    return found


_A_AND_B: Mapping[str, set[str]] = {"a": set(), "b": {"a"}}
#: The same after a move of a.
_N_AND_B: Mapping[str, set[str]] = {"n": set(), "b": {"n"}}
_A_TO_N = {"n": "a"}

_LINKS: Mapping[str, Operating] = {
    "a ends, b begins": end_together("a"),
    "a, b and c run": runs_on("a"),
    "a and b run, c begins": runs_on("a", most=1),
    "d ends, x begins": end_together("d"),
    "k ends, x begins": end_together("k"),
    "a fails": ends("a", Ending.FAILED),
    "d ends": ends("d"),
    "d fails": ends("d", Ending.FAILED),
    "give a back": gives_back("a"),
    "signal a": signals("s-a"),
    "sweep": sweeps(),
    "beat": beats("a", "d", "k"),
    "nest in a": nests("a"),
    "update": updates(2, _A_AND_B),
    "move a": updates(2, _N_AND_B, _A_TO_N),
    "cancel": cancels(1),
    "give way": gives_way(1),
}

SCENES = (
    Scene(
        "creating",
        _creating,
        {
            "a ends": ends("a"),
            "k ends": ends("k"),
            "a fails": ends("a", Ending.FAILED),
            "v waits": ends("v", Ending.WAITING, seconds=LONG_SECONDS),
            "v ends": ends("v"),
            "claim e": claims("e"),
            "claim r": claims("r"),
            "claim e and r": claims_together("e", "r"),
            "a and k end": end_together("a", "k"),
            "give v back": gives_back("v"),
            "signal x": signals("s-x"),
            "sweep": sweeps(),
            "beat": beats("a", "k", "v"),
            "nest in v": nests("v"),
            "update": updates(2, CREATED),
            "cancel": cancels(1),
            "give way": gives_way(1),
        },
    ),
    Scene(
        "updating",
        _updating,
        {
            "old a ends": ends("a"),
            "old a fails": ends("a", Ending.FAILED),
            "old a waits": ends("a", Ending.WAITING, seconds=LONG_SECONDS),
            "claim a": claims("a"),
            "claim a, if it is free": claims_together("a"),
            "give old a back": gives_back("a"),
            "h ends": ends("h"),
            "sweep": sweeps(),
            "update": updates(4, _A_AND_B),
            "move a": updates(4, _N_AND_B, _A_TO_N),
            "delete": updates(4, {}),
            "cancel": cancels(3),
        },
    ),
    Scene(
        "overtaken",
        _overtaken,
        {
            "sweep": sweeps(),
            "old a ends": ends("a"),
            "old a waits": ends("a", Ending.WAITING, seconds=LONG_SECONDS),
            "beat": beats("a"),
            "update": updates(4, _A_AND_B),
            "cancel": cancels(3),
        },
    ),
    Scene(
        "replacing",
        _replacing,
        {
            "replace a": replaces("a"),
            "replace d": replaces("d"),
            "a and d end": end_together("a", "d"),
            "d ends": ends("d"),
            "d fails": ends("d", Ending.FAILED),
            "update": updates(3, _A_AND_B),
            "move a": updates(3, _N_AND_B, _A_TO_N),
            "give way": gives_way(2),
            "sweep": sweeps(),
        },
    ),
    Scene(
        "ending",
        _ending,
        {
            "a ends": ends("a"),
            "b ends": ends("b"),
            "a and b end": end_together("a", "b"),
            "b fails": ends("b", Ending.FAILED),
            "join q": joins("q"),
            "join q's cleanup": joins("q's cleanup"),
            "complete": completes(2),
            "claim the end": claims_end,
            "cancel": cancels(2),
            "update": updates(3, _A_AND_B),
            "sweep": sweeps(),
        },
    ),
    Scene(
        "nesting",
        _nesting,
        {
            "sweep": sweeps(),
            "delete what is nested": deletes_nested("a"),
            "a ends": ends("a"),
            "update": updates(2, _A_AND_B),
            "cancel": cancels(1),
        },
    ),
    Scene(
        "late",
        _late,
        {
            "sweep": sweeps(),
            "sweep a full queue": sweeps(backlog=100),
            "a ends": ends("a"),
            "y ends": ends("y"),
            "a and y end": end_together("a", "y"),
            "give a back": gives_back("a"),
            "claim e, f and g": claims_together("e", "f", "g"),
            "a fails": ends("a", Ending.FAILED),
            "beat": beats("a", "y"),
            "claim e": claims("e"),
            "update": updates(2, _A_AND_B),
            "cancel": cancels(1),
            "nest in a": nests("a"),
        },
    ),
    Scene(
        "transferring",
        _transferring,
        {
            "y ends": ends("y"),
            "y fails": ends("y", Ending.FAILED),
            "y waits": ends("y", Ending.WAITING, seconds=LONG_SECONDS),
            "claim z": claims("z"),
            "move y out": transfers(2, "inner-y", "y"),
            "move z out": transfers(2, "inner-z", "z"),
            "update what is nested": updates_nested,
            "update": updates(2, {"a": set(), "web": {"a"}}),
            "observe": observes,
            "protect what is nested": protects_nested,
            "beat": beats("y"),
            "sweep": sweeps(),
        },
    ),
    Scene("linking", _linking, _LINKS),
    Scene("linking late", _linking_late, _LINKS),
    Scene(
        "linking deletes",
        _linking_deletes,
        {
            "b ends, a begins": end_together("b"),
            "old a ends": ends("a"),
            "old a fails": ends("a", Ending.FAILED),
            "give old a back": gives_back("a"),
            "sweep": sweeps(),
            "update": updates(4, _A_AND_B),
            "cancel": cancels(3),
        },
    ),
)
