"""Moves: a resource gets another name, and its object is not touched, whatever happens meanwhile and afterwards."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource
from tests.scenarios.built_once import built_once
from tests.scenarios.groups import TYPES as GROUP_TYPES
from tests.scenarios.test_nested import PAIR
from tests.scenarios.test_updates import done, ids, template, value
from tests.scenarios.world import World

BEFORE = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}", "s"), "c": "depends_on: a"}
AFTER = {"x": value("1", "s"), "b": value("{get_attr: [x, value]}", "s"), "c": "depends_on: x"}


def moved(*entries: tuple[str, str], file: str = "env.yaml") -> tuple[EnvironmentSource, ...]:
    """Return an environment that moves resources."""
    lines = [f"  - {{from: {source}, to: {target}}}" for source, target in entries]
    return (EnvironmentSource(file=file, source="\n".join(["moved:", *lines, ""])),)


@built_once
def complete(resources: tuple[tuple[str, str], ...], **job: Any) -> World:
    """Return a stack that is complete."""
    world = World()
    world.create(template(dict(resources)), **job)
    world.settle()
    done(world)
    return world


def stack(resources: Mapping[str, str] = BEFORE) -> World:
    return complete(tuple(resources.items()))


def stack_id_of(world: World) -> str:
    return world.store.stacks.find("s", project="default").id


def present(world: World) -> dict[str, str | None]:
    """Return the id of each resource's object, by the resource's name."""
    return ids(world, stack_id_of(world))


def renamed(before: Mapping[str, str | None], **names: str) -> dict[str, str | None]:
    now = {was: name for name, was in names.items()}
    return {now.get(name, name): physical_id for name, physical_id in before.items()}


def history(world: World) -> list[tuple[str, str, str]]:
    events = world.store.events.read(stack_id_of(world), limit=1000)
    return [(each.resource, each.action, each.reason) for each in events if each.action == "MOVE"]


def test_move_touches_no_object_and_no_dependent() -> None:
    world = stack()
    before = present(world)
    world.update(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == []
    assert present(world) == renamed(before, x="a")
    assert history(world) == [("x", "MOVE", "its name was 'a'")]


def test_move_that_was_done_does_nothing_and_may_stay_in_the_environment() -> None:
    world = stack()
    world.update(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    before = present(world)
    world.update(template(AFTER), environments=moved(("a", "x")))
    assert [order.phase for order in world.messages] == ["end"]
    world.settle()
    assert (done(world), present(world), len(history(world))) == ([], before, 1)


def test_new_stack_is_made_by_its_new_names() -> None:
    world = World()
    world.create(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    assert sorted(world.made_names()) == ["b", "c", "x"]
    assert history(world) == []


@pytest.mark.parametrize("first", ["a", "m", "x"])
def test_chain_is_followed_from_any_of_its_names(first: str) -> None:
    world = stack({first: value("1", "s"), "c": f"depends_on: {first}"})
    before = present(world)
    world.update(
        template({"x": value("1", "s"), "c": "depends_on: x"}), environments=moved(("m", "x"), ("a", "m"))
    )
    world.settle()
    assert done(world) == []
    assert present(world) == renamed(before, x=first)


def test_moved_resource_is_changed_replaced_and_deleted_like_any_other() -> None:
    world = stack()
    before = present(world)
    environments = moved(("a", "x"))
    world.update(template({**AFTER, "x": value("1", "l")}), environments=environments)
    world.settle()
    # The type knows it by the name under which it was made.
    assert done(world) == [("change", "a")]
    assert present(world) == renamed(before, x="a")
    world.update(template({**AFTER, "x": value("2", "l")}), environments=environments)
    world.settle()
    assert done(world) == [("make", "x"), ("make", "b"), ("unmake", "b"), ("unmake", "a")]
    world.update(template({**AFTER, "x": value("2", "s")}), environments=environments)
    world.settle()
    assert done(world) == [("change", "x")]
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


def test_another_resource_may_take_the_old_name_in_a_later_update() -> None:
    world = stack()
    world.update(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    before = present(world)
    world.update(template({**AFTER, "a": value("3", "s")}))
    world.settle()
    assert done(world) == [("make", "a")]
    assert {name: each for name, each in present(world).items() if name != "a"} == before


def test_resource_answers_to_its_former_name_until_another_has_it() -> None:
    world = stack()
    row = world.store.stacks.resource(stack_id_of(world), "a")
    world.update(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    assert world.store.stacks.resource(stack_id_of(world), "a").id == row.id
    world.update(template({**AFTER, "a": value("3", "s")}))
    world.settle()
    assert world.store.stacks.resource(stack_id_of(world), "a").id != row.id
    assert world.store.stacks.resource(stack_id_of(world), "x").id == row.id


# -- refusals ----------------------------------------------------------------------------------------------------------

VALUE = "heat_template_version: wallaby\nresources:\n  x: {type: 'OS::Heat::Value', properties: {value: 1}}\n"
REFUSED: dict[str, tuple[str, tuple[tuple[str, str], ...], dict[str, str]]] = {
    "still there": (
        template({**BEFORE, "x": "depends_on: a"}),
        (("a", "x"),),
        {"moved[0].from": "the template still has a resource 'a'"},
    ),
    "not there": (
        template(AFTER),
        (("a", "xx"),),
        {"moved[0].to": "the template has no resource 'xx'"},
    ),
    "one twice": (
        template({**AFTER, "y": ""}),
        (("a", "x"), ("a", "y")),
        {"moved[1].from": "'a' is moved to 'x' already"},
    ),
    "two to one": (
        template(AFTER),
        (("a", "x"), ("z", "x")),
        {"moved[1].to": "'a' is moved to 'x' already"},
    ),
    "a circle": (
        template({"c": ""}),
        (("a", "x"), ("x", "a")),
        {"moved[0].from": "moves go round in a circle: a -> x -> a"},
    ),
    "both exist": (
        template({"b": value("1", "s"), "c": ""}),
        (("a", "b"),),
        {"moved[0].from": "the stack has resources of both names, 'a' and 'b'"},
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_moves_that_cannot_be_are_refused_before_anything_is_done(why: str) -> None:
    text, entries, expected = REFUSED[why]
    world = stack()
    before = present(world)
    with pytest.raises(InvalidInput) as caught:
        world.update(text, environments=moved(*entries))
    found = {each.path: each.message for each in caught.value.problems}
    assert found.keys() == expected.keys()
    for path, message in expected.items():
        assert found[path].startswith(message)
    assert world.state() == "CREATE_COMPLETE"
    assert present(world) == before


def test_move_to_another_type_is_refused() -> None:
    world = World(types={"Cloud::Other": other_type()})
    world.create(template({"a": value("1", "s")}))
    world.settle()
    text = template({"x": value("1", "s")}).replace("Cloud::Object", "Cloud::Other")
    with pytest.raises(InvalidInput) as caught:
        world.update(text, environments=moved(("a", "x")))
    (problem,) = caught.value.problems
    assert problem.path == "moved[0].to"
    assert problem.message == "'a' is of the type Cloud::Object, and 'x' of the type Cloud::Other"
    assert (problem.position.file, problem.position.line) == ("env.yaml", 2) if problem.position else False
    assert world.state() == "CREATE_COMPLETE"


def other_type() -> Any:
    from tests.scenarios.cloud import Cloud, cloud_type

    return cloud_type(Cloud())


def test_import_moves_nothing() -> None:
    world = stack()
    world.cloud.objects["y-9"] = ("nobody", "1")
    world.cloud.sizes["y-9"] = "s"
    with pytest.raises(InvalidInput, match="moves 'a' to it"):
        world.take_in(template({**AFTER, "y": value("1", "s")}), {"y": "y-9"}, environments=moved(("a", "x")))
    assert world.state() == "CREATE_COMPLETE"


# -- rollbacks, snapshots ----------------------------------------------------------------------------------------------


def test_failed_update_that_moved_is_rolled_back_to_the_old_names() -> None:
    world = stack()
    before = present(world)
    world.cloud.failing = {"y": -1}
    text = template({**AFTER, "x": value("1", "l"), "y": "depends_on: x"})
    world.update(text, environments=moved(("a", "x")), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert done(world) == [("change", "a"), ("change", "a")]
    assert present(world) == before
    assert history(world) == [("x", "MOVE", "its name was 'a'"), ("a", "MOVE", "its name was 'x'")]


def test_rollback_returns_to_the_names_of_the_complete_stack_over_several_moves() -> None:
    world = stack()
    before = present(world)
    world.cloud.failing = {"y": -1}
    world.update(template({**AFTER, "y": ""}), environments=moved(("a", "x")))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    third = {"z": value("1", "s"), "b": value("{get_attr: [z, value]}", "s"), "c": "depends_on: z", "y": ""}
    world.update(template(third), environments=moved(("a", "x"), ("x", "z")), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert done(world) == []
    assert present(world) == before


def test_rollback_leaves_the_names_that_were_complete() -> None:
    world = stack()
    world.update(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    before = present(world)
    world.cloud.failing = {"y": -1}
    world.update(template({**AFTER, "y": ""}), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert (done(world), present(world)) == ([], before)


def test_rollback_brings_swapped_names_back() -> None:
    world = stack({"a": value("1", "s"), "b": value("2", "s")})
    before = present(world)
    world.cloud.failing = {"y": -1}
    world.update(
        template({"x": value("1", "s"), "b": value("2", "s"), "y": ""}), environments=moved(("a", "x"))
    )
    world.settle()
    world.update(
        template({"x": value("1", "s"), "a": value("2", "s"), "y": ""}),
        environments=moved(("b", "a")),
        rollback=True,
    )
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert (done(world), present(world)) == ([], before)


def test_rollback_of_a_replacement_keeps_the_moved_object() -> None:
    world = stack()
    before = present(world)
    # Until it is changed, what was replaced stays.
    world.cloud.failing = {"b": -1}
    world.update(template({**AFTER, "x": value("2", "s")}), environments=moved(("a", "x")), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert done(world) == [("make", "x"), ("unmake", "x")]
    assert present(world) == before


def test_restore_of_a_snapshot_brings_the_object_back_to_its_name() -> None:
    world = stack({"a": value("1", "s")})
    before = present(world)
    world.snapshot("early")
    world.settle()
    world.update(template({"x": value("1", "s")}), environments=moved(("a", "x")))
    world.settle()
    world.update(template({"z": value("1", "s")}), environments=moved(("x", "z")))
    world.settle()
    done(world)
    world.restore("early")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert done(world) == [("restore", "a")]
    assert present(world) == before
    world.delete_snapshot("early")
    assert world.cloud.images == {}


def test_snapshot_from_before_a_move_can_be_deleted() -> None:
    world = stack({"a": value("1", "s")})
    world.snapshot("early")
    world.settle()
    world.update(template({"x": value("1", "s")}), environments=moved(("a", "x")))
    world.settle()
    world.delete_snapshot("early")
    assert world.cloud.images == {}


def test_move_while_the_resource_is_being_made_makes_one_object() -> None:
    world = World()
    world.cloud.polls = {"a": 3}
    world.create(template({"a": value("1", "s")}))
    world.deliver()
    assert world.state() == "CREATE_IN_PROGRESS"
    world.update(template({"x": value("1", "s")}), environments=moved(("a", "x")))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == [("make", "a")]
    assert set(present(world)) == {"x"}


@pytest.mark.parametrize("instruction", range(1, 9))
def test_move_after_a_create_whose_worker_was_lost_does_what_an_update_without_it_does(
    instruction: int,
) -> None:
    """An object that was perhaps made is found by its row, or taken away."""
    happened = []
    for name, environments in (("a", ()), ("x", moved(("a", "x")))):
        world = World()
        world.create(template({"a": value("1", "s")}))
        world.cloud.crash_after(instruction)
        world.survive(world.deliver)
        world.cloud.crash_at = None
        world.update(template({name: value("1", "s")}), environments=environments)
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert set(present(world)) == {name}
        assert len(world.cloud.objects) == 1
        happened.append([action for action, _ in done(world)])
    assert happened[0] == happened[1]


# -- nested stacks, groups, machines, lifecycle plugins ----------------------------------------------------------------


def tree(**names: str) -> str:
    pair, group = names.get("pair", "pair"), names.get("group", "group")
    return f"""\
heat_template_version: 2021-04-16
resources:
  {pair}:
    type: pair.yaml
    properties: {{size: small}}
  {group}:
    type: OS::Heat::ResourceGroup
    properties: {{count: 2, resource_def: {{type: Cloud::Object, properties: {{value: '%index%'}}}}}}
  user:
    type: Cloud::Object
    properties: {{value: {{get_attr: [{pair}, address]}}}}
"""


def test_moved_stacks_and_groups_keep_all_that_is_in_them() -> None:
    world = World(types=GROUP_TYPES)
    files = {"pair.yaml": PAIR}
    world.create(tree(), files=files)
    world.settle()
    before, objects = present(world), dict(world.cloud.objects)
    inner = {each.id: each.name for each in world.store.stacks.all(project="default", nested=True)}
    environments = moved(("pair", "couple"), ("group", "many"))
    done(world)
    for text in (tree(pair="couple", group="many"), tree(pair="couple", group="many") + "outputs: {}\n"):
        world.update(text, files=files, environments=environments, refresh="outputs" in text)
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert done(world) == []
        assert world.cloud.objects == objects
        assert present(world) == renamed(before, couple="pair", many="group")
        assert {
            each.id: each.name for each in world.store.stacks.all(project="default", nested=True)
        } == inner
    world.update(
        tree(pair="couple", group="many").replace("small", "large"), files=files, environments=environments
    )
    world.settle()
    assert done(world) == [("change", "server")]
    assert {each.id: each.name for each in world.store.stacks.all(project="default", nested=True)} == inner
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


def test_failed_update_that_moved_a_stack_is_rolled_back_and_touches_nothing_in_it() -> None:
    world = World(types=GROUP_TYPES)
    files = {"pair.yaml": PAIR}
    world.create(tree(), files=files)
    world.settle()
    before = present(world)
    done(world)
    world.cloud.failing = {"y": -1}
    text = tree(pair="couple", group="many") + "  y: {type: Cloud::Object, depends_on: many}\n"
    world.update(text, files=files, environments=moved(("pair", "couple"), ("group", "many")), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert done(world) == []
    assert present(world) == before
