"""Outputs that stacks read of each other: what is read, when, by whom, and what keeps a source from being deleted."""

from typing import Any

import pytest

from orchestrator.errors import Conflict
from orchestrator.model.messages import DeleteJob
from orchestrator.store.stacks.output_readers import OutputReader
from orchestrator.store.stacks.stacks import ResourceRow
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.world import World
from workers.resources.core.stack_output import StackOutput
from workers.resources.core.value import Value

TYPES: Any = {"Isotherm::Stack::Output": StackOutput, "OS::Heat::Value": Value}
HEAD = "heat_template_version: 2021-04-16\n"


def source(value: str, *, output: str = "it", more: str = "") -> str:
    """Return a template with an output; its value goes through a resource."""
    return (
        f"{HEAD}resources:\n  v: {{type: OS::Heat::Value, properties: {{value: {value}}}}}\n{more}"
        f"outputs:\n  {output}: {{value: {{get_attr: [v, value]}}}}\n"
    )


def reads(stack: str, output: str = "it", project: str = "", name: str = "r") -> str:
    """Return the lines of a resource that reads an output."""
    of = f", project: {project}" if project else ""
    return (
        f"  {name}: {{type: Isotherm::Stack::Output, properties: {{stack: {stack}, output: {output}{of}}}}}\n"
    )


def reader(stack: str, output: str = "it", project: str = "") -> str:
    """Return a template that reads an output, uses its value, and gives it out."""
    return (
        f"{HEAD}resources:\n{reads(stack, output, project)}"
        "  v: {type: OS::Heat::Value, properties: {value: {get_attr: [r, value]}}}\n"
        "outputs:\n  it: {value: {get_attr: [v, value]}}\n"
    )


@built_once
def made() -> World:
    """Return a world in which stack ``b`` has read an output of stack ``a``."""
    world = World(TYPES)
    world.create(source("one"), "a")
    world.settle()
    world.create(reader("a"), "b")
    world.settle()
    assert (world.state("a"), world.state("b")) == ("CREATE_COMPLETE", "CREATE_COMPLETE")
    return world


def row(world: World, stack: str, name: str, project: str = "default") -> ResourceRow:
    return world.store.stacks.resource(world.store.stacks.find(stack, project=project).id, name)


def value(world: World, stack: str, project: str = "default") -> Any:
    """Return the value that the dependent of a stack's reader has."""
    return (row(world, stack, "v", project).properties or {}).get("value")


def readers(world: World, stack: str) -> list[OutputReader]:
    return world.store.output_readers.of_source(world.store.stacks.find(stack, project="default").id)


def test_a_value_is_that_of_the_last_update_of_the_reader() -> None:
    world = made()
    assert value(world, "b") == "one"
    world.update(source("two"), "a")
    world.settle()
    assert value(world, "b") == "one"
    assert [each.stale for each in readers(world, "a")] == [True]
    # The same definition as before: nothing but what is stale is visited.
    world.update(reader("a"), "b")
    world.settle()
    assert value(world, "b") == "two"
    assert [each.stale for each in readers(world, "a")] == [False]


def test_a_source_that_returns_to_its_value_leaves_nothing_stale() -> None:
    world = made()
    for text in ("two", "one"):
        world.update(source(text), "a")
        world.settle()
    assert [each.stale for each in readers(world, "a")] == [False]


def test_a_reader_waits_for_an_operation_on_its_source() -> None:
    world = made()
    world.update(source("two"), "a")
    world.create(reader("a"), "c")
    for order in [each for each in world.messages if each.stack == "c"]:
        world.messages.remove(order)
        world.carry_out(order)
    assert row(world, "c", "r").status == "IN_PROGRESS"
    world.settle()
    assert value(world, "c") == "two"


def test_a_failed_source_is_not_read() -> None:
    world = made()
    world.cloud.failing["bad"] = -1
    world.update(source("two", more="  bad: {type: Cloud::Object, properties: {value: x}}\n"), "a")
    world.settle()
    assert world.state("a") == "UPDATE_FAILED"
    world.create(reader("a"), "c")
    world.settle()
    assert "stack 'a' is UPDATE_FAILED" in row(world, "c", "r").reason
    assert value(world, "b") == "one"


def test_an_update_reaches_what_is_stale_in_a_nested_stack() -> None:
    world = made()
    files = {"inner.yaml": f"{HEAD}resources:\n{reads('a')}"}
    outer = f"{HEAD}resources:\n  n: {{type: inner.yaml}}\n"
    world.create(outer, "outer", files=files)
    world.settle()
    world.update(source("two"), "a")
    world.settle()
    (found,) = [each for each in readers(world, "a") if each.root == "outer"]
    assert (found.stale, found.stack_id != found.root_id) == (True, True)
    with pytest.raises(Conflict, match=r"part of another stack|read by"):
        world.delete("a")
    world.update(outer, "outer", files=files)
    world.settle()
    inside = world.store.stacks.row(found.resource_id)
    assert inside is not None
    assert inside.data["value"] == "two"
    assert [each.stale for each in readers(world, "a") if each.root == "outer"] == [False]


def agree(world: World) -> None:
    """Check what holds whenever all is at rest: readers on record are the resources that exist, and what they read."""
    found = set()
    for stack in world.store.stacks.all(project="default"):
        for each in world.store.stacks.resources(stack.id):
            if each.type == "Isotherm::Stack::Output" and "value" in each.data:
                found.add(each.id)
    on_record = {
        each.resource_id: each
        for stack in world.store.stacks.all(project="default")
        for each in world.store.output_readers.of_root(stack.id)
    }
    assert found <= on_record.keys()
    for row_id, known in on_record.items():
        reading = world.store.stacks.row(row_id)
        assert reading is not None
        source_row = world.store.stacks.by_id(known.source_id)
        assert source_row is not None
        if reading.status != "COMPLETE" or source_row.status != "COMPLETE":
            continue
        assert source_row.deleted_at is None
        now = world.store.stacks.resource(known.source_id, "v").properties
        if reading.data["value"] != (now or {}).get("value"):
            assert known.stale, (known, reading.data, now)


@die_everywhere
def test_whatever_dies_readers_are_on_record_and_stale_values_are_marked(instruction: int) -> None:
    world = made()
    world.cloud.crash_after(instruction)
    for act in (
        lambda: world.update(source("two"), "a"),
        lambda: world.update(reader("a"), "b"),
    ):
        world.survive(act)
        for _ in range(20):
            if world.survive(world.settle):
                break
    # The process of the test itself does not die.
    world.cloud.crash_at = None
    agree(world)


def test_a_source_that_is_read_is_not_deleted() -> None:
    world = made()
    for abandon in (False, True):
        with pytest.raises(Conflict, match=r"read by stack 'b' \(output 'it', resource 'r'\).*--force"):
            world.coordinator.delete(DeleteJob(name="a", abandon=abandon))
    assert world.state("a") == "CREATE_COMPLETE"
    world.delete("b")
    world.settle()
    world.delete("a")
    world.settle()
    assert world.store.stacks.all(project="default") == []


def test_a_deletion_by_force_leaves_a_stale_reader_that_keeps_its_value() -> None:
    world = made()
    stack_id = world.store.stacks.find("a", project="default").id
    world.coordinator.delete(DeleteJob(name="a", force=True))
    world.settle()
    assert [each.stale for each in world.store.output_readers.of_source(stack_id)] == [True]
    assert value(world, "b") == "one"
    # A stack of the same name takes its place at the next update.
    world.create(source("new"), "a")
    world.settle()
    world.update(reader("a"), "b")
    world.settle()
    assert value(world, "b") == "new"
    assert world.store.output_readers.of_source(stack_id) == []
    assert [each.root for each in readers(world, "a")] == ["b"]


def test_another_source_counts_from_the_update_on_and_a_rollback_returns_to_the_first() -> None:
    world = made()
    world.create(source("other"), "o")
    world.settle()
    world.update(reader("o", "missing"), "b", rollback=True)
    world.settle()
    assert world.state("b") == "ROLLBACK_COMPLETE"
    assert (len(readers(world, "a")), readers(world, "o")) == (1, [])
    world.update(reader("o"), "b")
    world.settle()
    assert value(world, "b") == "other"
    assert (readers(world, "a"), len(readers(world, "o"))) == ([], 1)


def test_a_circle_is_refused_and_named() -> None:
    world = made()
    world.create(reader("b"), "c")
    world.settle()
    world.update(source("one", more=reads("c")), "a")
    world.settle()
    assert world.state("a") == "UPDATE_FAILED"
    assert "in a circle: 'a' reads 'c' reads 'b' reads 'a'" in row(world, "a", "r").reason
    world.create(source("x", more=reads("self")), "self")
    world.settle()
    assert "'self' reads 'self'" in row(world, "self", "r").reason


def test_strangers_get_one_answer_and_an_owner_the_nearest_name() -> None:
    world = made()
    answers = set()
    for stack, output in (("a", "it"), ("a", "none"), ("nowhere", "it")):
        name = f"spy-{stack}-{output}"
        world.create(reader(stack, output, "default"), name, project="other")
        world.settle()
        reason = row(world, name, "r", "other").reason
        answers.add(reason.replace(f"'{stack}'", "S").replace(f"'{output}'", "O"))
    assert len(answers) == 1
    assert len(readers(world, "a")) == 1
    for stack, output, nearest in (("a", "itt", "'it'"), ("aa", "it", "'a'")):
        world.create(reader(stack, output), f"own-{stack}", project="default")
        world.settle()
        assert nearest in row(world, f"own-{stack}", "r").reason


def test_what_is_shared_is_read_until_it_is_shared_no_more() -> None:
    world = made()
    stack_id = world.store.stacks.find("a", project="default").id
    world.store.output_shares.add(stack_id, ["it"], "other")
    world.create(reader("a", project="default"), "theirs", project="other")
    world.settle()
    assert value(world, "theirs", "other") == "one"
    with pytest.raises(Conflict, match=r"stack 'b' \(.*\), 1 stack of other projects"):
        world.delete("a")
    world.store.output_shares.remove(stack_id, ["it"], "other")
    world.update(source("two"), "a")
    world.settle()
    world.update(reader("a", project="default"), "theirs", project="other")
    world.settle()
    assert "shares no output" in row(world, "theirs", "r", "other").reason
    assert value(world, "theirs", "other") == "one"


def test_an_observation_finds_another_value_and_tells_none() -> None:
    world = made()
    world.update(source("two"), "a")
    world.settle()
    world.detect("b")
    world.settle()
    (found,) = world.store.drifts.of_tree(world.store.stacks.find("b", project="default").id)
    assert (found.key, found.finding.observed) == ("value", "another value than was read")
