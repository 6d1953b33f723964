"""Chains of resources that only compute: links that are carried out in runs end as if each were checked by itself."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import Conflict, Unavailable
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.store.nodes.claims import FinishedBatch
from orchestrator.store.nodes.runs import Run
from orchestrator.tracing.tracer import Tracing
from tests.scenarios.cloud import Crash
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.telling import steps_counted
from tests.scenarios.test_hooks import environment
from tests.scenarios.test_interleavings import Graph, fates, graphs, patient, play
from tests.scenarios.world import World
from workers.check import batch
from workers.check.checker import CARRY_ON, LINKS
from workers.resources.core.value import Value

NAMES = tuple("abcdefgh")
CHAIN: Graph = {name: NAMES[max(0, number - 1) : number] for number, name in enumerate(NAMES)}
#: What another process does while a run is under way.
MEANWHILE = ("cancel", "cancel alone", "delete", "update", "sweep", "deliver again")


@pytest.fixture(autouse=True)
def no_hurry() -> Iterator[None]:
    """Let no run end early because the machine is busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "DELAY_SECONDS", math.inf)
        yield


def text_of(graph: Graph, *, kind: str = "Computed") -> str:
    """Return a template of values that are made of each other's."""
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for name, others in graph.items():
        parts = ", ".join(f"{{get_attr: [{other}, value]}}" for other in others)
        value = f"{{list_join: ['+', [{name}{', ' if parts else ''}{parts}]]}}"
        lines += [f"  {name}:", f"    type: {kind}", f"    properties: {{value: {value}}}"]
    return "\n".join([*lines, ""]) if graph else "heat_template_version: 2021-04-16\nresources: {}\n"


def world_of(act: Callable[[World, str], Any] | None = None, **settings: Any) -> World:
    """Make a world with a pure type; whatever ``act`` does is done in each of its steps."""

    class Computed(Value):
        pure: ClassVar[bool] = True

        def handle_create(self) -> Any:
            world.cloud.instruction()
            if act is not None:
                act(world, self.name)
            return super().handle_create()

    world = World({"Computed": Computed}, **settings)
    return world


def watched(world: World) -> list[tuple[list[str], bool]]:
    """Return a list of the runs in a world that are to come: the names of each, and whether it was recorded."""
    runs: list[tuple[list[str], bool]] = []
    finish = world.store.nodes.finish_run

    def noted(run: Run, **arguments: Any) -> FinishedBatch | None:
        done = finish(run, **arguments)
        runs.append(([claim.order.key for claim, _ in run.ended], done is not None))
        return done

    vars(world.store.nodes)["finish_run"] = noted
    return runs


def rows(world: World, sql: str) -> list[Any]:
    with world.store.database.read() as connection:
        return [tuple(row) for row in connection.execute(sa.text(sql))]


def check_in_order(world: World, graph: Graph) -> None:
    """Check that each resource was created once, under one action, after what it requires."""
    events = rows(
        world,
        "SELECT resource, action, status FROM event WHERE resource <> '' AND action <> 'HOOK' ORDER BY id",
    )
    assert sorted(events) == sorted(
        (name, "CREATE", status) for name in graph for status in ("IN_PROGRESS", "COMPLETE")
    )
    place = {(name, status): number for number, (name, _, status) in enumerate(events)}
    for name, others in graph.items():
        assert place[name, "IN_PROGRESS"] < place[name, "COMPLETE"]
        assert all(place[other, "COMPLETE"] < place[name, "IN_PROGRESS"] for other in others)


def check_values(world: World, graph: Graph) -> None:
    """Check that each value is made of those that it refers to."""
    assert world.state() == "CREATE_COMPLETE"
    stack = world.store.stacks.find("s", project="default")
    found = {row.name: row for row in world.store.stacks.resources(stack.id)}
    expected: dict[str, str] = {}
    for name, others in graph.items():
        expected[name] = "+".join([name, *(expected[other] for other in others)])
    assert {name: (row.action, row.status) for name, row in found.items()} == dict.fromkeys(
        graph, ("CREATE", "COMPLETE")
    )
    assert {name: dict(row.properties or {}).get("value") for name, row in found.items()} == expected


def test_a_chain_is_created_in_runs_and_is_on_record_as_without() -> None:
    pictures = []
    for size in (32, 1):
        world = world_of(run_size=size)
        runs = watched(world)
        world.create(text_of(CHAIN))
        world.settle()
        check_values(world, CHAIN)
        # The first link shows that there is a chain.
        assert runs == ([(list(NAMES[1:]), True)] if size > 1 else [])
        pictures.append(
            rows(
                world,
                "SELECT n.no, n.key, n.phase, n.state, n.remaining, n.attempt, n.retries, n.lost, n.published, "
                "n.woken, n.changed, n.due_at, n.ready_at, n.worker, n.node_data IS NULL FROM node n ORDER BY n.no",
            )
            + rows(
                world,
                "SELECT resource, type, action, status, reason, at, cause, worker FROM event ORDER BY id",
            )
            + rows(
                world,
                "SELECT name, action, status, reason, definition_hash, metadata_version, token, started_at, "
                "lock_traversal, applied_no, planned_no, created_at, updated_at FROM resource ORDER BY name",
            )
        )
        world.close()
    assert pictures[0] == pictures[1]


@patient
@given(graph=graphs(), fate=fates, size=st.sampled_from([2, 3, 32]))
def test_a_stack_is_created_whatever_happens_to_messages_and_processes(
    graph: Graph, fate: Sequence[tuple[str, int]], size: int
) -> None:
    world = world_of(run_size=size)
    world.create(text_of(graph))
    play(world, fate)
    world.settle()
    check_values(world, graph)
    completed = rows(
        world, "SELECT resource, count(*) FROM event WHERE status = 'COMPLETE' AND resource <> '' GROUP BY 1"
    )
    assert sorted(completed) == [(name, 1) for name in sorted(graph)]
    world.close()


@patient
@given(graph=graphs(), size=st.sampled_from([2, 3, 32]))
def test_undisturbed_histories_are_in_order(graph: Graph, size: int) -> None:
    world = world_of(run_size=size)
    world.create(text_of(graph))
    world.settle()
    check_in_order(world, graph)
    world.close()


@die_everywhere
def test_a_death_at_any_instruction_loses_nothing(instruction: int) -> None:
    world = world_of()
    world.create(text_of(CHAIN))
    world.cloud.crash_after(instruction)
    while not world.survive(world.settle):
        pass
    world.cloud.crash_at = None
    check_values(world, CHAIN)
    assert rows(world, "SELECT max(lost) FROM node")[0][0] <= 1


@die_everywhere
def test_a_death_at_any_instruction_repeats_at_most_the_steps_of_one_run(instruction: int) -> None:
    size = 3
    world = world_of(run_size=size)
    times = steps_counted(world)
    world.create(text_of(CHAIN))
    world.cloud.crash_after(instruction)
    while not world.survive(world.settle):
        pass
    world.cloud.crash_at = None
    check_values(world, CHAIN)
    assert sum(count - 1 for count in times.values()) <= size


@pytest.mark.parametrize("at", NAMES[1:])
def test_a_worker_that_dies_in_a_run_leaves_the_links_untouched(at: str) -> None:
    dead: list[str] = []

    def dies(_: World, name: str) -> None:
        if name == at and not dead:
            dead.append(name)
            raise Crash

    world = world_of(dies)
    world.create(text_of(CHAIN))
    assert not world.survive(world.deliver)
    # The first of the run is begun; nothing is known of those behind it.
    states = rows(world, "SELECT name, action, status FROM resource ORDER BY name")
    assert states == [
        ("a", "CREATE", "COMPLETE"),
        ("b", "CREATE", "IN_PROGRESS"),
        *((name, "INIT", "COMPLETE") for name in NAMES[2:]),
    ]
    assert {row[0] for row in rows(world, "SELECT attempt FROM node WHERE key > 'b'")} == {0}
    world.settle()
    check_values(world, CHAIN)


@pytest.mark.parametrize("redelivers", [True, False])
@pytest.mark.parametrize("at", ["c", "d", "h"])
@pytest.mark.parametrize("what", MEANWHILE)
def test_what_others_do_meanwhile_wins_over_the_run(what: str, at: str, redelivers: bool) -> None:
    done: list[str] = []

    def meanwhile(world: World, name: str) -> None:
        if name != at or done:
            return
        done.append(what)
        act: Mapping[str, Callable[[], Any]] = {
            "cancel": world.cancel,
            "cancel alone": lambda: world.cancel(rollback=False),
            "delete": world.delete,
            "update": lambda: world.update(text_of({"a": (), "x": ("a",)})),
            "sweep": lambda: world.sweep(after=61.0),
            "deliver again": lambda: world.deliver() if world.messages else None,
        }
        with suppress(Conflict):
            act[what]()

    world = world_of(meanwhile, redelivers=redelivers)
    runs = watched(world)
    stack_id = world.create(text_of(CHAIN))
    world.settle()
    assert done
    ends = {
        "cancel": "ROLLBACK_COMPLETE",
        "cancel alone": "CREATE_FAILED",
        "delete": "DELETE_COMPLETE",
        "update": "UPDATE_COMPLETE",
    }
    assert world.state(stack_id) == ends.get(what, "CREATE_COMPLETE")
    if what in ends:
        # Nothing that was computed before counts but the first, which was claimed.
        assert runs[0] == (list(NAMES[1:]), False)
        begun = {row[0] for row in rows(world, "SELECT resource FROM event WHERE action = 'CREATE'")}
        assert begun - {"", "x"} == {"a", "b"}
    elif what == "sweep":
        # Unless its lease is over.
        assert runs[0] == (list(NAMES[1:]), not redelivers)
        check_values(world, CHAIN)
    else:
        assert runs[0] == (list(NAMES[1:]), True)
        check_in_order(world, CHAIN)


def test_a_link_that_fails_ends_the_run_before_it_and_fails_as_by_itself() -> None:
    tried: list[str] = []

    def fails(_: World, name: str) -> None:
        tried.append(name)
        if name == "e":
            raise ResourceFailure("no luck")

    world = world_of(fails)
    runs = watched(world)
    world.create(text_of(CHAIN))
    assert world.checker.check((world.messages.pop(0),)) == ("e",)
    assert runs == [(["b", "c", "d"], True)]
    # Once ahead, and once claimed.
    assert tried.count("e") == 2
    world.settle()
    assert world.state() == "CREATE_FAILED"
    events = rows(world, "SELECT resource, status FROM event WHERE resource IN ('d', 'e', 'f') ORDER BY id")
    assert events == [("d", "IN_PROGRESS"), ("d", "COMPLETE"), ("e", "IN_PROGRESS"), ("e", "FAILED")]


def test_a_step_that_lasts_after_all_leaves_the_run_for_others() -> None:
    seen: list[Any] = []

    def lasts(world: World, name: str) -> None:
        if name == "d" and not seen:
            (held,) = world.checker._batches
            held._since -= 1e9
            # As the thread that watches finds after a while.
            world.checker.hand_back()
            seen.append(
                (
                    rows(world, "SELECT name FROM resource WHERE status = 'COMPLETE' AND action = 'CREATE'"),
                    [order.key for order in world.messages],
                )
            )

    world = world_of(lasts)
    runs = watched(world)
    world.create(text_of(CHAIN))
    world.deliver()
    # What was claimed is done, and the next is for a worker that has time; the run came too late.
    assert seen == [([("a",), ("b",)], ["c"])]
    assert runs == []
    world.settle()
    check_values(world, CHAIN)
    check_in_order(world, CHAIN)


def test_a_run_ends_once_its_first_outcome_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    def lasts(_: World, name: str) -> None:
        if name == "d":
            monkeypatch.setattr(batch, "DELAY_SECONDS", -1.0)

    world = world_of(lasts)
    runs = watched(world)
    world.create(text_of(CHAIN))
    world.settle()
    assert runs == [(["b", "c", "d"], True)]
    check_values(world, CHAIN)
    check_in_order(world, CHAIN)


def test_a_database_that_goes_away_costs_nothing_but_time() -> None:
    world = world_of()
    world.create(text_of(CHAIN))
    finish = world.store.nodes.finish_run

    def unreachable(*_: Any, **__: Any) -> Any:
        vars(world.store.nodes)["finish_run"] = finish
        raise Unavailable("the database does not answer")

    vars(world.store.nodes)["finish_run"] = unreachable
    with pytest.raises(Unavailable):
        world.deliver()
    world.settle()
    check_values(world, CHAIN)


@pytest.mark.parametrize("size", [1, 2, 5, 32, 1000])
def test_a_run_is_no_longer_than_the_setting_and_the_patience_of_a_message(size: int) -> None:
    most = 1 + (CARRY_ON - 1) * LINKS
    names = [f"r{number:03}" for number in range(most + 40)]
    world = world_of(run_size=size)
    runs = watched(world)
    world.create(text_of({name: names[max(0, number - 1) : number][:1] for number, name in enumerate(names)}))
    world.deliver()
    done = rows(world, "SELECT name FROM resource WHERE action = 'CREATE' AND status = 'COMPLETE' ORDER BY 1")
    assert [name for (name,) in done] == names[:most]
    assert [order.key for order in world.messages] == [names[most]]
    assert all(len(run) <= size and is_whole for run, is_whole in runs)
    assert bool(runs) is (size > 1)


def test_what_is_not_declared_pure_is_claimed_before_its_step() -> None:
    class More(Value):
        """Does more than the type that it is made of."""

    assert (Value.pure, More.pure, Resource.pure) == (True, False, False)
    world = World({"More": More})
    runs = watched(world)
    world.create(text_of(CHAIN, kind="More"))
    world.settle()
    check_values(world, CHAIN)
    assert runs == []


def test_with_traces_each_step_is_of_a_claim() -> None:
    world = world_of()
    types, settings = world.checker._types, world.checker._settings
    traced = type(world.checker)(
        store=world.store, types=types, settings=settings, publisher=world, worker="worker", tracing=Tracing()
    )
    assert traced._run_size == 1
    traced.close()


@pytest.mark.parametrize("hook", ["pre-create", "post-create"])
def test_a_link_with_a_hook_stops_there(hook: str) -> None:
    world = world_of()
    runs = watched(world)
    world.create(text_of(CHAIN), **environment({"e": [hook]}))
    world.settle()
    assert world.standing() == [("e", hook)]
    assert [run for run, _ in runs] == [["b", "c", "d"]]
    world.clear()
    world.settle()
    check_values(world, CHAIN)
    check_in_order(world, CHAIN)
