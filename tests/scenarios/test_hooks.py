"""Hooks: a resource stops where its environment says so, until somebody lets it on or nobody wants it any more."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.model.messages import EnvironmentSource, SignalJob
from tests.scenarios.test_nested import FILES
from tests.scenarios.test_nested import root as nested_root
from tests.scenarios.test_updates import done, present, template, value
from tests.scenarios.world import World

KINDS = ("pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete")


def environment(hooks: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the part of a job that says at which hooks resources stop."""
    said = ", ".join(f"'{name}': {{hooks: [{', '.join(kinds)}]}}" for name, kinds in hooks.items())
    source = f"resource_registry: {{resources: {{{said}}}}}"
    return {"environments": (EnvironmentSource(file="e.yaml", source=source),)}


ALL = environment({"*": KINDS})
#: b is made of a, and c stands alone.
BEFORE = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}", "s"), "c": value("c")}
#: a is replaced, b with it, c changes in place, d is new.
AFTER = {
    "a": value("2", "s"),
    "b": value("{get_attr: [a, value]}", "s"),
    "c": value("c", "l"),
    "d": value("d"),
}


def events(world: World, resource: str) -> list[tuple[str, str, str]]:
    stack = world.store.stacks.find("s", project="default")
    return [
        (row.action, row.status, row.reason)
        for row in world.store.events.read(stack.id, after=0, limit=1000)
        if row.resource == resource
    ]


def states(world: World) -> dict[str, str]:
    stack = world.store.stacks.find("s", project="default")
    return {row.name: f"{row.action}_{row.status}" for row in world.store.stacks.resources(stack.id)}


def created(resources: Mapping[str, str] = BEFORE) -> World:
    """Return a world with a stack that was created without hooks."""
    world = World()
    world.create(template(resources))
    world.settle()
    done(world)
    return world


# -- each kind --------------------------------------------------------------------------------------------------------


def test_nothing_is_made_before_pre_create_is_cleared() -> None:
    world = World()
    world.create(template(BEFORE), **environment({"a": ["pre-create"]}))
    world.settle()
    assert world.standing() == [("a", "pre-create")]
    assert states(world) == {"a": "INIT_COMPLETE", "b": "INIT_COMPLETE", "c": "CREATE_COMPLETE"}
    assert world.made_names() == ["c"]
    assert events(world, "a") == [("HOOK", "IN_PROGRESS", "CREATE paused until Hook pre-create is cleared")]
    assert world.store.sweeper.next_due() is not None, "the time-out still ends it"
    world.clear()
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["c", "a", "b"]
    assert events(world, "a")[1] == ("HOOK", "COMPLETE", "Hook pre-create is cleared")


def test_dependents_do_not_begin_before_post_create_is_cleared() -> None:
    world = World()
    world.create(template(BEFORE), **environment({"a": ["post-create"]}))
    world.settle()
    assert world.standing() == [("a", "post-create")]
    assert states(world) == {"a": "CREATE_COMPLETE", "b": "INIT_COMPLETE", "c": "CREATE_COMPLETE"}
    assert events(world, "a")[-1][2] == "CREATE paused until Hook post-create is cleared"
    world.clear()
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert present(world)["b"] == ("1", "s")
    # It was made once, and is counted so.
    assert [event[:2] for event in events(world, "a")].count(("CREATE", "COMPLETE")) == 1


def test_the_last_of_all_can_stop_after_it_was_made() -> None:
    world = World()
    world.create(template({"a": value("1")}), **environment({"a": ["post-create"]}))
    world.settle()
    assert world.state() == "CREATE_IN_PROGRESS"
    world.clear()
    world.settle()
    assert world.state() == "CREATE_COMPLETE"


def test_nothing_is_changed_before_pre_update_is_cleared() -> None:
    world = created()
    world.update(
        template({**BEFORE, "c": value("c", "l")}), **environment({"c": ["pre-update", "pre-create"]})
    )
    world.settle()
    assert world.standing() == [("c", "pre-update")]
    assert states(world)["c"] == "CREATE_COMPLETE"
    assert done(world) == []
    world.clear()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == [("change", "c")]


def test_post_update_stops_after_a_change_in_place() -> None:
    world = created()
    world.update(template({**BEFORE, "c": value("c", "l")}), **environment({"*": ["post-update"]}))
    world.settle()
    assert world.standing() == [("c", "post-update")]
    assert states(world)["c"] == "UPDATE_COMPLETE"
    assert done(world) == [("change", "c")]
    world.clear()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_an_update_that_turns_out_to_change_nothing_stops_nowhere() -> None:
    world = created({"b": value("b"), "c": value("c")})
    world.update(template({"b": f"{value('b')}, depends_on: c", "c": value("c")}), **ALL)
    assert world.messages, "it must be visited: it depends on another"
    assert world.settle_clearing() == []
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == []


def test_a_replacement_stops_as_an_update_of_the_old_and_a_creation_of_the_new() -> None:
    world = created({"a": value("1"), "b": value("{get_attr: [a, value]}")})
    world.update(template({"a": value("2"), "b": value("{get_attr: [a, value]}")}), **ALL)
    assert world.settle_clearing() == [
        ("a", "pre-update"),
        ("a", "pre-create"),
        ("a", "post-create"),
        ("b", "pre-update"),
        ("b", "pre-create"),
        ("b", "post-create"),
        ("b", "pre-delete"),
        ("b", "post-delete"),
        ("a", "pre-delete"),
        ("a", "post-delete"),
    ]
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("2", ""), "b": ("2", "")}


def test_a_resource_that_an_update_adds_stops_before_it_is_made() -> None:
    world = created()
    world.update(template({**BEFORE, "d": value("d")}), **environment({"d": ["pre-create", "post-create"]}))
    assert world.settle_clearing() == [("d", "pre-create"), ("d", "post-create")]
    assert done(world) == [("make", "d")]
    assert world.state() == "UPDATE_COMPLETE"


def test_a_resource_that_an_update_removes_stops_before_it_is_deleted() -> None:
    """By the new environment, which may name what the new template has not."""
    world = created()
    world.update(template({"c": value("c")}), **environment({"b": ["pre-delete"], "a": ["post-delete"]}))
    world.settle()
    assert world.standing() == [("b", "pre-delete")]
    assert done(world) == []
    world.clear()
    world.settle()
    assert world.standing() == [("a", "post-delete")]
    assert done(world) == [("unmake", "b"), ("unmake", "a")]
    world.clear()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_a_deletion_stops_where_the_stacks_own_environment_says() -> None:
    world = World()
    stack_id = world.create(template(BEFORE), **environment({"*": ["pre-delete"], "b": ["post-delete"]}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    world.delete()
    world.settle()
    assert world.standing() == [("b", "pre-delete"), ("c", "pre-delete")]
    assert world.unmade_names() == []
    world.clear("c")
    world.settle()
    assert world.standing() == [("b", "pre-delete")]
    assert world.settle_clearing(stack_id) == [("b", "pre-delete"), ("b", "post-delete"), ("a", "pre-delete")]
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


def test_what_was_never_made_is_deleted_without_a_stop() -> None:
    world = World()
    stack_id = world.create(template(BEFORE), **ALL)
    world.settle()
    assert world.standing() == [("a", "pre-create"), ("c", "pre-create")]
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.made_names() == []


def test_what_is_in_a_stack_in_the_stack_stops_too() -> None:
    world = World()
    source = "resource_registry: {resources: {pair: {'*': {hooks: [pre-create, pre-delete]}}}}"
    hooks = (EnvironmentSource(file="e.yaml", source=source),)
    stack_id = world.create(nested_root(), files=FILES, environments=hooks)
    world.settle()
    assert world.standing() == [("pair/disk", "pre-create")]
    world.clear("disk/*")
    assert world.standing() == [("pair/disk", "pre-create")]
    world.clear("pair/*")
    world.settle()
    assert world.standing() == [("pair/server", "pre-create")]
    world.clear()
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    world.delete()
    assert world.settle_clearing(stack_id) == [("pair/server", "pre-delete"), ("pair/disk", "pre-delete")]
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


def test_a_stack_in_the_stack_stops_as_a_resource() -> None:
    world = World()
    hooks = environment({"pair": KINDS})
    stack_id = world.create(nested_root(), files=FILES, **hooks)
    assert world.settle_clearing() == [("pair", "pre-create"), ("pair", "post-create")]
    assert world.made_names() == ["net", "disk", "server", "user"]
    world.update(nested_root(size="large"), files=FILES, **hooks)
    world.settle()
    assert world.standing() == [("pair", "pre-update")]
    assert "large" not in world.cloud.sizes.values()
    assert world.settle_clearing() == [("pair", "pre-update"), ("pair", "post-update")]
    assert "large" in world.cloud.sizes.values()
    world.delete()
    assert world.settle_clearing(stack_id) == [("pair", "pre-delete"), ("pair", "post-delete")]
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


# -- letting on -------------------------------------------------------------------------------------------------------


def test_only_what_matches_is_let_on() -> None:
    world = World()
    resources = {"web1": value("1"), "web2": value("2"), "db": value("3")}
    world.create(template(resources), **environment({"*": ["pre-create", "post-create"]}))
    world.settle()
    world.clear("web*", "post-create")
    world.settle()
    assert world.made_names() == []
    world.clear("web?")
    world.settle()
    assert world.standing() == [("db", "pre-create"), ("web1", "post-create"), ("web2", "post-create")]
    world.clear(kind="pre-create")
    world.settle()
    assert world.standing() == [("db", "post-create"), ("web1", "post-create"), ("web2", "post-create")]


def test_clearing_twice_lets_nothing_else_on() -> None:
    world = World()
    stack_id = world.create(template({"a": value("1")}), **environment({"a": ["pre-create", "post-create"]}))
    world.settle()
    (standing,) = world.store.breakpoints.standing(stack_id)
    first = world.store.breakpoints.clear(standing)
    assert first is not None
    assert world.store.breakpoints.clear(standing) is None
    world.publish(first)
    world.publish(first)
    world.settle()
    assert world.standing() == [("a", "post-create")]
    assert world.store.breakpoints.clear(standing) is None
    assert world.standing() == [("a", "post-create")]
    world.publish(first)
    world.settle()
    assert world.made_names() == ["a"]


def test_what_nobody_publishes_after_clearing_is_swept() -> None:
    world = World()
    stack_id = world.create(template({"a": value("1")}), **environment({"a": ["pre-create", "post-create"]}))
    world.settle()
    for kind in ("pre-create", "post-create"):
        (standing,) = world.store.breakpoints.standing(stack_id)
        assert standing.hook == kind
        assert world.store.breakpoints.clear(standing)
        world.settle()
    assert world.state() == "CREATE_COMPLETE"


def test_a_signal_to_what_it_stands_for_wakes_nothing_that_stands() -> None:
    world = World()
    stack_id = world.create(template(BEFORE), **environment({"b": ["pre-create"]}))
    world.settle()
    said = events(world, "b")
    rows = {row.name: row for row in world.store.stacks.resources(stack_id)}
    world.publish(world.store.nodes.wake_dependents(rows["a"].id))
    world.publish(world.store.nodes.wake_resource(rows["b"].id))
    world.settle()
    assert world.standing() == [("b", "pre-create")]
    assert events(world, "b") == said


def test_a_signal_lets_on_once_however_often_its_job_comes() -> None:
    world = World()
    world.create(template({"a": value("1")}), **environment({"a": ["pre-create", "post-create"]}))
    world.settle()
    job = SignalJob(name="s", resource="a", details={"unset_hook": "pre-create"})
    world.coordinator.signal(job)
    world.coordinator.signal(job)
    world.settle()
    assert world.standing() == [("a", "post-create")]
    world.coordinator.signal(job)
    with pytest.raises(Conflict, match="'a' does not stand at the hook pre-create"):
        world.coordinator.signal(SignalJob(name="s", resource="a", details={"unset_hook": "pre-create"}))
    with pytest.raises(InvalidInput, match="did you mean 'post-create'"):
        world.coordinator.signal(SignalJob(name="s", resource="a", details={"unset_hook": "post-crate"}))
    with pytest.raises(InvalidInput, match="found int"):
        world.coordinator.signal(SignalJob(name="s", resource="a", details={"unset_hook": 1}))
    with pytest.raises(NotFound):
        world.coordinator.signal(SignalJob(name="s", resource="b", details={"unset_hook": "post-create"}))
    world.coordinator.signal(SignalJob(name="s", resource="a", details={"unset_hook": "post-create"}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"


# -- the end of waiting -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "state"), [("pre-create", "INIT_COMPLETE"), ("post-create", "CREATE_COMPLETE")]
)
def test_the_time_out_ends_what_stands(kind: str, state: str) -> None:
    world = World()
    world.create(template(BEFORE), **environment({"a": [kind]}), timeout_minutes=5)
    world.settle()
    world.sweep(after=301)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    reason = f"Stack CREATE timed out after 5 minutes; nobody cleared the hooks of a ({kind})"
    assert world.store.stacks.find("s", project="default").reason == reason
    assert world.standing() == []
    assert states(world)["a"] == state
    world.clear()
    assert world.messages == []


@pytest.mark.parametrize("kind", ["pre-create", "post-create"])
def test_cancelling_ends_what_stands_and_nothing_begins_after_it(kind: str) -> None:
    world = World()
    world.create(template(BEFORE), **environment({"a": [kind]}))
    world.settle()
    made = world.made_names()
    world.cancel(rollback=False)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert world.standing() == []
    world.clear()
    world.settle()
    assert world.made_names() == made
    world.update(template(BEFORE))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert sorted(present(world)) == ["a", "b", "c"]
    assert world.made_names().count("a") == 1


def test_what_was_let_on_but_not_begun_does_not_begin_after_a_failure() -> None:
    world = World()
    world.create(template(BEFORE), **environment({"a": ["pre-create"]}))
    world.settle()
    world.clear()
    world.cancel(rollback=False)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "a" not in world.made_names()


def test_a_rollback_ends_what_stands() -> None:
    world = created()
    world.update(template(AFTER), **ALL)
    world.settle()
    assert world.standing() == [("a", "pre-update"), ("c", "pre-update"), ("d", "pre-create")]
    world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert done(world) == []


def test_the_next_updates_environment_counts() -> None:
    world = World()
    world.create(template(BEFORE), **ALL)
    world.settle()
    world.update(template(BEFORE), **environment({"c": ["pre-create"]}))
    world.settle()
    assert world.standing() == [("c", "pre-create")]
    assert world.made_names() == ["a", "b"]
    world.update(template(BEFORE))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_what_stood_after_it_was_made_is_not_made_again() -> None:
    world = World()
    world.create(template(BEFORE), **environment({"a": ["post-create"]}))
    world.settle()
    done(world)
    world.update(template(BEFORE))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == [("make", "b")]
