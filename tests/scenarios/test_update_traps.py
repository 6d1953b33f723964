"""What engines of this kind are known to get wrong about updates and rollbacks; the table is in ``test_traps``."""

import pytest

from orchestrator.plugins.resource import Resource
from tests.scenarios.telling import deliver_all, patched, reason, rows_of, said, states
from tests.scenarios.test_update_faults import meanwhile, step
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World

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


# -- failing --------------------------------------------------------------------------------------------------------


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
