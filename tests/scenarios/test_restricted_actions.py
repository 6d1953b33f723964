"""What an environment restricts is refused at that resource, which is not touched, and a dry run says so before."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.engine.update_preview import DryRun
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.comparing import compare
from orchestrator.planning.decision import RESTRICTED
from tests.scenarios.test_nested import FILES
from tests.scenarios.test_nested import root as nested_root
from tests.scenarios.test_updates import Story, created, done, ids, template, value
from tests.scenarios.world import World

BEFORE = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}", "s")}


def restricted(text: str) -> dict[str, Any]:
    """Return the part of a job that restricts actions."""
    source = f"resource_registry: {{resources: {{{text}}}}}"
    return {"environments": (EnvironmentSource(file="e.yaml", source=source),)}


def foreseen(world: World, text: str, **job: Any) -> Mapping[str, tuple[str, str]]:
    """Return what a dry run says of each resource, and why."""
    stack = world.store.stacks.find("s", project="default")
    types = world.checker._types
    compared = compare(
        world.store, stack, StackJob(name="s", template=text, **job), types, world.checker._settings
    )
    plan = DryRun(compared, types, Limits(), world.store.templates.file).plan("")
    return {each.name: (each.action, each.reason) for each in plan.resources}


@pytest.mark.parametrize(
    ("actions", "after", "word"),
    [
        ("[update, replace]", {"a": value("1", "l")}, "update"),
        ("[update, replace]", {"a": value("2", "s")}, "replace"),
        ("update", {"a": value("1", "l")}, "update"),
        ("replace", {"a": value("2", "l")}, "replace"),
        ("update", {"a": value("2", "s")}, ""),
        ("replace", {"a": value("1", "l")}, ""),
        ("[update, replace]", {"c": value("3", "s")}, ""),
        ("[update, replace]", {"b": value("{get_attr: [a, value]}", "l")}, ""),
    ],
)
def test_an_update_fails_at_what_may_not_be_changed_so_and_a_dry_run_says_it_before(
    actions: str, after: Mapping[str, str], word: str
) -> None:
    story = Story(BEFORE)
    world, wanted = story.world, {**BEFORE, **after}
    job = restricted(f"'a*': {{restricted_actions: {actions}}}")
    said = foreseen(world, template(wanted), **job)
    assert (said["a"][0] == "REFUSE") == bool(word)
    refusal = RESTRICTED.format(action=word)
    if not word:
        story.update(wanted, "UPDATE_COMPLETE", **job)
        return
    assert said["a"][1].startswith(refusal)
    assert story.update(wanted, "UPDATE_FAILED", **job) == []
    assert ids(world, story.id) == story.before
    row = world.store.stacks.resource(story.id, "a")
    assert (row.action, row.status, row.replaced_by) == ("CREATE", "COMPLETE", None)
    reason = world.store.stacks.find("s", project="default").reason
    assert reason.startswith(f"Resource UPDATE failed: resources.a: {refusal}")
    # Without the restriction it goes on.
    assert story.update(wanted)


def test_what_a_requirement_turns_out_to_change_is_refused_when_it_is_known() -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, measure]}")})
    after = {"a": value("1", "l"), "b": value("{get_attr: [a, measure]}")}
    job = restricted("b: {restricted_actions: replace}")
    action, reason = foreseen(story.world, template(after), **job)["b"]
    assert action != "REFUSE"
    assert f"may be refused, because {RESTRICTED.format(action='replace')}" in reason
    assert story.update(after, "UPDATE_FAILED", **job) == [("change", "a")]
    assert ids(story.world, story.id) == story.before


def test_a_rollback_takes_back_what_was_changed_before_the_refusal() -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, measure]}")})
    after = {"a": value("1", "l"), "b": value("{get_attr: [a, measure]}")}
    job = restricted("b: {restricted_actions: [update, replace]}")
    assert story.update(after, "ROLLBACK_COMPLETE", rollback=True, **job) == [
        ("change", "a"),
        ("change", "a"),
    ]
    assert ids(story.world, story.id) == story.before


def test_another_type_is_a_replacement_however_often_it_is_tried() -> None:
    story = Story(BEFORE)
    world = story.world
    types: Any = world.checker._types
    types["Cloud::Other"] = type("Other", (types["Cloud::Object"],), {})
    text = template(BEFORE).replace("a: {type: Cloud::Object", "a: {type: Cloud::Other")
    job = restricted("a: {restricted_actions: replace}")
    for _ in range(2):
        assert foreseen(world, text, **job)["a"] == ("REFUSE", RESTRICTED.format(action="replace"))
        world.update(text, **job)
        world.settle()
        assert world.state() == "UPDATE_FAILED"
        assert done(world) == []
    assert story.update(BEFORE) == []
    assert ids(world, story.id) == story.before
    world.update(text)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_what_was_called_unhealthy_may_not_be_replaced_either() -> None:
    story = Story(BEFORE)
    world = story.world
    gone = next(each for each in world.cloud.objects if each.startswith("a"))
    del world.cloud.objects[gone]
    job = restricted("'*': {restricted_actions: [update, replace]}")
    assert story.update(BEFORE, "UPDATE_FAILED", refresh=True, **job) == []


def test_a_removal_and_a_deletion_are_not_restricted() -> None:
    job = restricted("'*': {restricted_actions: [update, replace]}")
    story = Story(BEFORE, **job)
    assert story.update({"a": BEFORE["a"]}, **job) == [("unmake", "b")]
    story.world.delete()
    story.world.settle()
    assert story.world.cloud.objects == {}


@pytest.mark.parametrize(
    ("text", "size", "state"),
    [
        ("pair: {server: {restricted_actions: update}}", "large", "UPDATE_FAILED"),
        ("pair: {'*': {restricted_actions: [update, replace]}}", "large", "UPDATE_FAILED"),
        ("pair: {restricted_actions: update}", "large", "UPDATE_FAILED"),
        ("pair: {disk: {restricted_actions: update}}", "large", "UPDATE_COMPLETE"),
        ("pair: {restricted_actions: update}", "small", "UPDATE_COMPLETE"),
        ("server: {restricted_actions: update}", "large", "UPDATE_COMPLETE"),
    ],
)
def test_stacks_in_stacks_are_restricted_by_their_names_too(text: str, size: str, state: str) -> None:
    world, stack_id = created(nested_root(), files=FILES)
    before = ids(world, stack_id)
    world.update(nested_root(size=size), files=FILES, **restricted(text))
    world.settle()
    assert world.state() == state
    if state == "UPDATE_FAILED":
        assert done(world) == []
        assert "(restricted_actions)" in world.store.stacks.find("s", project="default").reason
    assert ids(world, stack_id) == before


def test_another_template_of_a_restricted_stack_in_a_stack_is_refused() -> None:
    world, _ = created(nested_root(), files=FILES)
    files = {name: text.replace("up]", "down]") for name, text in FILES.items()}
    job = restricted("pair: {restricted_actions: update}")
    assert foreseen(world, nested_root(), files=files, **job)["pair"][0] == "REFUSE"
    world.update(nested_root(), files=files, **job)
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert done(world) == []
