"""What is protected is neither deleted nor replaced, by any order that has no permission, whatever dies meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from orchestrator.engine.health import mark_unhealthy
from orchestrator.engine.protection_marks import protect
from orchestrator.errors import Conflict, IsothermError
from orchestrator.model.messages import CancelJob, DeleteJob, RestoreJob, StackJob
from orchestrator.model.purge import Purge
from orchestrator.planning.decision import NOT_REPLACED
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.queries.observer import Observer
from orchestrator.store.traversals.starting import TraversalStarts
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.groups import TYPES
from tests.scenarios.test_nested import FILES
from tests.scenarios.test_nested import root as nested_root
from tests.scenarios.test_restricted_actions import foreseen
from tests.scenarios.test_scaling import scaled, signal
from tests.scenarios.test_updates import Story, created, done, ids, template, value
from tests.scenarios.world import World

BEFORE = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}", "s"), "c": value("3", "s")}


def guard(world: World, *resources: str, protected: bool = True, name: str = "s") -> None:
    protect(world.store, world.store.stacks.find(name, project="default"), resources, protected=protected)


def refused(order: Callable[[], object]) -> str:
    """Return why an order is refused with the sentence that names the way out."""
    with pytest.raises(Conflict) as caught:
        order()
    assert "'isotherm stack unprotect'" in str(caught.value)
    assert "--unprotect" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ({"b": BEFORE["b"].replace("{get_attr: [a, value]}", "1"), "c": BEFORE["c"]}, "not deleted"),
        ({**BEFORE, "a": value("2", "s")}, "not replaced"),
        ({}, "not deleted"),
    ],
)
def test_an_update_that_would_lose_it_is_refused_and_touches_nothing(after: dict[str, str], why: str) -> None:
    story = Story(BEFORE)
    guard(story.world, "a")
    assert foreseen(story.world, template(after))["a"][0] == "REFUSE"
    sentence = refused(lambda: story.world.update(template(after)))
    assert "resource 'a' would be lost" in sentence
    assert why in sentence
    story.world.settle()
    assert story.world.state() == "CREATE_COMPLETE"
    assert done(story.world) == []
    # It is still changed in place, and what is not protected goes.
    assert ("change", "a") in story.update({"a": value("1", "l")})
    assert ids(story.world, story.id)["a"] == story.before["a"]


def test_another_type_is_a_loss() -> None:
    story = Story(BEFORE)
    types: Any = story.world.checker._types
    types["Cloud::Other"] = type("Other", (types["Cloud::Object"],), {})
    guard(story.world, "a")
    text = template(BEFORE).replace("a: {type: Cloud::Object", "a: {type: Cloud::Other")
    assert NOT_REPLACED in refused(lambda: story.world.update(text))


def test_what_was_marked_unhealthy_is_not_replaced() -> None:
    story = Story(BEFORE)
    stack = story.world.store.stacks.find("s", project="default")
    mark_unhealthy(story.world.store, stack, "a", reason="it hums")
    guard(story.world, "a")
    assert "marked unhealthy: it hums" in refused(lambda: story.world.update(template(BEFORE)))
    guard(story.world, "a", protected=False)
    assert ("unmake", "a") in story.update(BEFORE)


def test_a_replacement_that_only_a_worker_finds_fails_there() -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, measure]}")})
    guard(story.world, "b")
    after = {"a": value("1", "l"), "b": value("{get_attr: [a, measure]}")}
    assert story.update(after, "UPDATE_FAILED") == [("change", "a")]
    assert ids(story.world, story.id) == story.before
    reason = story.world.store.stacks.find("s", project="default").reason
    assert reason.startswith(
        f"Resource UPDATE failed: resources.b: {NOT_REPLACED}; it would be needed because"
    )
    row = story.world.store.stacks.resource(story.id, "b")
    assert (row.action, row.status, row.protected) == ("CREATE", "COMPLETE", True)
    # The same order with the permission goes on.
    assert ("unmake", "b") in story.update(after, unprotect=True)
    assert story.world.store.stacks.resource(story.id, "b").protected


def test_what_is_gone_is_not_replaced() -> None:
    story = Story(BEFORE)
    guard(story.world, "a")
    gone = next(each for each in story.world.cloud.objects if each.startswith("a"))
    del story.world.cloud.objects[gone]
    assert story.update(BEFORE, "UPDATE_FAILED", refresh=True) == []


def test_an_update_under_way_that_fails_after_it_was_superseded_replaces_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story(BEFORE)
    world = story.world
    guard(world, "a")
    world.cloud.polls["a"] = 5
    world.update(template({**BEFORE, "a": value("1", "m")}))
    world.deliver()
    world.update(template({**BEFORE, "a": value("1", "l")}))

    def failing(_self: Resource, _token: object) -> bool:
        raise ResourceFailure("no luck")

    monkeypatch.setattr(world.checker._types["Cloud::Object"], "check_update_complete", failing)
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    row = world.store.stacks.resource(story.id, "a")
    # What the update made of it is not known.
    assert (row.physical_id, row.action, row.status) == (story.before["a"], "UPDATE", "FAILED")
    assert row.reason == f"{NOT_REPLACED}; it would be needed because no luck"
    assert ("unmake", "a") not in done(world)


@pytest.mark.parametrize("protects", [(), ("a",), ("c",)])
@pytest.mark.parametrize("abandon", [False, True])
def test_neither_a_protected_stack_nor_one_with_a_protected_resource_is_deleted(
    protects: tuple[str, ...], abandon: bool
) -> None:
    story = Story(BEFORE)
    guard(story.world, *protects)
    job = DeleteJob(name="s", abandon=abandon)
    subject = f"resource {protects[0]!r} is protected" if protects else "stack 's' is protected"
    assert subject in refused(lambda: story.world.coordinator.delete(job))
    story.world.settle()
    assert story.world.state() == "CREATE_COMPLETE"
    assert done(story.world) == []
    story.world.coordinator.delete(DeleteJob(name="s", abandon=abandon, unprotect=True))
    story.world.settle()
    assert story.world.state(story.id) == "DELETE_COMPLETE"
    events = story.world.store.events.read(story.id, limit=1000)
    assert [(each.action, each.resource) for each in events if "PROTECT" in each.action] == [
        ("PROTECT", protects[0] if protects else ""),
        ("UNPROTECT", protects[0] if protects else ""),
    ]


def test_a_deletion_that_was_permitted_and_failed_needs_no_second_permission() -> None:
    story = Story(BEFORE)
    guard(story.world, "a")
    story.world.cloud.failing_deletes["a"] = True
    story.world.coordinator.delete(DeleteJob(name="s", unprotect=True))
    story.world.settle()
    assert story.world.state() == "DELETE_FAILED"
    story.world.delete()
    story.world.settle()
    assert story.world.state(story.id) == "DELETE_COMPLETE"


def test_a_permission_counts_once_and_what_takes_its_place_is_protected() -> None:
    story = Story(BEFORE)
    guard(story.world, "a")
    after = {**BEFORE, "a": value("2", "s")}
    assert ("unmake", "a") in story.update(after, unprotect=True)
    rows = story.world.store.stacks.resources(story.id)
    assert [row.name for row in rows if row.protected] == ["a"]
    refused(lambda: story.world.update(template(BEFORE)))
    guard(story.world, "a", protected=False)
    assert ("unmake", "a") in story.update(BEFORE)


def test_a_rollback_of_what_was_permitted_is_permitted_and_protects_what_it_takes_back() -> None:
    # The old object of a stays until that of c is gone.
    story = Story({"a": value("1", "s"), "c": f"{value('3', 's')}, depends_on: a"})
    guard(story.world, "a")
    story.world.cloud.failing["c"] = -1
    after = {"a": value("2", "s"), "c": f"{value('4', 's')}, depends_on: a"}
    story.update(after, "ROLLBACK_COMPLETE", rollback=True, unprotect=True)
    assert ids(story.world, story.id) == story.before
    rows = story.world.store.stacks.resources(story.id)
    assert [row.name for row in rows if row.protected] == ["a"]


@pytest.mark.parametrize("way", ["failure", "cancel"])
def test_a_rollback_deletes_nothing_that_was_protected_after_the_update_had_failed(way: str) -> None:
    story = Story({"a": value("1", "s")})
    world = story.world
    world.cloud.failing["c"] = -1
    after = {"a": value("1", "s"), "b": value("2", "s"), "c": f"{value('3', 's')}, depends_on: b"}
    story.update(after, "UPDATE_FAILED")
    guard(world, "b")
    if way == "failure":
        world.cloud.failing["c"] = -1
        world.update(template(after), rollback=True)
        world.settle()
        stack = world.store.stacks.find("s", project="default")
        assert (stack.action, stack.status) == ("UPDATE", "FAILED")
        assert "resource 'b' would be lost" in stack.reason
    else:
        world.cloud.failing["c"] = 0
        world.cloud.polls["c"] = 5
        world.update(template(after))
        refused(world.cancel)
        world.coordinator.cancel(CancelJob(name="s", unprotect=True))
        world.settle()
        assert world.state() == "ROLLBACK_COMPLETE"
        return
    assert any(each.startswith("b") for each in world.cloud.objects)


def test_a_restore_loses_nothing_either() -> None:
    story = Story({"a": value("1", "s")})
    story.world.snapshot("before")
    story.world.settle()
    story.update({"a": value("1", "s"), "b": value("2", "s")})
    guard(story.world, "b")
    refused(lambda: story.world.restore("before"))
    story.world.coordinator.restore(RestoreJob(name="s", snapshot="before", unprotect=True))
    story.world.settle()
    assert story.world.state() == "RESTORE_COMPLETE"
    assert ids(story.world, story.id) == story.before


@pytest.fixture
def nested() -> tuple[World, str]:
    world, stack_id = created(nested_root(), files=FILES)
    guard(world, "pair/disk")
    return world, stack_id


LONELY = "heat_template_version: 2021-04-16\nresources:\n  net: {type: Cloud::Object}\n"
PLATE = {"pair.yaml": FILES["pair.yaml"].replace("disk", "plate")}


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (LONELY, {}),
        (f"{LONELY}  pair: {{type: pair.yaml}}\n", PLATE),
        (f"{LONELY}  pair: {{type: Cloud::Object}}\n", {}),
    ],
)
def test_a_parent_that_drops_what_holds_it_is_refused(
    nested: tuple[World, str], text: str, files: dict[str, str]
) -> None:
    world, _ = nested
    assert "pair/disk" in refused(lambda: world.update(text, files=files))
    assert "pair/disk" in refused(world.delete)
    world.settle()
    assert done(world) == []
    world.update(text, files=files, unprotect=True)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert ("unmake", "disk") in done(world)


def test_a_replacement_inside_of_a_nested_stack_fails_there(nested: tuple[World, str]) -> None:
    world, _ = nested
    before = {each for each in world.cloud.objects if each.startswith("disk")}
    world.update(nested_root(value="w"), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert "resource 'disk' would be lost" in world.store.stacks.find("s", project="default").reason
    assert before <= world.cloud.objects.keys()
    world.update(nested_root(value="w"), files=FILES, unprotect=True)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert before.isdisjoint(world.cloud.objects)
    # What took its place is protected, and the parent is asked for it.
    assert "pair/disk" in refused(world.delete)


def test_a_protected_nested_stack_holds_its_parent() -> None:
    world, _ = created(nested_root(), files=FILES)
    (child,) = [each for each in world.store.stacks.all(project="default", nested=True) if each.parent_id]
    guard(world, name=child.id)
    assert "resource 'pair' is protected" in refused(world.delete)


@pytest.fixture
def scaling() -> Iterator[World]:
    with closing(World(TYPES)) as world:
        world.create(scaled(desired="desired_capacity: 2"))
        world.settle()
        yield world


def test_scaling_in_keeps_a_protected_member(scaling: World) -> None:
    group = scaling.store.stacks.resource(scaling.store.stacks.find("s", project="default").id, "group")
    members = [row.name for row in scaling.store.stacks.resources(group.id)]
    for member in members:
        guard(scaling, f"group/{member}")
    before = set(scaling.cloud.objects)
    with pytest.raises(Conflict, match="would be lost"):
        signal(scaling, "down")
    scaling.settle()
    # The same by an update of the group.
    scaling.update(scaled(desired="desired_capacity: 1"))
    scaling.settle()
    assert scaling.state() == "UPDATE_FAILED"
    assert before <= scaling.cloud.objects.keys()
    scaling.update(scaled(desired="desired_capacity: 1"), unprotect=True)
    scaling.settle()
    assert scaling.state() == "UPDATE_COMPLETE"
    assert len(scaling.cloud.objects) == 1


def test_a_purge_leaves_it() -> None:
    story = Story(BEFORE)
    guard(story.world, "a")
    list(story.world.store.purger.purge(Purge(older_than_seconds=0, grace_seconds=0, max_events_per_stack=1)))
    refused(story.world.delete)


def test_what_is_under_way_cannot_be_protected_and_what_is_being_deleted_neither() -> None:
    story = Story(BEFORE)
    story.world.update(template({**BEFORE, "a": value("2", "s")}))
    with pytest.raises(Conflict, match="UPDATE_IN_PROGRESS"):
        guard(story.world, "a")
    story.world.cloud.failing_deletes["a"] = True
    story.world.settle()
    with pytest.raises(IsothermError, match="no resource 'x'"):
        guard(story.world, "x")


@pytest.mark.parametrize("resources", [(), ("a",)])
def test_what_is_protected_after_the_plan_was_made_is_not_lost(
    resources: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(BEFORE)
    begin = TraversalStarts.begin_next
    late = [resources]

    def begun(self: TraversalStarts, *args: Any, **options: Any) -> object:
        if late:
            guard(story.world, *late.pop())
        return begin(self, *args, **options)

    monkeypatch.setattr(TraversalStarts, "begin_next", begun)
    refused(story.world.delete)
    assert story.world.state() == "CREATE_COMPLETE"


@die_everywhere
def test_wherever_a_process_dies_what_is_permitted_is_replaced_once(instruction: int) -> None:
    story = Story({"a": value("1", "s")})
    world = story.world
    guard(world, "a")
    job = StackJob(name="s", template=template({"a": value("2", "s")}), unprotect=True, job_id="update")
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.coordinator.update(job)):
        world.coordinator.update(job)
    while not world.survive(world.settle):
        pass
    world.cloud.crash_at = None
    assert world.state() == "UPDATE_COMPLETE"
    (row,) = world.store.stacks.resources(story.id)
    assert row.protected
    assert list(world.cloud.objects) == [row.physical_id]
    events = world.store.events.read(story.id, limit=1000)
    assert [each.action for each in events if "PROTECT" in each.action] == ["PROTECT", "UNPROTECT"]


def test_events_of_protection_are_no_states_and_no_attempts() -> None:
    story = Story({"a": value("1", "s")})
    observer = Observer(story.world.checker._settings, story.world.store)
    before = observer.graph("s").vertices, observer.timeline("s").bars
    guard(story.world)
    guard(story.world, "a")
    assert (observer.graph("s").vertices, observer.timeline("s").bars) == before
