"""Moves into and out of nested stacks and groups: no object is touched, whatever happens meanwhile and afterwards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engine.stack_plans import StackPlans
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from tests.scenarios.built_once import built_once
from tests.scenarios.cloud import cloud_type
from tests.scenarios.groups import TYPES as GROUP_TYPES
from tests.scenarios.test_moves import moved
from tests.scenarios.test_update_faults import step
from tests.scenarios.test_updates import done
from tests.scenarios.world import World

#: A nested template, by the resources in it.
HEAD = "heat_template_version: 2021-04-16\nresources:\n"
A, B = (f"{{type: Cloud::Object, properties: {{value: '{text}', size: s}}}}" for text in "12")


def text_of(resources: Mapping[str, str], outputs: str = "") -> str:
    return HEAD + "".join(f"  {name}: {body}\n" for name, body in resources.items()) + outputs


def group(count: int, body: str = A) -> str:
    return f"{{type: OS::Heat::ResourceGroup, properties: {{count: {count}, resource_def: {body}}}}}"


@built_once
def complete(text: str, files: tuple[tuple[str, str], ...] = ()) -> World:
    world = World(types=GROUP_TYPES)
    world.create(text, files=dict(files))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    done(world)
    return world


def made(resources: Mapping[str, str], **files: str) -> World:
    """Return a stack that is complete; the files are templates, without their extension."""
    return complete(text_of(resources), tuple((f"{name}.yaml", text) for name, text in files.items()))


def update(
    world: World,
    resources: Mapping[str, str],
    *entries: tuple[str, str],
    files: Mapping[str, str] | None = None,
    **job: Any,
) -> None:
    named = {f"{name}.yaml": text for name, text in (files or {}).items()}
    world.update(text_of(resources), files=named, environments=moved(*entries), **job)


def paths(world: World) -> dict[str, str | None]:
    """Return the id of each object, by the path of its resource."""
    root = world.store.stacks.find("s", project="default")
    found: dict[str, str | None] = {}

    def walk(stack_id: str, prefix: str) -> None:
        inner = {each.parent_resource: each.id for each in world.store.families.children(stack_id)}
        for row in world.store.stacks.resources(stack_id):
            if row.id in inner:
                walk(inner[row.id], f"{prefix}{row.name}/")
            else:
                assert f"{prefix}{row.name}" not in found
                found[f"{prefix}{row.name}"] = row.physical_id

    walk(root.id, "")
    return found


def root_of(world: World) -> StackRow:
    return world.store.stacks.find("s", project="default")


def row_at(world: World, *path: str) -> ResourceRow:
    stack_id = root_of(world).id
    for name in path[:-1]:
        stack_id = world.store.stacks.resource(stack_id, name).id
    return world.store.stacks.resource(stack_id, path[-1])


def moves_of(world: World) -> list[tuple[str, str]]:
    events = [
        each
        for stack in world.store.stacks.all(project="default", nested=True)
        for each in world.store.events.read(stack.id, limit=1000)
        if each.action == "MOVE"
    ]
    return [(each.resource, each.reason) for each in sorted(events, key=lambda each: each.id)]


WEB = "{type: web.yaml}"
#: Name: what there is, what is wanted with which files, and the moves.
CASES: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str], dict[str, str], dict[str, str]]] = {
    "into a new nested stack": (
        {"a": A, "b": B},
        {},
        {"b": B, "web": WEB},
        {"web": text_of({"x": A})},
        {"a": "web/x"},
    ),
    "into a nested stack": (
        {"a": A, "web": WEB},
        {"web": text_of({"y": B})},
        {"web": WEB},
        {"web": text_of({"y": B, "x": A})},
        {"a": "web/x"},
    ),
    "out of a nested stack": (
        {"web": WEB},
        {"web": text_of({"x": A, "y": B})},
        {"web": WEB, "a": A},
        {"web": text_of({"y": B})},
        {"web/x": "a"},
    ),
    "out of a nested stack that goes": (
        {"web": WEB},
        {"web": text_of({"x": A, "y": B})},
        {"x": A, "y": B},
        {},
        {"web/x": "x", "web/y": "y"},
    ),
    "from one into another": (
        {"one": WEB, "two": "{type: other.yaml}"},
        {"web": text_of({"x": A, "y": B}), "other": text_of({"z": A})},
        {"one": WEB, "two": "{type: other.yaml}"},
        {"web": text_of({"y": B}), "other": text_of({"z": A, "x": A})},
        {"one/x": "two/x"},
    ),
    "within a nested stack": (
        {"web": WEB},
        {"web": text_of({"x": A, "y": B})},
        {"web": WEB},
        {"web": text_of({"z": A, "y": B})},
        {"web/x": "web/z"},
    ),
    "into a stack two deep that is new": (
        {"a": A},
        {},
        {"web": WEB},
        {"web": text_of({"in": "{type: in.yaml}", "y": B}), "in": text_of({"x": A})},
        {"a": "web/in/x"},
    ),
    "with the name of what it is nested in": (
        {"web": WEB, "a": A},
        {"web": text_of({"y": B})},
        {"site": WEB},
        {"web": text_of({"y": B, "x": A})},
        {"web": "site", "a": "site/x"},
    ),
    "a nested stack into another": (
        {"web": WEB},
        {"web": text_of({"x": A, "y": B})},
        {"all": "{type: all.yaml}"},
        {"web": text_of({"x": A, "y": B}), "all": text_of({"web": WEB})},
        {"web": "all/web"},
    ),
    "into a nested stack that is moved itself": (
        {"a": A, "web": WEB},
        {"web": text_of({"y": B})},
        {"all": "{type: all.yaml}"},
        {"web": text_of({"x": A, "y": B}), "all": text_of({"web": WEB})},
        {"a": "all/web/x", "web": "all/web"},
    ),
    "into a group": ({"a": A, "many": group(2)}, {}, {"many": group(3)}, {}, {"a": "many/2"}),
    "into a new group": ({"a": A, "b": A}, {}, {"many": group(2)}, {}, {"a": "many/0", "b": "many/1"}),
    "out of a group": ({"many": group(3)}, {}, {"many": group(2), "a": A}, {}, {"many/2": "a"}),
    "a whole group out": ({"many": group(2)}, {}, {"a": A, "b": A}, {}, {"many/0": "a", "many/1": "b"}),
}


def expected(before: Mapping[str, str | None], entries: Mapping[str, str]) -> dict[str, str | None]:
    """Return the objects by the paths from now on."""

    def after(path: str) -> str:
        for source, target in entries.items():
            if f"{path}/".startswith(f"{source}/"):
                return target + path.removeprefix(source)
        return path

    return {after(path): physical_id for path, physical_id in before.items()}


@pytest.mark.parametrize("case", CASES)
def test_move_touches_no_object(case: str) -> None:
    first, files, second, more, entries = CASES[case]
    world = made(first, **files)
    before = paths(world)
    update(world, second, *entries.items(), files=more)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert [each for each in done(world) if each not in made_besides(before, entries, case)] == []
    assert {path: paths(world).get(path) for path in expected(before, entries)} == expected(before, entries)
    names = {source: target for source, target in entries.items() if "/" in source + target}
    assert {reason for _, reason in moves_of(world)} >= {
        f"it was {source!r}, and is {target!r}" for source, target in names.items()
    }
    # What was done does nothing, and may stay.
    after = paths(world)
    update(world, second, *entries.items(), files=more)
    world.settle()
    assert (world.state(), done(world), paths(world)) == ("UPDATE_COMPLETE", [], after)
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


def made_besides(
    before: Mapping[str, str | None], entries: Mapping[str, str], case: str
) -> list[tuple[str, str]]:
    """Return what an update may make that has nothing to do with the moves."""
    return [("make", "y")] if case == "into a stack two deep that is new" else []


@pytest.mark.parametrize("case", CASES)
def test_rollback_takes_the_move_back(case: str) -> None:
    first, files, second, more, entries = CASES[case]
    world = made(first, **files)
    before = paths(world)
    world.cloud.failing = {"bad": -1}
    update(world, {**second, "bad": A}, *entries.items(), files=more, rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    besides = {name for _, name in made_besides(before, entries, case)}
    assert [each for each in done(world) if each[1] not in besides] == []
    assert paths(world) == before
    # And nothing of it is left: the next update finds everything as it was.
    update(world, first, files=files)
    world.settle()
    assert (world.state(), done(world), paths(world)) == ("UPDATE_COMPLETE", [], before)


@pytest.mark.parametrize("case", CASES)
def test_failed_update_is_gone_on_with(case: str) -> None:
    first, files, second, more, entries = CASES[case]
    world = made(first, **files)
    before = paths(world)
    world.cloud.failing = {"bad": -1}
    update(world, {**second, "bad": A}, *entries.items(), files=more)
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    world.cloud.failing = {}
    update(world, {**second, "bad": A}, *entries.items(), files=more)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    besides = {"bad", *(name for _, name in made_besides(before, entries, case))}
    assert [each for each in done(world) if each[1] not in besides] == []
    assert expected(before, entries).items() <= paths(world).items()


# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_plan_lists_the_move_and_is_applied(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, files, second, more, entries = CASES[case]
    world = World(types=GROUP_TYPES, state_directory=str(tmp_path), key_file=str(tmp_path / "keys.json"))
    monkeypatch.setattr(
        "orchestrator.plugins.registry.ResourceTypes.on_demand",
        lambda: {**GROUP_TYPES, "Cloud::Object": cloud_type(world.cloud)},
    )
    world.create(text_of(first), files={f"{name}.yaml": text for name, text in files.items()})
    world.settle()
    done(world)
    before = paths(world)
    plans = StackPlans(world.coordinator._settings, world.store)
    job = StackJob(
        name="s",
        template=text_of(second),
        files={f"{name}.yaml": text for name, text in more.items()},
        environments=moved(*entries.items()),
    )
    plan = plans.read(plans.packed(plans.of_update(job)))
    listed = {each.name: each for each in plan.view.resources}
    assert paths(world) == before
    for source, target in entries.items():
        assert (listed[target].moved_from, listed[target].reason.split(";")[0]) == (
            source,
            f"moved from {source!r}",
        )
        # Whether a nested stack changes as a whole is known only there.
        assert listed[target].action in ("UNCHANGED", "DEPENDS") or listed[target].type == "web.yaml"
    assert not {each.name for each in plan.view.resources if each.action == "DELETE"} & {*entries}
    world.coordinator.begin(plan.job)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    besides = {name for _, name in made_besides(before, entries, case)}
    assert [each for each in done(world) if each[1] not in besides] == []
    assert expected(before, entries).items() <= paths(world).items()


# -- refusals ----------------------------------------------------------------------------------------------------------

GROUP_OF_TWO = group(2)
SCALING = f"{{type: OS::Heat::AutoScalingGroup, properties: {{min_size: 1, max_size: 3, resource: {A}}}}}"
TWO_FILES = {"web": text_of({"x": A, "y": B})}
#: What is wanted, with which files, the moves, and where which problem is.
REFUSED: dict[str, tuple[dict[str, str], dict[str, str], tuple[tuple[str, str], ...], tuple[str, str]]] = {
    "no names": ({}, {}, (("a", "web//x"),), ("to", "expected the names of resources, separated by '/'")),
    "no such stack": (
        {"web": WEB},
        TWO_FILES,
        (("a", "wib/z"),),
        ("to", "the template has no resource 'wib'"),
    ),
    "no stack": (
        {"b": B},
        {},
        (("a", "b/x"),),
        ("to", "'b' is no nested stack and no group, but of the type"),
    ),
    "nothing there": (
        {"web": WEB},
        TWO_FILES,
        (("a", "web/z"),),
        ("to", "the template of 'web' has no resource 'z'"),
    ),
    "both there": (
        {"web": WEB},
        TWO_FILES,
        (("a", "web/x"),),
        ("from", "the stack has resources of both names, 'a' and 'web/x'"),
    ),
    "still inside": (
        {"web": WEB, "z": A},
        TWO_FILES,
        (("web/x", "z"),),
        ("from", "what is in 'web' still has a resource 'web/x'"),
    ),
    "still outside": (
        {"web": WEB, "a": A},
        {"web": text_of({"x": A, "y": B, "z": A})},
        (("a", "web/z"),),
        ("from", "the template still has a resource 'a'"),
    ),
    "beyond a group": (
        {"many": GROUP_OF_TWO},
        {},
        (("a", "many/2"),),
        ("to", "'many' will have no resource '2'"),
    ),
    "still in a group": (
        {"many": GROUP_OF_TWO, "z": A},
        {},
        (("many/0", "z"),),
        ("from", "what is in 'many' still has a resource 'many/0'"),
    ),
    "a group of its own names": (
        {"auto": SCALING},
        {},
        (("a", "auto/x"),),
        ("to", "'auto' will have no resource"),
    ),
    "another type": (
        {"web": WEB},
        {"web": text_of({"x": A, "y": B, "z": "{type: OS::Heat::Value, properties: {value: 1}}"})},
        (("a", "web/z"),),
        ("to", "'a' is of the type Cloud::Object, and 'web/z' of the type OS::Heat::Value"),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_moves_that_cannot_be_are_refused_before_anything_is_done(why: str) -> None:
    second, files, entries, (end, message) = REFUSED[why]
    world = made({"a": A, "many": GROUP_OF_TWO, "web": WEB, "auto": SCALING}, **TWO_FILES)
    before = paths(world)
    with pytest.raises(InvalidInput) as caught:
        update(world, second, *entries, files=files)
    (problem,) = caught.value.problems
    assert (problem.path, problem.message[: len(message)]) == (f"moved[0].{end}", message)
    assert (world.state(), paths(world), done(world)) == ("CREATE_COMPLETE", before, [])


def test_nothing_is_moved_between_stacks_while_one_is_busy() -> None:
    world = made({"a": A, "web": WEB}, web=text_of({"y": B}))
    world.cloud.polls = {"z": 5}
    update(world, {"a": A, "web": WEB}, files={"web": text_of({"y": B, "z": A})})
    step(world, times=3)
    with pytest.raises(Conflict, match="moved once that has come to its end"):
        update(world, {"web": WEB}, ("a", "web/x"), files={"web": text_of({"y": B, "x": A})})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_what_is_found_nowhere_is_made_with_a_warning_in_the_plan() -> None:
    world = made({"a": A})
    update(world, {"a": A, "web": WEB}, ("b", "web/x"), files={"web": text_of({"x": A})})
    world.settle()
    assert (world.state(), done(world)) == ("UPDATE_COMPLETE", [("make", "x")])


# -- afterwards --------------------------------------------------------------------------------------------------------


def test_moved_resource_is_changed_replaced_and_deleted_like_any_other() -> None:
    world = made({"a": A})
    text = text_of({"x": A})
    update(world, {"web": WEB}, ("a", "web/x"), files={"web": text})
    world.settle()
    update(world, {"web": WEB}, files={"web": text.replace("size: s", "size: l")})
    world.settle()
    # The type knows it by the name under which it was made.
    assert done(world) == [("change", "a")]
    update(world, {"web": WEB}, files={"web": text.replace("'1'", "'9'")})
    world.settle()
    assert done(world) == [("make", "x"), ("unmake", "a")]
    update(world, {})
    world.settle()
    assert (done(world), world.cloud.objects) == ([("unmake", "x")], {})


def test_moved_resource_that_its_template_gives_other_values_is_updated_once() -> None:
    world = made({"a": A})
    update(
        world, {"web": WEB}, ("a", "web/x"), files={"web": text_of({"x": A.replace("size: s", "size: l")})}
    )
    world.settle()
    assert (world.state(), done(world)) == ("UPDATE_COMPLETE", [("change", "a")])


def test_moves_in_and_out_again_leave_no_trace() -> None:
    world = made({"a": A, "web": WEB}, web=text_of({"y": B}))
    row = world.store.stacks.resource(root_of(world).id, "a")
    update(world, {"web": WEB}, ("a", "web/x"), files={"web": text_of({"y": B, "x": A})})
    world.settle()
    moved_row = world.store.stacks.row(row.id)
    assert moved_row is not None
    assert (moved_row.made_as, moved_row.made_in) == ("a", (root_of(world).id, "s"))
    update(world, {"a": A, "web": WEB}, ("web/x", "a"), files={"web": text_of({"y": B})})
    world.settle()
    after = world.store.stacks.resource(root_of(world).id, "a")
    assert (after.id, after.made_as, after.made_in, after.physical_id) == (row.id, "a", None, row.physical_id)
    assert done(world) == []
