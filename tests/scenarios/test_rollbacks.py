"""A return to an earlier definition brings back the objects that were there, as long as they are there and sound."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from orchestrator.engine.health import mark_unhealthy
from orchestrator.model.messages import END
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World

#: The value of c is the size of a, which changes in place; c itself can only be replaced. Until e and g are done,
#: nothing is cleaned up.
BEFORE = {
    "a": value("1", "s"),
    "c": value("{get_attr: [a, measure]}"),
    "d": value("{get_attr: [c, value]}"),
    "e": f"{value('e', 's')}, depends_on: d",
    "g": f"{value('e', 's')}, depends_on: d",
}
#: A change of e, or of g, that fails, after all others are made and before anything is cleaned up.
STUCK = f"{value('e', 'l')}, depends_on: d"


def changed(**more: str) -> dict[str, str]:
    return {**BEFORE, "a": value("1", "l"), **more}


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        made.create(template(BEFORE))
        made.settle()
        assert made.state() == "CREATE_COMPLETE"
        made.cloud.failing_updates = {"e": True, "g": True}
        yield made


def objects(world: World) -> list[str]:
    """Return the ids of all objects but those that fail, and so are replaced."""
    return sorted(each for each in world.cloud.objects if not each.startswith(("e", "g")))


def become(world: World, resources: dict[str, str], state: str, **job: Any) -> None:
    world.update(template(resources), **job)
    world.settle()
    assert world.state() == state


def take_steps(world: World, until: tuple[str, str]) -> None:
    """Deliver messages to workers that take one step each, until something was done."""
    while until not in world.cloud.log:
        order = world.messages.pop(0)
        assert order.phase != END
        world.publish(world.checker.step(order))


def test_a_rollback_by_hand_takes_back_what_a_change_in_place_replaced(world: World) -> None:
    before, world.cloud.log = objects(world), []
    world.update(template(changed()))
    take_steps(world, until=("make", "d"))
    world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert objects(world) == before
    assert [name for done, name in world.cloud.log if done == "make"] == ["c", "d"]


def test_a_rollback_after_a_failure_takes_back_what_a_change_in_place_replaced(world: World) -> None:
    before = objects(world)
    become(world, changed(e=STUCK), "ROLLBACK_COMPLETE", rollback=True)
    assert objects(world) == before


def test_an_update_that_returns_to_an_earlier_definition_takes_back_what_was_made_for_it(
    world: World,
) -> None:
    before = objects(world)
    become(world, changed(e=STUCK), "UPDATE_FAILED")
    become(world, BEFORE, "UPDATE_COMPLETE")
    assert objects(world) == before


def test_a_change_in_place_that_left_others_as_they_are_is_a_part_of_what_is_rolled_back_to(
    world: World,
) -> None:
    sizes = "{list_join: ['+', [s, {get_resource: b}]]}"
    beside = {**BEFORE, "b": value("b", "s"), "a": f"properties: {{value: '1', size: {sizes}}}"}
    become(world, beside, "UPDATE_COMPLETE")
    # The size of a is made of b, and c of the part of it that stays.
    complete = {**beside, "b": value("b", "l")}
    become(world, complete, "UPDATE_COMPLETE")
    before = objects(world)
    other = beside["a"].replace("[s,", "[l,")
    become(world, {**complete, "a": other, "e": STUCK}, "ROLLBACK_COMPLETE", rollback=True)
    assert objects(world) == before


def test_what_was_changed_in_place_before_it_was_replaced_is_changed_back(world: World) -> None:
    before = objects(world)
    become(world, {**BEFORE, "c": value("{get_attr: [a, measure]}", "l"), "e": STUCK}, "UPDATE_FAILED")
    become(world, changed(g=STUCK), "ROLLBACK_COMPLETE", rollback=True)
    assert objects(world) == before
    assert {world.cloud.sizes[each] for each in objects(world) if each.startswith("c")} == {""}


def test_a_parameter_tells_what_was_made_for_one_definition_from_what_was_made_for_another(
    world: World,
) -> None:
    joined = "{list_join: ['+', [{get_param: p}, {get_attr: [a, measure]}]]}"
    text = template({**BEFORE, "c": value(joined), "e": STUCK}).replace(
        "resources:", "parameters: {p: {type: string}}\nresources:"
    )
    world.update(text.replace(STUCK, BEFORE["e"]), parameters={"p": "x"})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    before = objects(world)
    # a is visited, though its definition stays.
    stack = world.store.stacks.find("s", project="default")
    mark_unhealthy(world.store, stack, "a", reason="it hums")
    world.update(text, parameters={"p": "y"}, rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    kept = {each for each in before if not each.startswith("a")}
    assert kept <= set(objects(world))


def test_what_was_gone_when_it_was_replaced_is_not_taken_back(world: World) -> None:
    gone = next(each for each in objects(world) if each.startswith("c"))
    del world.cloud.objects[gone]
    become(world, changed(e=STUCK), "ROLLBACK_COMPLETE", rollback=True, refresh=True)
    rows = world.store.stacks.resources(world.store.stacks.find("s", project="default").id)
    assert {row.physical_id for row in rows} == set(world.cloud.objects)
    assert sorted(row.name for row in rows) == ["a", "c", "d", "e", "g"]


def test_what_was_marked_unhealthy_is_not_taken_back(world: World) -> None:
    before = objects(world)
    stack = world.store.stacks.find("s", project="default")
    mark_unhealthy(world.store, stack, "c", reason="it hums")
    become(world, changed(e=STUCK), "ROLLBACK_COMPLETE", rollback=True)
    assert [each for each in before if each not in objects(world)] == ["c-2"]


def test_a_restored_snapshot_takes_back_what_was_made_for_its_definition(world: World) -> None:
    before = objects(world)
    world.snapshot("good")
    world.settle()
    become(world, changed(e=STUCK), "UPDATE_FAILED")
    world.restore("good")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert objects(world) == before


INNER = """\
heat_template_version: 2021-04-16
parameters: {size: {type: string}}
resources:
  a: {type: Cloud::Object, properties: {size: {get_param: size}}}
  c: {type: Cloud::Object, properties: {value: {get_attr: [a, measure]}}}
  late: {type: Cloud::Object, depends_on: c, properties: {size: {get_param: size}}}
outputs: {it: {value: {get_attr: [a, measure]}}}
"""


def outer(size: str) -> str:
    """Return a template with a stack in it that changes in place, and a resource that is replaced with it."""
    return f"""\
heat_template_version: 2021-04-16
resources:
  pair: {{type: pair.yaml, properties: {{size: {size}}}}}
  user: {{type: Cloud::Object, properties: {{value: {{get_attr: [pair, it]}}}}}}
  last: {{type: Cloud::Object, depends_on: user, properties: {{size: {size}}}}}
"""


@pytest.mark.parametrize("rollback", [True, False])
@pytest.mark.parametrize(
    ("failing", "kept"), [("late", {"a", "c", "user", "last"}), ("last", {"a", "late", "user"})]
)
def test_stacks_in_stacks_take_back_their_resources_and_those_that_use_them(
    failing: str, kept: set[str], *, rollback: bool
) -> None:
    world = World()
    files = {"pair.yaml": INNER}
    world.create(outer("s"), files=files)
    world.settle()
    before = world.cloud.objects.keys() | set()
    # An update inside that is complete has cleaned up what it replaced.
    world.cloud.failing_updates = {failing: True}
    world.update(outer("l"), files=files, rollback=rollback)
    world.settle()
    if not rollback:
        assert world.state() == "UPDATE_FAILED"
        world.update(outer("s"), files=files)
        world.settle()
    assert world.state() == ("ROLLBACK_COMPLETE" if rollback else "UPDATE_COMPLETE")
    assert {each.partition("-")[0] for each in before & world.cloud.objects.keys()} == kept
    assert len(world.cloud.objects) == len(before)
    world.close()
