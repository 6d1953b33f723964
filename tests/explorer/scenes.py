"""Scenes of a stack's life, and the operations of the store that may meet there at the same moment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending
from tests.explorer.operations import (
    LONG_SECONDS,
    Found,
    Operating,
    beats,
    cancels,
    claims,
    claims_end,
    claims_together,
    completes,
    deletes_nested,
    end_together,
    ends,
    gives_back,
    gives_way,
    joins,
    nests,
    observes,
    protects_nested,
    replaces,
    runs_on,
    signals,
    sweeps,
    transfers,
    updates,
    updates_nested,
)
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_transfers_contract import begin_inner
from tests.unit.orchestrator.store.updating import begin_update, created, end, order_of

#: Operations that pass over what others hold at the moment, as if they had not come.
PASSING = ("sweep", "claim")


@dataclass(frozen=True)
class Scene:
    """A state of the store, and operations that may meet in it."""

    name: str
    prepare: Callable[[Bench], Found]
    operations: Mapping[str, Operating]


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
