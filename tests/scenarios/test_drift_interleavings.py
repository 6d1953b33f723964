"""Changes behind the engine's back, in whatever order messages arrive and processes die: repairs take them back."""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import partial

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import Conflict
from orchestrator.model.observation_policy import ObservationPolicy
from tests.scenarios.groups import TYPES
from tests.scenarios.world import World
from tests.thoroughness import examples

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {size: {type: string, default: s}}
resources:
  a: {type: Cloud::Object, properties: {size: {get_param: size}}}
  b: {type: Cloud::Object, properties: {value: {get_attr: [a, measure]}, size: {get_param: size}}}
  c: {type: Cloud::Object, depends_on: b}
"""
NESTED = """\
heat_template_version: 2021-04-16
parameters: {size: {type: string, default: s}}
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: Cloud::Object, properties: {value: "v%index%", size: {get_param: size}}}
  beside: {type: Cloud::Object, depends_on: group, properties: {size: {get_param: size}}}
"""
POLICY = ObservationPolicy(mode="repair", replace=True, repairs_per_hour=100_000)
NAMES = ("a", "b", "c")


def _objects(world: World) -> list[str]:
    return sorted(world.cloud.objects)


def _tamper(world: World, number: int) -> None:
    if found := _objects(world):
        world.cloud.sizes[found[number % len(found)]] = "tampered"


def _vanish(world: World, number: int) -> None:
    if found := _objects(world):
        del world.cloud.objects[found[number % len(found)]]


def _restore(world: World, _: int) -> None:
    for physical_id, size in world.cloud.sizes.items():
        if size == "tampered" and not physical_id.startswith("c"):
            world.cloud.sizes[physical_id] = "s"


def _deliver(world: World, number: int) -> None:
    if world.messages:
        world.deliver(number % len(world.messages), keep=number % 3 == 0)


def _deliver_more(world: World, number: int) -> None:
    for _ in range(4):
        _deliver(world, number)


def _lose(world: World, number: int) -> None:
    if world.messages:
        world.messages.pop(number % len(world.messages))


def _update(template: str, world: World, number: int) -> None:
    world.update(template, parameters={"size": ("s", "m")[number % 2]})


ACTS: Mapping[str, Callable[[World, int], object]] = {
    "tamper": _tamper,
    "vanish": _vanish,
    "restore": _restore,
    "detect": lambda world, _: world.detect(),
    "deliver": _deliver,
    "deliver more": _deliver_more,
    "lose": _lose,
    "sweep": lambda world, number: world.sweep(after=(1, 70, 700)[number % 3]),
    "die": lambda world, number: world.cloud.crash_after(1 + number),
}
acts = st.lists(st.tuples(st.sampled_from(sorted([*ACTS, "update"])), st.integers(0, 40)), max_size=25)
many = settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(acts)
def test_in_the_end_the_world_is_as_the_template_says_and_nothing_is_on_record(
    acts: list[tuple[str, int]],
) -> None:
    with closing(World()) as world:
        stack_id = _happens(world, TEMPLATE, acts)
        # Nothing was repaired so often that it was left alone.
        rows = {row.name: row for row in world.store.stacks.resources(stack_id)}
        size = _size(world)
        assert sorted(rows) == sorted(NAMES)
        assert {row.physical_id for row in rows.values()} == set(world.cloud.objects)
        for name, wanted in (("a", size), ("b", size), ("c", "")):
            assert world.cloud.sizes[rows[name].physical_id or ""] == wanted
        assert world.cloud.objects[rows["b"].physical_id or ""][1] == size
        assert world.state() in ("CREATE_COMPLETE", "UPDATE_COMPLETE")


@many
@given(acts)
def test_in_the_end_nested_stacks_are_as_the_template_says(acts: list[tuple[str, int]]) -> None:
    with closing(World(types=TYPES)) as world:
        stack_id = _happens(world, NESTED, acts)
        rows = world.store.stacks.resources_in_tree(stack_id)
        objects = {row.physical_id: row.name for row in rows if row.type == "Cloud::Object"}
        assert sorted(objects.values()) == ["0", "1", "beside"]
        assert objects.keys() == set(world.cloud.objects)
        assert {world.cloud.sizes[each or ""] for each in objects} == {_size(world)}
        assert {row.status for row in rows} == {"COMPLETE"}
        assert world.state() in ("CREATE_COMPLETE", "UPDATE_COMPLETE")


def _happens(world: World, template: str, acts: list[tuple[str, int]]) -> str:
    """Let what is drawn happen to a stack, and all come to rest; return its id."""
    world.create(template)
    world.settle()
    stack_id: str = world.store.stacks.find("s", project="default").id
    world.store.observation_turns.set_policy(stack_id, POLICY, due_at=world.now)
    world.looks_for_drift = True
    by_name: dict[str, Callable[[World, int], object]] = {**ACTS, "update": partial(_update, template)}
    for name, number in acts:
        with suppress(Conflict):
            world.survive(partial(by_name[name], world, number))
    world.cloud.crash_at = None
    _come_to_rest(world, template, stack_id)
    return stack_id


def _size(world: World) -> str:
    """Return the value of the parameter in the definition in force."""
    stack = world.store.stacks.find("s", project="default")
    return str(world.store.traversals.context(stack.traversal_id)["parameters"]["size"])


def _come_to_rest(world: World, template: str, stack_id: str) -> None:
    """Let observations and repairs go on, in which nothing dies any more, until nothing differs."""
    turns = world.store.observation_turns
    # What was repaired three times is given another chance, as an operator would.
    turns.set_policy(stack_id, POLICY, due_at=world.now)
    for _ in range(8):
        world.settle()
        if world.state().endswith("FAILED"):
            # An operation of users met with an object that was gone: they repeat it.
            world.update(template, parameters={"size": _size(world)}, refresh=True)
            world.settle()
        world.sweep(after=1000)
        world.settle()
    assert world.store.drifts.of_tree(stack_id) == []
    turn = turns.read(stack_id)
    assert turn is not None
    assert (turn.trouble, turn.is_begun, turn.repair_traversal) == ("", False, None)
