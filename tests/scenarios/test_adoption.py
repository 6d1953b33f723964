"""Adopting what is there already, and giving a stack up without touching what it made."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.planning.stored_templates import job_of_template
from orchestrator.queries.stack_document import document_of
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_update_faults import step
from tests.scenarios.test_updates import done, ids, present, template, value
from tests.scenarios.world import World

#: B is made of a; c only comes after it.
RESOURCES = {
    "a": value("1", "s"),
    "b": value("{get_attr: [a, value]}", "s"),
    "c": f"{value('3', 's')}, depends_on: b",
    "d": value("4", "s"),
}
AS_FOUND = {"a": ("1", "s"), "b": ("1", "s"), "c": ("3", "s"), "d": ("4", "s")}
#: More messages than an adoption ever takes.
MOST = 14

each_moment = pytest.mark.parametrize("steps", range(MOST))


def export(world: World, name: str = "s") -> dict[str, Any]:
    """Return a stack's document."""
    stack = world.store.stacks.find(name, project="default")
    definition = job_of_template(world.store, stack, stack.template_id)
    rows = {stack.id: world.store.stacks.resources(stack.id)}
    return document_of(stack, definition, rows, Limits())


@built_once
def orphaned(text: str) -> tuple[World, dict[str, Any]]:
    """Return objects that belong to no stack any more, and the document that tells of them."""
    world = World()
    world.create(text)
    world.settle()
    document = export(world)
    world.abandon()
    world.settle()
    done(world)
    return world, document


class Orphans:
    """Objects that belong to no stack any more, and the document that tells of them."""

    def __init__(self, resources: Mapping[str, str] = RESOURCES) -> None:
        self.world, self.document = orphaned(template(resources))
        self.entries: Mapping[str, Any] = self.document["resources"]
        self.before = {name: entry["resource_id"] for name, entry in self.entries.items()}

    def adopt(self, resources: Mapping[str, str] = RESOURCES, **job: Any) -> str:
        """Begin to adopt them all."""
        return self.world.adopt(template(resources), self.entries, name="t", **job)

    def check_untouched(self) -> None:
        """Check that everything is as it was."""
        assert done(self.world) == []
        assert present(self.world) == AS_FOUND
        assert set(self.world.cloud.objects) == set(self.before.values())


@built_once
def begun(steps: int, **job: Any) -> Orphans:
    """Return what is there so many messages after the begin of an adoption, one resource of which takes time."""
    if steps:
        orphans = begun(steps - 1, **job)
        step(orphans.world)
        return orphans
    orphans = Orphans()
    orphans.world.cloud.polls = {"b": 3}
    orphans.adopt(**job)
    return orphans


# -- abandon -----------------------------------------------------------------------------------------------------------


def test_an_abandoned_stack_is_gone_and_what_it_made_stays() -> None:
    orphans = Orphans()
    assert orphans.world.state(orphans.document["id"]) == "DELETE_COMPLETE"
    orphans.check_untouched()
    orphans.world.create(template({}))


def test_a_document_tells_the_objects_the_definition_and_the_state() -> None:
    orphans = Orphans()
    document = orphans.document
    assert (document["name"], document["action"], document["status"]) == ("s", "CREATE", "COMPLETE")
    assert sorted(document["template"]["resources"]) == ["a", "b", "c", "d"]
    assert document["resources"]["a"] == {
        "name": "a",
        "resource_id": orphans.before["a"],
        "type": "Cloud::Object",
        "action": "CREATE",
        "status": "COMPLETE",
        "metadata": {},
        "resource_data": {},
    }


@pytest.mark.parametrize("steps", range(6))
def test_a_delete_after_an_abandon_deletes_what_is_not_gone_yet(steps: int) -> None:
    world = World()
    stack_id = world.create(template(RESOURCES))
    world.settle()
    done(world)
    world.abandon()
    step(world, times=steps)
    if world.state(stack_id) == "DELETE_COMPLETE":
        return
    left = {row.physical_id for row in world.store.stacks.resources(stack_id)}
    kept = set(world.cloud.objects) - left
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert set(world.cloud.objects) == kept


@pytest.mark.parametrize("steps", range(6))
def test_an_abandon_after_a_delete_keeps_what_is_not_gone_yet(steps: int) -> None:
    world = World()
    stack_id = world.create(template(RESOURCES))
    world.settle()
    world.delete()
    step(world, times=steps)
    left = set(world.cloud.objects)
    if world.state(stack_id) == "DELETE_COMPLETE":
        return
    world.abandon()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert set(world.cloud.objects) == left


def test_of_two_abandons_the_second_goes_on_with_the_first() -> None:
    world = World()
    world.create(template(RESOURCES))
    world.settle()
    world.abandon()
    before = world.store.stacks.find("s", project="default").traversal_id
    world.abandon()
    assert world.store.stacks.find("s", project="default").traversal_id == before


@each_moment
@pytest.mark.parametrize("operation", ["create", "update"])
def test_an_abandon_ends_at_every_moment_of_another_operation_and_unmakes_nothing(
    steps: int, operation: str
) -> None:
    world = World()
    stack_id = world.create(template(RESOURCES))
    if operation == "update":
        world.settle()
        world.update(template({"a": value("9", "l"), "b": value("{get_attr: [a, value]}"), "e": value("5")}))
    step(world, times=steps)
    unmade = len(world.unmade_names())
    world.abandon()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert len(world.unmade_names()) == unmade
    assert world.store.stacks.resources(stack_id) == []


@die_everywhere
def test_an_abandon_survives_a_death_at_any_instruction_and_touches_nothing(instruction: int) -> None:
    world = World()
    stack_id = world.create(template(RESOURCES))
    world.settle()
    done(world)
    objects = dict(world.cloud.objects)
    world.cloud.crash_after(instruction)
    if not world.survive(world.abandon):
        world.abandon()
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert (done(world), world.cloud.objects) == ([], objects)


# -- adopt -------------------------------------------------------------------------------------------------------------


def test_what_is_adopted_is_taken_as_it_is() -> None:
    orphans = Orphans()
    stack_id = orphans.adopt()
    assert orphans.world.state("t") == "ADOPT_IN_PROGRESS"
    orphans.world.settle()
    assert orphans.world.state("t") == "ADOPT_COMPLETE"
    orphans.check_untouched()
    assert ids(orphans.world, stack_id) == orphans.before
    rows = orphans.world.store.stacks.resources(stack_id)
    assert {f"{row.action}_{row.status}" for row in rows} == {"ADOPT_COMPLETE"}
    events = orphans.world.store.events.read(stack_id, limit=100)
    told = [f"{event.resource} {event.action}_{event.status}" for event in events if event.resource == "a"]
    assert told == ["a ADOPT_IN_PROGRESS", "a ADOPT_COMPLETE"]


def test_what_was_adopted_is_like_what_was_made() -> None:
    orphans = Orphans()
    world, stack_id = orphans.world, orphans.adopt()
    world.settle()
    world.update(template(RESOURCES), "t")
    assert [order.phase for order in world.messages] == ["end"]
    world.settle()
    world.update(template({**RESOURCES, "a": value("1", "l")}), "t")
    world.settle()
    assert done(world) == [("change", "a")]
    world.update(template({**RESOURCES, "a": value("9", "l")}), "t")
    world.settle()
    assert done(world) == [("make", "a"), ("make", "b"), ("unmake", "b"), ("unmake", "a")]
    world.delete("t")
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
    names = world.unmade_names()
    assert names.index("c") < names.index("b") < names.index("a")


def test_what_was_adopted_is_checked_suspended_and_resumed_like_what_was_made() -> None:
    orphans = Orphans()
    world = orphans.world
    orphans.adopt()
    world.settle()
    for operate in (world.check, world.suspend, world.resume):
        operate("t")
        world.settle()
        assert world.state("t") == f"{operate.__name__.upper()}_COMPLETE"
    assert set(world.cloud.objects) == set(orphans.before.values())


def test_a_suspended_stack_can_be_exported_and_abandoned() -> None:
    orphans = Orphans()
    world, stack_id = orphans.world, orphans.adopt()
    world.settle()
    world.suspend("t")
    world.settle()
    assert export(world, "t")["action"] == "SUSPEND"
    world.abandon("t")
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert set(world.cloud.objects) == set(orphans.before.values())


def test_an_update_that_fails_after_an_adoption_goes_back_to_what_was_adopted() -> None:
    orphans = Orphans()
    world, stack_id = orphans.world, orphans.adopt()
    world.settle()
    world.cloud.failing = {"e": -1}
    world.update(template({"a": value("1", "l"), "e": "depends_on: a"}), "t", rollback=True)
    world.settle()
    assert world.state("t") == "ROLLBACK_COMPLETE"
    assert present(world) == AS_FOUND
    assert ids(world, stack_id) == orphans.before


def test_what_the_template_does_not_name_is_left_alone() -> None:
    orphans = Orphans()
    orphans.adopt({"d": RESOURCES["d"]})
    orphans.world.settle()
    assert orphans.world.state("t") == "ADOPT_COMPLETE"
    orphans.check_untouched()


def test_metadata_and_data_are_taken_over() -> None:
    orphans = Orphans({"a": value("1", "s")})
    entry = {**orphans.entries["a"], "metadata": {"m": 1}, "resource_data": {"d": 2}}
    told = "properties: {value: '1', size: s}, metadata: {said: true}"
    stack_id = orphans.world.adopt(template({"a": told}), {"a": entry})
    orphans.world.settle()
    (row,) = orphans.world.store.stacks.resources(stack_id)
    assert (row.metadata, row.data) == ({"m": 1}, {"d": 2})


def test_what_has_no_metadata_is_given_the_template_s() -> None:
    orphans = Orphans({"a": value("1", "s")})
    stack_id = orphans.world.adopt(template({"a": "metadata: {said: true}"}), orphans.entries)
    orphans.world.settle()
    (row,) = orphans.world.store.stacks.resources(stack_id)
    assert row.metadata == {"said": True}


def test_everything_that_is_wrong_with_an_adopt_file_is_told_at_once() -> None:
    world = World()
    wanted = template(dict.fromkeys(("web", "db", "cache", "queue", "log", "mail"), ""))
    entries = {
        "wbe": {"resource_id": "1"},
        "db": {"type": "Cloud::Object"},
        "cache": {"type": "Cloud::Other", "resource_id": 7},
        "queue": "gone",
        "log": {"resource_id": "2", "metadata": [], "resource_data": "x"},
        "mail": {"resource_id": "2", "type": "Cloud::Object"},
    }
    with pytest.raises(InvalidInput) as refused:
        world.adopt(wanted, entries)
    told = {problem.path: f"{problem.message} {problem.hint}" for problem in refused.value.problems}
    assert sorted(told) == [
        "resources.cache.resource_id",
        "resources.cache.type",
        "resources.db.resource_id",
        "resources.log.metadata",
        "resources.log.resource_data",
        "resources.mail.resource_id",
        "resources.queue",
        "resources.web",
    ]
    assert "did you mean 'wbe'?" in told["resources.web"]
    assert "'Cloud::Object'" in told["resources.cache.type"]
    assert "'log'" in told["resources.mail.resource_id"]
    assert world.store.stacks.all(project="default") == []


def test_what_another_stack_has_is_not_adopted() -> None:
    world = World()
    world.create(template(RESOURCES))
    world.settle()
    entries = export(world)["resources"]
    with pytest.raises(InvalidInput) as refused:
        world.adopt(template({"a": RESOURCES["a"], "d": RESOURCES["d"]}), entries, name="t")
    assert [problem.path for problem in refused.value.problems] == [
        "resources.a.resource_id",
        "resources.d.resource_id",
    ]
    assert "belongs to the stack 's'" in str(refused.value)
    world.abandon()
    world.settle()
    world.adopt(template(RESOURCES), entries, name="t")
    world.settle()
    assert world.state("t") == "ADOPT_COMPLETE"


def test_object_of_another_project_is_not_adopted_and_its_stack_is_not_named() -> None:
    world = World()
    world.create(template(RESOURCES), name="theirs", project="their-project")
    world.settle()
    rows = world.store.stacks.resources(world.store.stacks.find("theirs", project="their-project").id)
    entries = {row.name: {"resource_id": row.physical_id} for row in rows}
    before = dict(world.cloud.objects)
    with pytest.raises(InvalidInput) as refused:
        world.adopt(template({"a": RESOURCES["a"]}), entries, name="t")
    assert [problem.path for problem in refused.value.problems] == ["resources.a.resource_id"]
    assert "belongs to another stack" in str(refused.value)
    assert "their" not in str(refused.value)
    assert world.store.stacks.all(project="default") == []
    assert world.cloud.objects == before


EXTERNAL = "external_id: {0}"


@pytest.mark.parametrize("has_stack", [False, True])
def test_external_id_of_another_project_is_refused(has_stack: bool) -> None:
    world = World()
    world.create(template({"a": RESOURCES["a"]}), name="theirs", project="their-project")
    world.settle()
    (row,) = world.store.stacks.resources(world.store.stacks.find("theirs", project="their-project").id)
    referring = template({"x": EXTERNAL.format(row.physical_id)})
    if has_stack:
        world.create(template({"d": RESOURCES["d"]}))
        world.settle()
    with pytest.raises(InvalidInput) as refused:
        (world.update if has_stack else world.create)(referring)
    assert [problem.path for problem in refused.value.problems] == ["resources.x.external_id"]
    assert "belongs to another stack" in str(refused.value)
    assert "their" not in str(refused.value)


def test_external_id_of_the_same_project_is_taken_as_it_is() -> None:
    world = World()
    world.create(template({"a": RESOURCES["a"]}))
    world.settle()
    (row,) = world.store.stacks.resources(world.store.stacks.find("s", project="default").id)
    referring = world.create(template({"x": EXTERNAL.format(row.physical_id)}), name="t")
    world.settle()
    assert world.state(referring) == "CREATE_COMPLETE"


def test_reference_to_an_object_keeps_its_owner_in_another_project_from_nothing() -> None:
    orphans = Orphans({"a": RESOURCES["a"]})
    world, physical_id = orphans.world, orphans.before["a"]
    world.create(template({"x": EXTERNAL.format(physical_id)}), name="theirs", project="their-project")
    world.settle()
    assert world.store.stacks.find("theirs", project="their-project").status == "COMPLETE"
    adopting = orphans.adopt({"a": RESOURCES["a"]})
    world.settle()
    assert world.state(adopting) == "ADOPT_COMPLETE"


def test_the_same_adopt_job_twice_is_one() -> None:
    orphans = Orphans()
    first = orphans.adopt(job_id="1")
    assert orphans.adopt(job_id="1") == first


# -- when it goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rollback", [False, True])
def test_what_is_gone_cannot_be_adopted_and_the_others_are_left_alone(*, rollback: bool) -> None:
    orphans = Orphans()
    world = orphans.world
    del world.cloud.objects[orphans.before["b"]]
    stack_id = orphans.adopt(rollback=rollback)
    world.settle()
    assert world.state("t") == ("ROLLBACK_COMPLETE" if rollback else "ADOPT_FAILED")
    assert done(world) == []
    assert set(world.cloud.objects) == set(orphans.before.values()) - {orphans.before["b"]}
    reasons = [event.reason for event in world.store.events.read(stack_id, limit=100)]
    assert any("no object with the id" in reason for reason in reasons)


@pytest.mark.parametrize("name", RESOURCES)
def test_a_failed_adoption_whose_rollback_is_cut_off_leaves_everything_alone(name: str) -> None:
    """Nothing is in service by then: a later rollback must not take what never was ours."""
    orphans = Orphans()
    world = orphans.world
    world.cloud.failing_adoptions = {name: True}
    orphans.adopt(rollback=True)
    while world.state("t") != "ROLLBACK_IN_PROGRESS":
        world.deliver()
    world.cancel("t", rollback=False)
    world.settle()
    assert world.state("t") == "ROLLBACK_FAILED"
    stack = world.store.stacks.find("t", project="default")
    assert not world.store.stacks.in_service(stack)
    with pytest.raises(Conflict, match="never was complete"):
        world.snapshot(name="t")
    world.cloud.failing = {"x": -1}
    world.update(template({**RESOURCES, "x": ""}), "t", rollback=True)
    world.settle()
    assert world.state("t") == "ROLLBACK_COMPLETE"
    orphans.check_untouched()


@pytest.mark.parametrize("name", RESOURCES)
def test_a_failed_adoption_that_is_rolled_back_leaves_everything_alone(name: str) -> None:
    orphans = Orphans()
    orphans.world.cloud.failing_adoptions = {name: True}
    stack_id = orphans.adopt(rollback=True)
    orphans.world.settle()
    assert orphans.world.state("t") == "ROLLBACK_COMPLETE"
    orphans.check_untouched()
    assert orphans.world.store.stacks.resources(stack_id) == []


@pytest.mark.parametrize("name", RESOURCES)
def test_an_update_after_a_failed_adoption_adopts_the_rest(name: str) -> None:
    orphans = Orphans()
    world = orphans.world
    world.cloud.failing_adoptions = {name: True}
    stack_id = orphans.adopt()
    world.settle()
    assert world.state("t") == "ADOPT_FAILED"
    world.update(template(RESOURCES), "t")
    world.settle()
    assert world.state("t") == "UPDATE_COMPLETE"
    orphans.check_untouched()
    assert ids(world, stack_id) == orphans.before


def test_an_update_after_a_failed_adoption_makes_what_is_gone() -> None:
    orphans = Orphans()
    world = orphans.world
    del world.cloud.objects[orphans.before["b"]]
    orphans.adopt()
    world.settle()
    world.update(template(RESOURCES), "t")
    world.settle()
    assert world.state("t") == "UPDATE_COMPLETE"
    assert done(world) == [("make", "b")]
    assert present(world) == AS_FOUND
