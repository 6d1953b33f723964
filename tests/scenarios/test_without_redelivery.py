"""Every operation ends although the sweep repairs nothing: each message is sent, each waiting node is woken."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.messages import EnvironmentSource
from orchestrator.model.plan import FAN_IN
from tests.scenarios import groups
from tests.scenarios.groups import members
from tests.scenarios.test_groups import ROLLING, group
from tests.scenarios.test_interleavings import NAMES, Graph, check_created, graphs, patient
from tests.scenarios.test_nested import BIG_PAIR, FILES, names, root
from tests.scenarios.test_updates import present, template, value
from tests.scenarios.test_wait_conditions import TYPES as WAIT_TYPES
from tests.scenarios.test_wait_conditions import signal
from tests.scenarios.test_wait_conditions import template as waiting
from tests.scenarios.world import World, template_of
from workers.check.checker import CARRY_ON, LINKS

#: More than one worker carries on with.
MANY = 2 * CARRY_ON + 3

SHAPES: Mapping[str, Graph] = {
    "single": {"a": []},
    "apart": {f"r{n}": [] for n in range(MANY)},
    "chain": {f"r{n:03}": [f"r{n - 1:03}"] if n else [] for n in range(LINKS * CARRY_ON)},
    "fan-out": {"first": [], **{f"r{n}": ["first"] for n in range(MANY)}},
    "fan-in": {
        **{f"r{n:03}": [] for n in range(FAN_IN + 1)},
        "last": [f"r{n:03}" for n in range(FAN_IN + 1)],
    },
    "diamonds": {
        **{f"j{n}": [f"a{n - 1}", f"b{n - 1}", f"c{n - 1}"] if n else [] for n in range(MANY)},
        **{f"{side}{n}": [f"j{n}"] for n in range(MANY) for side in "abc"},
    },
}


def in_order(graph: Graph) -> Graph:
    """Return a graph with each resource after those that it requires."""
    ordered: dict[str, Sequence[str]] = {}
    while len(ordered) < len(graph):
        ordered |= {name: others for name, others in graph.items() if ordered.keys() >= set(others)}
    return ordered


def operate(world: World) -> None:
    """Check a stack, suspend and resume it, and take the snapshot ``x``."""
    operations: list[Callable[[], object]] = [
        world.check,
        world.suspend,
        world.resume,
        lambda: world.snapshot("x"),
    ]
    for begin in operations:
        begin()
        world.settle()
        assert world.state().endswith("_COMPLETE")


@pytest.mark.parametrize("shape", SHAPES)
def test_stack_of_any_shape_is_made_changed_and_deleted(shape: str) -> None:
    graph = in_order(SHAPES[shape])
    world = World(redelivers=False)
    stack_id = world.create(template_of(graph))
    world.settle()
    check_created(world, graph)
    operate(world)
    # Every resource is replaced, and what it was is cleaned up.
    world.update(
        template_of(graph).replace("Cloud::Object\n", "Cloud::Object\n    properties: {value: new}\n")
    )
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert len(world.cloud.objects) == len(graph)
    world.restore("x")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    world.delete()
    world.settle()
    assert (world.state(stack_id), world.cloud.objects) == ("DELETE_COMPLETE", {})


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rollback", [False, True])
def test_stack_of_any_shape_fails_and_is_rolled_back(shape: str, rollback: bool) -> None:
    graph = in_order(SHAPES[shape])
    world = World(redelivers=False)
    world.cloud.failing = {list(graph)[len(graph) // 2]: -1}
    world.create(template_of(graph), rollback=rollback)
    world.settle()
    assert world.state() == ("ROLLBACK_COMPLETE" if rollback else "CREATE_FAILED")
    assert not (rollback and world.cloud.objects)
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


# -- any order -------------------------------------------------------------------------------------------------

#: Moves of a network that loses nothing, and of workers that are slow but alive.
moves = st.one_of(
    st.tuples(st.just("deliver"), st.integers(0, 50)),
    st.tuples(st.just("repeat"), st.integers(0, 50)),
    st.tuples(st.just("stall"), st.integers(0, 50)),
    st.tuples(st.just("go on"), st.just(0)),
    # Past a poll.
    st.tuples(st.just("sweep"), st.sampled_from([0, 1, 3])),
)
fates = st.lists(moves, max_size=40)


def play(world: World, fate: Sequence[tuple[str, int]]) -> None:
    """Let messages come in any order, some of them twice, to workers of which some stand still for a while."""
    for move, number in fate:
        if move == "sweep":
            world.sweep(after=number)
        elif move == "go on":
            world.wake_stalled()
        elif world.messages:
            index = number % len(world.messages)
            if move == "stall" and world.messages[index].phase == "converge":
                world.stall(index)
            else:
                world.deliver(index, keep=move == "repeat")


@patient
@given(graph=graphs(), fate=fates, polls=st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3)))
def test_stack_is_made_in_whatever_order_messages_come(
    graph: Graph, fate: Sequence[tuple[str, int]], polls: dict[str, int]
) -> None:
    world = World(redelivers=False)
    world.cloud.polls = polls
    world.create(template_of(graph, by="get_attr"))
    play(world, fate)
    world.settle()
    check_created(world, graph)
    world.close()


Begin = Callable[[World, Graph], object]

#: What another operation does with a stack that an operation still works on.
FOLLOWING: Mapping[str, Begin] = {
    "update": lambda world, graph: world.update(template_of(graph, by="get_attr")),
    "smaller": lambda world, graph: world.update(template_of(dict(list(graph.items())[:1]))),
    "delete": lambda world, _: world.delete(),
    "cancel": lambda world, _: world.cancel(),
    "cancel without rollback": lambda world, _: world.cancel(rollback=False),
}
ENDS = {
    "update": {"UPDATE_COMPLETE"},
    "smaller": {"UPDATE_COMPLETE"},
    "delete": {"DELETE_COMPLETE"},
    "cancel": {"ROLLBACK_COMPLETE"},
    "cancel without rollback": {"CREATE_FAILED", "UPDATE_FAILED"},
}


@patient
@given(
    graph=graphs(),
    fates_=st.tuples(fates, fates, fates),
    following=st.lists(st.sampled_from(["update", "smaller"]), max_size=2),
    last=st.sampled_from(sorted(FOLLOWING)),
    polls=st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3)),
)
def test_operation_takes_a_stack_over_and_gets_every_lock_that_the_one_before_lets_go_of(
    graph: Graph,
    fates_: Sequence[Sequence[tuple[str, int]]],
    following: Sequence[str],
    last: str,
    polls: dict[str, int],
) -> None:
    world = World(redelivers=False)
    world.cloud.polls = polls
    stack_id = world.create(template_of(graph))
    for fate, each in zip(fates_, following, strict=False):
        play(world, fate)
        FOLLOWING[each](world, graph)
    play(world, fates_[len(following)])
    if world.state().endswith("IN_PROGRESS") or not last.startswith("cancel"):
        FOLLOWING[last](world, graph)
        world.settle()
        assert world.state(stack_id) in ENDS[last]
    world.settle()
    world.close()


# -- stacks in stacks, groups, signals, breakpoints ------------------------------------------------------------


def test_stack_in_a_stack_wakes_the_resource_that_waits_for_it() -> None:
    world = World(redelivers=False)
    stack_id = world.create(root(), files=FILES)
    world.settle()
    assert world.made_names() == ["net", "disk", "server", "user"]
    for files, size in ((FILES, "large"), ({"pair.yaml": BIG_PAIR}, "large")):
        world.update(root(size=size), files=files)
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
    operate(world)
    world.restore("x")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert names(world) == ["disk", "extra", "net", "server", "user"]
    world.delete()
    world.settle()
    assert (world.state(stack_id), world.cloud.objects) == ("DELETE_COMPLETE", {})


@pytest.mark.parametrize("rollback", [False, True])
def test_stack_in_a_stack_that_fails_wakes_the_resource_that_waits_for_it(rollback: bool) -> None:
    world = World(redelivers=False)
    world.cloud.failing["server"] = -1
    world.create(root(), files=FILES, rollback=rollback)
    world.settle()
    assert world.state() == ("ROLLBACK_COMPLETE" if rollback else "CREATE_FAILED")


@pytest.mark.parametrize("last", ["update", "delete", "cancel"])
@pytest.mark.parametrize("turns", range(0, 14, 2))
def test_stack_in_a_stack_is_taken_over_at_any_message(turns: int, last: str) -> None:
    world = World(redelivers=False)
    world.cloud.polls = {"disk": 2, "server": 2}
    stack_id = world.create(root(), files=FILES)
    for _ in range(turns):
        if world.messages:
            world.deliver()
        else:
            world.sweep(after=1)
    if world.state() != "CREATE_IN_PROGRESS":
        last = "update"
    if last == "update":
        world.update(root(size="large", value="w"), files={"pair.yaml": BIG_PAIR})
    else:
        FOLLOWING[last](world, {})
    world.settle()
    assert world.state(stack_id) in ENDS[last]
    assert names(world) == (["disk", "extra", "net", "server", "user"] if last == "update" else [])


@pytest.mark.parametrize(
    "policy", ["", ROLLING, "update_policy: {batch_create: {max_batch_size: 2, pause_time: 60}}"]
)
def test_group_is_made_and_changed_batch_by_batch(policy: str) -> None:
    world = World(groups.TYPES, redelivers=False)
    world.create(group(MANY, policy=policy))
    world.settle()
    assert len(members(world)) == MANY
    for size in (5, 3):
        world.update(group(size, size="l", policy=policy))
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert set(members(world).values()) == {(f"v-{number}", "l") for number in range(size)}
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


def test_signal_wakes_what_waits_for_it() -> None:
    world = World(WAIT_TYPES, redelivers=False)
    stack_id = world.create(waiting("UpdateWaitConditionHandle"))
    signalled_after(world, stack_id, "CREATE")
    world.update(waiting("UpdateWaitConditionHandle", "l"))
    signalled_after(world, stack_id, "UPDATE")


def signalled_after(world: World, stack_id: str, action: str) -> None:
    while world.messages:
        world.deliver()
    assert world.state() == f"{action}_IN_PROGRESS"
    signal(world, stack_id)
    world.settle()
    assert world.state() == f"{action}_COMPLETE"


def test_breakpoint_that_is_cleared_lets_on_what_stands_at_it() -> None:
    world = World(redelivers=False)
    environment = "resource_registry: {resources: {'*': {hooks: [pre-create, post-create]}}}"
    world.create(
        template_of({"a": [], "b": ["a"], "c": ["a"]}),
        environments=(EnvironmentSource(file="e.yaml", source=environment),),
    )
    assert world.settle_clearing() == [
        (name, hook) for names in ("a", "bc") for hook in ("pre-create", "post-create") for name in names
    ]
    assert world.state() == "CREATE_COMPLETE"


def test_world_without_redelivery_does_not_settle_where_a_message_is_lost() -> None:
    """The mode that all of these tests rest on."""
    world = World(redelivers=False)
    world.create(template_of({"a": [], "b": []}))
    world.messages.pop()
    with pytest.raises(AssertionError, match=r"never sent, or never woken: \[\('converge', 'b', 'ready'\)\]"):
        world.settle()


def test_world_without_redelivery_does_not_settle_where_a_wake_up_is_lost() -> None:
    world = World(redelivers=False)
    world.create(template({"a": value("1")}))
    world.stall(0)
    world.update(template({"a": value("2")}))
    while world.messages:
        world.deliver()
    # The step that held the lock ends, and what that woke is lost.
    world.wake_stalled()
    assert [order.key for order in world.messages] == ["a"]
    world.messages.clear()
    with pytest.raises(AssertionError, match=r"never sent, or never woken"):
        world.settle()
    assert present(world) == {"a": ("1", "")}
