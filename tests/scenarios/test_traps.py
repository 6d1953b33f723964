"""What engines of this kind are known to get wrong, and a story for each that shows that this one does not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hooks.lifecycle import LifecyclePlugin, Operation
from orchestrator.errors import Conflict, Unavailable
from orchestrator.matching import node_data_of
from orchestrator.messages import CheckOrder
from orchestrator.plugins.resource import Resource, ResourceFailure
from orchestrator.store.stacks import ResourceRow
from tests.scenarios.test_update_faults import die_after_claim, meanwhile, step
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World
from workers.resources.core.value import Value


def rows_of(world: World, stack_id: str) -> dict[str, list[ResourceRow]]:
    """Return the rows of a stack by name."""
    found: dict[str, list[ResourceRow]] = {}
    for row in world.store.stacks.resources(stack_id):
        found.setdefault(row.name, []).append(row)
    return found


def states(world: World, stack_id: str) -> dict[str, list[str]]:
    """Return the states of a stack's rows by name."""
    return {
        name: [f"{row.action}_{row.status}" for row in rows]
        for name, rows in rows_of(world, stack_id).items()
    }


def reason(world: World) -> str:
    return world.store.stacks.find("s", project="default").reason


def said(world: World, stack_id: str, name: str) -> list[str]:
    """Return what the history says of one name, in order."""
    events = world.store.events.read(stack_id, limit=1000)
    return [f"{event.action}_{event.status}" for event in events if event.resource == name]


def deliver_all(world: World) -> None:
    """Deliver until no message is left; no time passes."""
    while world.messages:
        world.deliver()


def patched(world: World, **methods: Any) -> type[Resource]:
    """Return the type of the cloud's objects, with methods of one's own."""
    kind = world.checker._types["Cloud::Object"]
    for name, method in methods.items():
        setattr(kind, name, method)
    return kind


# -- who writes what -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
def test_what_an_older_step_wrote_down_is_what_a_newer_one_starts_from(late: bool) -> None:
    """A step reads the row when it takes the lock: nothing that it saw before is written over what others did."""
    world = World()
    stack_id = world.create(template({"a": value("1", "s")}))
    world.stall(0)
    world.update(template({"a": value("1", "l")}))
    if late:
        # The newer step has tried, and waits for the lock.
        deliver_all(world)
    world.wake_stalled()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    (row,) = world.store.stacks.resources(stack_id)
    assert [*world.cloud.objects] == [row.physical_id]
    assert present(world) == {"a": ("1", "l")}
    assert world.cloud.log == [("make", "a"), ("change", "a")]


def test_a_worker_that_comes_too_late_writes_nothing() -> None:
    """What took over after the lease ended has the word; the id that the late one knows is not stored."""
    world = World()
    patched(world, find=lambda self: None)
    stack_id = world.create(template({"a": value("1")}))
    world.stall(0)
    world.sweep(after=61)
    deliver_all(world)
    (row,) = world.store.stacks.resources(stack_id)
    world.wake_stalled()
    world.settle()
    assert world.store.stacks.resources(stack_id) == [row]


@pytest.mark.parametrize("then", ["goes on", "is deleted"])
def test_an_object_whose_id_could_not_be_stored_is_found_again(then: str) -> None:
    """The database fails just when the id is to be written: the object is no orphan."""
    world = World()
    stack_id = world.create(template({"a": value("1"), "b": "depends_on: a"}))
    finish = world.store.nodes.finish

    def fails(*_: Any) -> Any:
        raise Unavailable("the database is away")

    world.store.nodes.finish = fails  # type: ignore[assignment, method-assign]
    with pytest.raises(Unavailable):
        world.deliver()
    world.store.nodes.finish = finish  # type: ignore[method-assign]
    assert len(world.cloud.objects) == 1
    assert world.store.stacks.resource(stack_id, "a").physical_id is None
    if then == "is deleted":
        world.delete()
        world.settle()
        assert world.state(stack_id) == "DELETE_COMPLETE"
        assert world.cloud.objects == {}
    else:
        world.settle()
        assert world.state() == "CREATE_COMPLETE"
        assert world.made_names() == ["a", "b"]


def test_a_key_of_any_form_travels_as_it_is() -> None:
    """Nothing in a value is taken for the engine's own notation."""
    world = World({"OS::Heat::Value": Value})
    odd = {"tuple:('a', 1)": {"tuple:(2)": [{"tuple:()": "x"}]}}
    source = f"""\
heat_template_version: wallaby
resources:
  a: {{type: OS::Heat::Value, properties: {{value: {odd!r}}}}}
  b: {{type: OS::Heat::Value, properties: {{value: {{get_attr: [a, value]}}}}}}
outputs:
  all: {{value: {{get_attr: [b, value]}}}}
"""
    stack_id = world.create(source)
    world.settle()
    (b,) = rows_of(world, stack_id)["b"]
    assert b.properties == {"value": odd}
    assert node_data_of(b).attributes == {("value",): odd}


# -- messages ------------------------------------------------------------------------------------------------------


def test_a_message_for_what_is_not_there_hangs_nothing() -> None:
    """Messages carry no state: one that finds nothing is dropped, and whatever is due is sent again."""
    world = World()
    world.create(template({"a": value("1"), "b": "depends_on: a"}))
    (order,) = world.messages
    strange: list[CheckOrder] = [
        replace(order, no=99),
        replace(order, traversal_id="gone"),
        replace(order, stack_id="gone", traversal_id="gone"),
    ]
    world.messages[:] = strange
    deliver_all(world)
    assert world.made_names() == []
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["a", "b"]


@pytest.mark.parametrize("resources", [{"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}])
def test_a_message_that_comes_twice_makes_no_other_come_twice(
    resources: Mapping[str, Sequence[str]],
) -> None:
    """However often a step is announced, what follows is announced once."""

    def orders(*, twice: bool) -> list[str]:
        world = World()
        bodies = {
            name: f"depends_on: [{', '.join(others)}]" if others else "" for name, others in resources.items()
        }
        world.create(template(bodies))
        sent = []
        while world.messages:
            # One step at a time: a worker that carries on by itself would leave no messages to count.
            order = world.messages[0]
            sent.append(f"{order.phase} {order.key}")
            for _ in range(2 if twice else 1):
                world.messages.insert(0, order)
                step(world)
            world.messages.remove(order)
        assert world.state() == "CREATE_COMPLETE"
        assert sorted(world.made_names()) == sorted(resources)
        return sent

    assert sorted(orders(twice=True)) == sorted(orders(twice=False))


def test_a_check_reads_nothing_of_the_stack_but_its_own_part() -> None:
    """What a step costs does not grow with the stack: no template is read once the plan stands."""
    world = World()

    def read(*_: Any) -> Any:
        raise AssertionError("a check reads a whole template")

    world.create(template({"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"}))
    world.store.templates.load = read  # type: ignore[assignment, method-assign]
    world.store.stacks.resources = read  # type: ignore[assignment, method-assign]
    deliver_all(world)
    assert world.state() == "CREATE_COMPLETE"


def test_what_is_under_way_outside_is_followed_by_whoever_is_there() -> None:
    """What a step must remember is stored: the next look is another worker's, and nothing is begun again."""
    world = World()
    world.cloud.polls = {"a": 300}
    began = world.now
    world.create(template({"a": value("1")}))
    deliver_all(world)
    world.sweep(after=200.0)
    die_after_claim(world)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["a"]
    # Counted from the beginning, not from the death.
    assert 300 <= world.now - began < 300 + 61


@pytest.mark.parametrize("instructions", range(1, 30, 2))
def test_a_create_that_is_tried_again_is_a_create_throughout(instructions: int) -> None:
    """No state on the way says that the resource is, or is being, deleted; wherever a worker dies."""
    world = World()
    world.cloud.failing = {"a": 3}
    stack_id = world.create(template({"a": value("1")}))
    world.cloud.crash_after(instructions)
    world.survive(world.settle)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert len(world.cloud.objects) == 1
    assert {each.partition("_")[0] for each in said(world, stack_id, "a")} == {"CREATE"}


# -- replacing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["depends_on: c", "properties: {value: {get_attr: [c, value]}}"])
def test_a_dependent_that_stays_as_it_is_requires_the_new_one(by: str) -> None:
    """What a replaced resource is required by knows its successor, although nothing else changed about it."""
    world = World()
    kind = patched(world)
    # What others read of it stays the same while it is replaced.
    kind.attribute = lambda self, name: "same"  # type: ignore[method-assign]
    resources = {"c": value("1"), "d": by, "e": "depends_on: d"}
    stack_id = world.create(template(resources))
    world.settle()
    before = ids(world, stack_id)
    world.update(template({**resources, "c": value("2")}))
    world.settle()
    rows = {name: row for name, (row,) in rows_of(world, stack_id).items()}
    assert {name for name, row in rows.items() if row.physical_id != before[name]} == {"c"}
    assert rows["d"].requires == (rows["c"].id,)
    done(world)
    world.delete()
    world.settle()
    assert done(world) == [("unmake", "e"), ("unmake", "d"), ("unmake", "c")]


def test_what_is_replaced_says_what_it_is_until_it_goes() -> None:
    """Nobody is told of an update that never was: the old one stays what it was, then it is deleted."""
    story = Story({"a": value("1")})
    world = story.world
    world.cloud.polls = {"a": 5}
    world.update(template({"a": value("2")}))
    deliver_all(world)
    old, new = sorted(rows_of(world, story.id)["a"], key=lambda row: row.created_at)
    assert (f"{old.action}_{old.status}", old.replaced_by) == ("CREATE_COMPLETE", new.id)
    assert f"{new.action}_{new.status}" == "CREATE_IN_PROGRESS"
    world.settle()
    assert "UPDATE_COMPLETE" not in said(world, story.id, "a")
    assert states(world, story.id) == {"a": ["CREATE_COMPLETE"]}


def test_a_replacement_that_cannot_be_made_leaves_the_original_where_it_is() -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"})
    world = story.world
    world.cloud.failing = {"a": -1}
    story.update(
        {"a": value("2"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"},
        "ROLLBACK_COMPLETE",
        rollback=True,
    )
    assert ids(world, story.id) == story.before
    assert set(world.cloud.objects) == {*story.before.values()}
    assert all(row.replaced_by is None for row in world.store.stacks.resources(story.id))


# -- in service, then clean ----------------------------------------------------------------------------------------


def test_a_stack_is_in_service_before_what_was_replaced_is_gone() -> None:
    story = Story({"a": value("1"), "b": "depends_on: a"})
    world = story.world
    world.update(template({"a": value("2"), "b": "depends_on: a"}))
    seen = []

    def unmake(self: Resource) -> None:
        stack = world.store.stacks.find("s", project="default")
        seen.append((f"{stack.action}_{stack.status}", sorted(present(world))))
        world.cloud.objects.pop(str(self.state.physical_id))

    patched(world, handle_delete=unmake)
    world.settle()
    assert seen == [("UPDATE_IN_PROGRESS", ["a", "b"])]
    assert present(world) == {"a": ("2", ""), "b": ("", "")}


def test_what_cannot_be_taken_away_undoes_nothing_and_comes_back_as_nothing_else() -> None:
    """A deletion that fails is told, and tried again; no second resource of that name appears."""
    story = Story({"a": value("1", "s"), "b": value("1")})
    world = story.world
    world.cloud.failing_deletes = {"b": True}
    story.update({"a": value("1", "l"), "c": value("3")}, "UPDATE_FAILED", rollback=True)
    assert present(world) == {"a": ("1", "l"), "b": ("1", ""), "c": ("3", "")}
    assert states(world, story.id)["b"] == ["DELETE_FAILED"]
    assert "resources.b: stuck" in reason(world)
    assert story.update({"a": value("1", "l"), "c": value("3")}) == [("unmake", "b")]
    assert sorted(rows_of(world, story.id)) == ["a", "c"]


# -- rolling back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deliveries", range(8))
def test_a_rollback_brings_back_what_worked_and_not_what_was_asked_for_last(deliveries: int) -> None:
    """An update that is superseded before it is complete is nothing to go back to."""
    story = Story({"a": value("1", "s"), "b": "depends_on: a"})
    world = story.world
    world.cloud.polls = {"a": 2, "x": 2}
    world.update(template({"a": value("1", "m"), "b": "depends_on: a", "x": "depends_on: a"}))
    for _ in range(deliveries):
        world.deliver() if world.messages else world.sweep(after=1.0)
    if world.state() == "UPDATE_COMPLETE":
        return
    world.update(template({"a": value("2"), "b": "depends_on: a"}))
    world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert present(world) == {"a": ("1", "s"), "b": ("", "")}
    assert ids(world, story.id) == story.before


def test_a_rollback_claims_nothing_that_was_never_made() -> None:
    """What two updates wished for and neither began is no resource of the stack that is brought back."""
    story = Story({"a": value("1")})
    world = story.world
    world.update(template({"a": value("1"), "x": value("1")}))
    world.update(template({"a": value("1"), "y": value("1")}))
    world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert states(world, story.id) == {"a": ["CREATE_COMPLETE"]}
    assert present(world) == {"a": ("1", "")}
    assert done(world) == []


@pytest.mark.parametrize("deliveries", range(10))
def test_a_rollback_makes_what_it_brings_back(deliveries: int) -> None:
    """A row that a rollback adds begins like any other: it is made, and only then complete."""
    story = Story({"a": value("1"), "b": "depends_on: a"})
    world = story.world
    world.cloud.failing = {"z": -1}
    world.update(template({"z": ""}))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    world.update(template({"y": ""}), rollback=True)
    for _ in range(deliveries):
        world.deliver() if world.messages else world.sweep(after=1.0)
    if world.state() == "UPDATE_IN_PROGRESS":
        world.cancel()
        world.settle()
        assert world.state() == "ROLLBACK_COMPLETE"
        assert present(world) == {"a": ("1", ""), "b": ("", "")}
        assert set(ids(world, story.id).values()) == set(world.cloud.objects)
        assert not any(each.startswith("ROLLBACK") for each in states(world, story.id)["b"])


@pytest.mark.parametrize("steps", range(6))
def test_what_was_never_begun_may_go_while_a_newer_update_wants_it(steps: int) -> None:
    """Rows stay until nobody plans with them: a newer update never waits for one that vanished."""
    story = Story({"a": value("1")})
    world = story.world
    both = template({"a": value("1"), "x": value("2")})
    world.update(both)
    world.update(template({"a": value("1")}))
    meanwhile(world, lambda: step(world, times=steps), lambda: world.update(both))
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", ""), "x": ("2", "")}
    assert ids(world, story.id)["a"] == story.before["a"]


# -- failing -------------------------------------------------------------------------------------------------------


def test_after_a_failure_nothing_new_begins_and_the_next_update_makes_the_rest() -> None:
    world = World()
    world.cloud.failing = {"b": -1}
    resources = {"a": "", "b": "", "c": "", "d": "depends_on: c"}
    stack_id = world.create(template(resources))
    position = [order.key for order in world.messages].index("b")
    world.deliver(position)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert world.cloud.log == []
    assert states(world, stack_id) == {
        "a": ["INIT_COMPLETE"],
        "b": ["CREATE_FAILED"],
        "c": ["INIT_COMPLETE"],
        "d": ["INIT_COMPLETE"],
    }
    world.cloud.failing = {}
    world.update(template(resources))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert set(states(world, stack_id)) == set(resources)
    assert {*ids(world, stack_id).values()} == set(world.cloud.objects)


def test_an_attribute_that_cannot_be_read_fails_those_who_need_it_and_not_its_resource() -> None:
    """What was made is not made again because nobody could read one thing about it."""
    world = World()

    def unreadable(self: Resource, name: str) -> Any:
        raise ResourceFailure("nobody answers")

    kind = patched(world)
    read = kind.attribute
    kind.attribute = unreadable  # type: ignore[method-assign]
    resources = {"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: a"}
    stack_id = world.create(template(resources))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert states(world, stack_id)["a"] == ["CREATE_COMPLETE"]
    assert states(world, stack_id)["b"] == ["CREATE_FAILED"]
    assert "attribute 'value' of resource 'a' could not be read: nobody answers" in reason(world)
    before = ids(world, stack_id)["a"]
    kind.attribute = read  # type: ignore[method-assign]
    world.update(template(resources))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert ids(world, stack_id)["a"] == before
    assert present(world) == {"a": ("1", ""), "b": ("1", ""), "c": ("", "")}


# -- lifecycle plugins ---------------------------------------------------------------------------------------------


class Notes(LifecyclePlugin):
    """Writes down what it is asked and told."""

    name = "notes"

    def __init__(self) -> None:
        self.asked: list[Operation] = []
        self.told: list[Operation] = []

    def pre_op(self, operation: Operation) -> None:
        self.asked.append(operation)

    def post_op(self, operation: Operation) -> None:
        self.told.append(operation)


class Refusing(LifecyclePlugin):
    """Agrees to nothing."""

    name = "refusing"
    ordinal = 200

    def pre_op(self, operation: Operation) -> None:
        raise RuntimeError("no licence")


def test_plugins_are_asked_before_each_operation_and_told_how_it_ended() -> None:
    world = World()
    notes = Notes()
    world.coordinator._plugins = (notes,)
    world.create(template({"a": value("1", "s")}))
    world.settle()
    world.cloud.failing_updates = {"a": True}
    world.update(template({"a": value("1", "l")}), rollback=True)
    world.settle()
    world.delete()
    world.settle()
    told = [(each.action, each.success) for each in notes.told]
    assert told == [("CREATE", True), ("UPDATE", False), ("ROLLBACK", True), ("DELETE", True)]
    assert [each.action for each in notes.asked] == ["CREATE", "UPDATE", "ROLLBACK", "DELETE"]
    assert [each.id for each in notes.asked] == [each.id for each in notes.told]
    assert notes.told[1].reason.startswith("Resource UPDATE failed")


def test_an_operation_that_is_superseded_is_told_too() -> None:
    world = World()
    notes = Notes()
    world.coordinator._plugins = (notes,)
    world.create(template({"a": value("1", "s")}))
    world.update(template({"a": value("1", "l")}))
    world.settle()
    assert {(each.action, each.success) for each in notes.told} == {("CREATE", False), ("UPDATE", True)}


def test_an_operation_that_a_plugin_refuses_touches_nothing() -> None:
    world = World()
    notes = Notes()
    world.coordinator._plugins = (notes, Refusing())
    with pytest.raises(Conflict, match="no licence"):
        world.create(template({"a": value("1")}))
    assert world.store.stacks.all(project="default") == []
    assert world.messages == []
    assert [each.success for each in notes.told] == [False]
