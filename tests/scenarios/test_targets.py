"""Updates of single resources: nothing else is touched, and the stack says what is left until it is whole."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.lifecycle import LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.engine.protection_marks import protect
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.drift import Standing
from orchestrator.model.messages import CancelJob, ImportJob, StackJob
from orchestrator.planning.decision import NOT_REPLACED
from orchestrator.queries.outputs import outputs_of
from orchestrator.store.stacks.stacks import StackRow
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_drift import drift, run, set_policy
from tests.scenarios.test_imports import put
from tests.scenarios.test_moves import moved
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World

#: b is made of a, c stands alone, d comes after b.
BEFORE = {
    "a": value("1", "s"),
    "b": value("{get_attr: [a, value]}", "s"),
    "c": value("3", "s"),
    "d": f"{value('4', 's')}, depends_on: b",
}
#: Each of them changes in place, and there is another that comes after c.
AFTER = {
    **{name: body.replace("'s'", "'l'") for name, body in BEFORE.items()},
    "e": f"{value('5', 'l')}, depends_on: c",
}
#: One is replaced, and with it what is made of it.
OTHER_A = {**BEFORE, "a": value("2", "s")}


def row_of(world: World) -> StackRow:
    return world.store.stacks.find("s", project="default")


def partial(world: World) -> set[str]:
    return set(row_of(world).partial)


def refused(story: Story, resources: Mapping[str, str], **job: Any) -> dict[str, str]:
    """Return the problems for which an update is refused, by path, after which nothing has changed."""
    before = row_of(story.world)
    with pytest.raises(InvalidInput) as caught:
        story.world.update(template(resources), **job)
    assert row_of(story.world) == before
    return {each.path: f"{each.message}; {each.hint}" for each in caught.value.problems}


def whole(story: Story, resources: Mapping[str, str], log: list[tuple[str, str]]) -> None:
    """Check that the next update without targets does the rest, which is ``log``."""
    assert story.update(resources) == log
    assert partial(story.world) == set()
    assert row_of(story.world).completed_template_id == row_of(story.world).template_id
    assert story.update(resources) == []


def test_a_target_and_what_it_requires_are_changed_and_nothing_else() -> None:
    story = Story(BEFORE)
    assert story.update(AFTER, targets=("b",)) == [("change", "a"), ("change", "b")]
    assert present(story.world) == {"a": ("1", "l"), "b": ("1", "l"), "c": ("3", "s"), "d": ("4", "s")}
    assert partial(story.world) == {"c", "d", "e"}
    whole(story, AFTER, [("change", "c"), ("make", "e"), ("change", "d")])
    assert story.before.items() <= ids(story.world, story.id).items()


def test_a_new_target_is_made_with_what_it_requires() -> None:
    story = Story(BEFORE)
    assert story.update(AFTER, targets=("e", "e")) == [("change", "c"), ("make", "e")]
    assert partial(story.world) == {"a", "b", "d"}


def test_a_target_makes_the_stack_whole_where_nothing_else_is_left() -> None:
    story = Story(BEFORE)
    after = {**BEFORE, "c": value("3", "l")}
    assert story.update(after, targets=("c",)) == [("change", "c")]
    assert partial(story.world) == set()
    assert row_of(story.world).completed_template_id == row_of(story.world).template_id


def test_one_target_after_the_other_makes_the_stack_whole() -> None:
    story = Story(BEFORE)
    story.update(AFTER, targets=("b",))
    assert story.update(AFTER, targets=("d",)) == [("change", "d")]
    assert partial(story.world) == {"c", "e"}
    assert story.update(AFTER, targets=("e",)) == [("change", "c"), ("make", "e")]
    assert partial(story.world) == set()
    assert story.update(AFTER) == []


def test_what_is_removed_stays_unless_it_is_a_target() -> None:
    story = Story(BEFORE)
    after = {"a": value("1", "l")}
    assert story.update(after, targets=("a",)) == [("change", "a")]
    assert partial(story.world) == {"b", "c", "d"}
    assert story.update(after, targets=("c",)) == [("unmake", "c")]
    assert partial(story.world) == {"b", "d"}
    whole(story, after, [("unmake", "d"), ("unmake", "b")])


def test_what_is_removed_is_refused_as_a_target_where_others_require_it() -> None:
    story = Story(BEFORE)
    found = refused(story, {"a": BEFORE["a"], "c": BEFORE["c"]}, targets=("b",))
    assert set(found) == {"targets.b"}
    assert found["targets.b"].startswith(
        "it would be removed, and 'd' still requires it; name as targets all"
    )
    assert story.update({"a": BEFORE["a"], "c": BEFORE["c"]}, targets=("b", "d")) == [
        ("unmake", "d"),
        ("unmake", "b"),
    ]
    assert partial(story.world) == set()


def test_what_a_target_replaces_stays_as_long_as_others_use_it() -> None:
    story = Story(BEFORE)
    assert story.update(OTHER_A, targets=("a",)) == [("make", "a")]
    assert partial(story.world) == {"b", "d"}
    assert str(story.before["a"]) in story.world.cloud.objects
    # What uses it is made anew first.
    whole(story, OTHER_A, [("make", "b"), ("unmake", "b"), ("unmake", "a")])


def test_what_a_target_replaces_goes_where_nothing_else_uses_it() -> None:
    story = Story(BEFORE)
    assert story.update({**BEFORE, "c": value("9", "s")}, targets=("c",)) == [("make", "c"), ("unmake", "c")]
    assert partial(story.world) == set()


# -- replacements ------------------------------------------------------------------------------------------------------


def test_what_is_to_be_replaced_gets_another_object_and_what_depends_on_it_follows() -> None:
    story = Story(BEFORE)
    assert story.update(BEFORE, replaces=("c",)) == [("make", "c"), ("unmake", "c")]
    assert story.update(BEFORE, replaces=("a",)) == [("make", "a"), ("unmake", "a")]
    now = ids(story.world, story.id)
    assert {name for name in now if now[name] != story.before[name]} == {"a", "c"}
    rows = {row.name: row for row in story.world.store.stacks.resources(story.id)}
    assert rows["b"].requires == (rows["a"].id,)
    # Once is enough.
    assert story.update(BEFORE) == []


def test_a_target_may_be_replaced() -> None:
    story = Story(BEFORE)
    assert story.update(AFTER, targets=("b",), replaces=("b",)) == [("change", "a"), ("make", "b")]
    # d still comes after the one before it.
    assert str(story.before["b"]) in story.world.cloud.objects
    assert partial(story.world) == {"c", "d", "e"}
    story.update(AFTER)
    assert set(story.world.cloud.objects) == set(ids(story.world, story.id).values())


def test_what_a_failed_update_was_to_replace_is_taken_back() -> None:
    story = Story(BEFORE)
    story.world.cloud.failing = {"a": -1}
    story.update(BEFORE, state="ROLLBACK_COMPLETE", replaces=("a",), rollback=True)
    assert ids(story.world, story.id) == story.before
    assert set(story.world.cloud.objects) == set(story.before.values())


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_all_names_that_do_not_fit_are_refused_together() -> None:
    story, mine = Story(BEFORE), {**BEFORE, "mine": "external_id: x-9"}
    put(story.world, "x-9", "1", "s")
    story.update(mine)
    resources = {**mine, "bigger": value("1")}
    protect(story.world.store, row_of(story.world), ("b",))
    job = {"targets": ("biger", "a", "b/x"), "replaces": ("bigger", "zz")}
    assert refused(story, resources, **job) == {
        "targets.biger": "the definition has no such resource; did you mean 'bigger'?",
        "targets.b/x": "the definition has no such resource; what is in a nested stack cannot be named: "
        "name the resource that the nested stack is",
        "replaces.zz": "the definition has no such resource; there are: a, b, bigger, c, d, mine",
        "replaces.bigger": "it is none of the targets, nor required by one; name it as a target as well",
    }
    assert refused(story, resources, replaces=("bigger", "b", "mine")) == {
        "replaces.bigger": "there is nothing yet that could be replaced; the update makes it: leave it out",
        "replaces.b": f"{NOT_REPLACED}; ",
        "replaces.mine": "it stands for something that is not ours: no update can replace it; ",
    }
    story.world.update(template(resources), replaces=("b",), unprotect=True)
    story.world.settle()
    assert sorted(done(story.world)) == [("make", "b"), ("make", "bigger"), ("unmake", "b")]


def test_what_the_environment_restricts_is_not_replaced() -> None:
    story = Story(BEFORE)
    environment = "resource_registry: {resources: {a: {restricted_actions: replace}}}"
    job = StackJob(name="s", template=template(BEFORE), replaces=("a",)).to_wire()
    job["environments"] = [{"file": "e", "source": environment}]
    with pytest.raises(InvalidInput, match=r"replaces\.a: the environment restricts replace"):
        story.world.coordinator.update(StackJob.from_wire(job))


@pytest.mark.parametrize("named", [{"targets": ("a",)}, {"replaces": ("a",)}])
def test_an_update_that_names_resources_never_supersedes_another(named: Mapping[str, Any]) -> None:
    story = Story(BEFORE)
    story.world.update(template(AFTER))
    with pytest.raises(Conflict, match="UPDATE_IN_PROGRESS: wait until that is over, or cancel it"):
        story.world.update(template(AFTER), **named)
    story.world.settle()
    assert len(done(story.world)) == 5


def test_a_resource_that_is_under_way_is_not_left_so() -> None:
    story = Story(BEFORE)
    story.world.cloud.polls = {"c": 30}
    story.world.cloud.failing_updates = {"a": True}
    story.world.update(template(AFTER))
    story.world.deliver([each.key for each in story.world.messages].index("c"))
    while story.world.state() != "UPDATE_FAILED":
        story.world.deliver()
    assert refused(story, AFTER, targets=("b",))["resources.c"].startswith("it is UPDATE_IN_PROGRESS, and no")
    story.world.settle()
    story.update(AFTER, targets=("b",))
    assert partial(story.world) == {"d", "e"}


@pytest.mark.parametrize("named", [{"targets": ("a",)}, {"replaces": ("a",)}])
def test_only_an_update_takes_names(named: Mapping[str, Any]) -> None:
    world = World()
    with pytest.raises(InvalidInput, match="a create is of a whole stack"):
        world.create(template(BEFORE), **named)
    with pytest.raises(InvalidInput, match="an adoption is of a whole stack"):
        world.adopt(template(BEFORE), {}, **named)
    with pytest.raises(InvalidInput, match="an import is of a whole stack"):
        world.take_in(template(BEFORE), {}, **named)


# -- what follows ------------------------------------------------------------------------------------------------------


def test_a_failed_update_with_targets_leaves_the_rest_alone_and_is_repeated() -> None:
    story = Story(BEFORE)
    story.world.cloud.failing_updates = {"a": True}
    assert story.update(AFTER, state="UPDATE_FAILED", targets=("b",)) == []
    assert partial(story.world) == {"a", "b", "c", "d", "e"}
    story.update(AFTER, targets=("b",))
    assert partial(story.world) == {"c", "d", "e"}


def test_a_failed_update_with_targets_is_rolled_back_to_the_last_whole_definition() -> None:
    story = Story(BEFORE)
    story.world.cloud.failing = {"f": -1}
    after = {**AFTER, "f": f"{value('6')}, depends_on: b"}
    log = story.update(after, state="ROLLBACK_COMPLETE", targets=("f",), rollback=True)
    assert log == [("change", "a"), ("change", "b"), ("change", "a"), ("change", "b")]
    assert present(story.world) == {"a": ("1", "s"), "b": ("1", "s"), "c": ("3", "s"), "d": ("4", "s")}
    assert partial(story.world) == set()
    assert ids(story.world, story.id) == story.before


def test_a_rollback_of_a_later_update_takes_back_what_targets_changed() -> None:
    story = Story(BEFORE)
    story.update(OTHER_A, targets=("a",))
    story.world.cloud.failing = {"f": -1}
    story.update({**OTHER_A, "f": "depends_on: d"}, state="ROLLBACK_COMPLETE", rollback=True)
    assert ids(story.world, story.id) == story.before
    assert set(story.world.cloud.objects) == set(story.before.values())
    assert partial(story.world) == set()


def test_an_update_supersedes_one_with_targets_at_every_message() -> None:
    steps = 0
    while True:
        story = Story(BEFORE)
        story.world.update(template(OTHER_A), targets=("a",))
        for _ in range(steps):
            if story.world.messages:
                story.world.deliver()
        is_over = story.world.state() == "UPDATE_COMPLETE"
        story.update(AFTER)
        expected = {name: ("5" if name == "e" else text, "l") for name, (text, _) in _as_made().items()}
        assert present(story.world) == expected
        assert partial(story.world) == set()
        story.world.close()
        if is_over:
            return
        steps += 1


def _as_made() -> dict[str, tuple[str, str]]:
    return {"a": ("1", "s"), "b": ("1", "s"), "c": ("3", "s"), "d": ("4", "s"), "e": ("5", "s")}


def test_a_check_finds_no_fault_with_what_was_left_and_a_snapshot_needs_the_whole() -> None:
    story = Story(BEFORE)
    story.update(AFTER, targets=("a",))
    with pytest.raises(
        Conflict, match="was converged in part, without b, c, d, e: a snapshot needs the whole"
    ):
        story.world.snapshot()
    job = ImportJob(name="s", template=template(AFTER), resources={"e": {"resource_id": "e-9"}})
    with pytest.raises(Conflict, match="an import needs the whole stack"):
        story.world.coordinator.import_objects(job)
    for order, state in (
        (story.world.check, "CHECK"),
        (story.world.suspend, "SUSPEND"),
        (story.world.resume, "RESUME"),
    ):
        order()
        story.world.settle()
        assert story.world.state() == f"{state}_COMPLETE"
        assert partial(story.world) == {"b", "c", "d", "e"}
    done(story.world)
    story.world.delete()
    story.world.settle()
    assert {name for _, name in done(story.world)} == {"a", "b", "c", "d"}
    assert story.world.cloud.objects == {}


def test_a_cancelled_update_with_targets_says_what_is_left() -> None:
    story = Story(BEFORE)
    story.world.update(template(AFTER), targets=("b",))
    story.world.coordinator.cancel(CancelJob(name="s", rollback=False))
    story.world.settle()
    assert story.world.state() == "UPDATE_FAILED"
    assert partial(story.world) == {"a", "b", "c", "d", "e"}
    story.update(AFTER)
    assert partial(story.world) == set()


def test_outputs_of_what_is_not_made_yet_wait_for_it() -> None:
    world, outputs = (
        World(),
        "outputs: {e: {value: {get_attr: [e, value]}}, a: {value: {get_attr: [a, value]}}}",
    )
    world.create(template(BEFORE))
    world.settle()
    world.update(template(AFTER, outputs), targets=("a",))
    world.settle()
    stack = row_of(world)
    from orchestrator.planning.stored_templates import load_template

    settings, context = world.coordinator._settings, world.store.traversals.context(stack.traversal_id)
    found = load_template(world.store, stack.template_id, context, settings)
    views = {each.key: each for each in outputs_of(world.store, stack, found, context, settings)}
    assert (views["e"].value, views["e"].error) == (None, "waits for e")
    assert views["a"].value == "1"


def test_refresh_is_of_the_targets_alone() -> None:
    story = Story(BEFORE)
    story.world.cloud.sizes[str(story.before["a"])] = "x"
    story.world.cloud.sizes[str(story.before["c"])] = "x"
    assert story.update(BEFORE, targets=("a",), refresh=True) == [("change", "a")]
    # What depends on it may have changed with it; the others were not looked at.
    assert partial(story.world) == {"b", "d"}


def test_drift_in_a_stack_that_was_updated_in_part_is_recorded_and_not_repaired() -> None:
    story = Story(BEFORE)
    story.update(AFTER, targets=("a",))
    set_policy(story.world, mode="repair")
    story.world.cloud.sizes[str(story.before["a"])] = "x"
    run(story.world)
    (row,) = drift(story.world)
    assert (row.path, row.standing) == ("a", Standing.POSTPONED)
    assert row.why == "the stack was converged in part: update it without targets first"
    assert done(story.world) == []
    story.update(AFTER)
    run(story.world, observations=2)
    assert done(story.world) == [("change", "a")]
    assert drift(story.world) == []


def test_lifecycle_plugins_see_the_stack_that_comes_of_it() -> None:
    story, plugin = Story(BEFORE), Watching()
    story.world.plug(plugin)
    story.world.update(template({**AFTER, "b": value("9", "l")}), targets=("d",))
    (stack,) = plugin.seen
    sizes = {name: each.properties.get("size") for name, each in stack.resources.items()}
    # d does not require a any more.
    assert sizes == {"a": "s", "b": "l", "c": "s", "d": "l"}


class Watching(LifecyclePlugin):
    """Keeps the stacks that it is shown."""

    name = "watching"

    def __init__(self) -> None:
        super().__init__(None)
        self.seen: list[FrozenStack] = []

    def do_pre_op(self, context: object, stack: FrozenStack, *_: object) -> None:
        self.seen.append(stack)


# -- moves -------------------------------------------------------------------------------------------------------------

MOVED = {**BEFORE, "x": BEFORE["a"], "b": value("{get_attr: [x, value]}", "l")}
del MOVED["a"]


def test_a_target_is_moved_and_what_is_none_is_not() -> None:
    story, environments = Story(BEFORE), moved(("a", "x"))
    found = refused(story, MOVED, targets=("c",), environments=environments)
    assert found == {
        "moved.x": "the environment moves 'a' there, and it is no target; "
        "name it as a target, or update the whole stack"
    }
    assert story.update(MOVED, targets=("b",), environments=environments) == [("change", "b")]
    assert ids(story.world, story.id)["x"] == story.before["a"]
    assert partial(story.world) == {"d"}
    story.world.cloud.failing = {"f": -1}
    after = {**MOVED, "f": value("1")}
    story.update(after, state="ROLLBACK_COMPLETE", environments=environments, rollback=True)
    assert ids(story.world, story.id) == story.before


def test_a_stack_that_was_updated_in_part_is_moved() -> None:
    story = Story(BEFORE)
    story.update(AFTER, targets=("c",))
    log = story.update(MOVED, environments=moved(("a", "x")))
    assert ids(story.world, story.id)["x"] == story.before["a"]
    assert sorted(log) == [("change", "b"), ("change", "c")]
    assert partial(story.world) == set()


# -- deaths ------------------------------------------------------------------------------------------------------------


@die_everywhere
def test_an_update_with_targets_survives_a_death_at_any_instruction(instruction: int) -> None:
    story = Story(BEFORE)
    world = story.world
    job: Any = {"targets": ("b",), "replaces": ("a",), "job_id": "1"}
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.update(template(AFTER), **job)):
        world.update(template(AFTER), **job)
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state() == "UPDATE_COMPLETE"
    assert {name for _, name in done(world)} == {"a", "b"}
    now = ids(world, story.id)
    assert now["a"] != story.before["a"]
    assert now.items() >= {name: each for name, each in story.before.items() if name != "a"}.items()
    # The object that was replaced stays until d is updated, which requires what requires it.
    assert set(world.cloud.objects) == {*now.values(), story.before["a"]}
    assert partial(world) == {"c", "d", "e"}
    story.update(AFTER)
    assert set(world.cloud.objects) == set(ids(world, story.id).values())
    assert partial(world) == set()
