"""Stories, each a script of commands and deliveries, compared with the cloud at its end."""

import pytest

from orchestrator.errors import Conflict, InvalidInput
from tests.scenarios.world import World, template_of


def test_the_worker_that_stood_still_changes_nothing_when_another_has_taken_over() -> None:
    world = World()
    stack_id = world.create(template_of({"a": [], "b": ["a"]}))
    world.stall(0)
    world.sweep(after=61)
    world.stall(0)
    world.wake_stalled()
    assert world.store.stacks.resource(stack_id, "a").status == "IN_PROGRESS"
    assert world.messages == []
    world.wake_stalled()
    assert world.store.stacks.resource(stack_id, "a").status == "COMPLETE"
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["a", "b"]


def test_an_emptied_broker_delays_and_harms_nothing() -> None:
    world = World()
    world.create(template_of({"a": [], "b": [], "c": ["a", "b"]}))
    world.messages.clear()
    world.sweep(after=11)
    world.deliver()
    world.messages.clear()
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert sorted(world.made_names()) == ["a", "b", "c"]


def test_a_third_resource_that_fails_leaves_the_others_and_a_delete_takes_all() -> None:
    world = World()
    world.cloud.failing = {"c": -1}
    stack_id = world.create(template_of({"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}))
    world.settle()
    rows = {row.name: f"{row.action}_{row.status}" for row in world.store.stacks.resources(stack_id)}
    assert rows == {
        "a": "CREATE_COMPLETE",
        "b": "CREATE_COMPLETE",
        "c": "CREATE_FAILED",
        "d": "INIT_COMPLETE",
    }
    assert world.store.stacks.resource(stack_id, "c").reason == "no luck"
    world.delete()
    world.settle()
    assert world.unmade_names() == ["b", "a"]
    assert world.cloud.objects == {}
    assert world.state(stack_id) == "DELETE_COMPLETE"


def test_retries_end_and_the_reason_is_the_last_one() -> None:
    world = World(action_retry_limit=3)
    world.cloud.failing = {"a": 1000}
    stack_id = world.create(template_of({"a": []}))
    world.settle()
    assert world.cloud.failing["a"] == 1000 - 4
    assert world.store.stacks.resource(stack_id, "a").reason == "busy (after 3 retries)"


def test_a_stack_that_waits_for_ever_fails_at_its_deadline() -> None:
    world = World()
    world.cloud.polls = {"a": 10**9}
    stack_id = world.create(template_of({"a": [], "b": ["a"]}), timeout_minutes=5)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "timed out after 5 minutes" in world.store.stacks.resource(stack_id, "a").reason
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


def test_nobody_sleeps_in_a_worker_while_many_resources_are_built() -> None:
    world = World()
    names = [f"r{number}" for number in range(60)]
    world.cloud.polls = dict.fromkeys(names, 60)
    world.create(template_of(dict.fromkeys(names, ())))
    for _ in names:
        world.deliver()
    assert len(world.made_names()) == len(names)
    assert world.messages == []
    world.settle()
    assert world.state() == "CREATE_COMPLETE"


def test_deleting_twice_at_once_is_harmless() -> None:
    world = World()
    stack_id = world.create(template_of({"a": [], "b": ["a"]}))
    world.settle()
    assert world.delete() == world.delete() == stack_id
    world.settle()
    assert world.unmade_names() == ["b", "a"]


def test_an_empty_stack_is_complete_at_once() -> None:
    world = World()
    world.create(template_of({}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"


def test_the_same_job_twice_is_one_stack() -> None:
    world = World()
    template = template_of({"a": []})
    assert world.create(template, job_id="j") == world.create(template, job_id="j")
    world.settle()
    assert world.made_names() == ["a"]


def test_a_second_stack_of_a_name_is_refused_and_leaves_nothing() -> None:
    world = World()
    world.create(template_of({"a": []}))
    with pytest.raises(Conflict):
        world.create(template_of({"b": []}))
    world.settle()
    assert world.made_names() == ["a"]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (template_of({"a": ["b"], "b": ["c"], "c": ["a"]}), "require each other in a circle: "),
        (template_of({"a": ["nowhere"]}), "nowhere"),
        (
            "heat_template_version: 2021-04-16\nresources: {a: {type: Cloud::Objekt}}\n",
            "did you mean 'Cloud::Object'",
        ),
        (
            "heat_template_version: 2021-04-16\nresources:\n  a:\n    type: Cloud::Object\n    properties: {valu: x}\n",
            "valu",
        ),
    ],
)
def test_a_bad_template_is_refused_with_its_position_and_nothing_is_stored(template: str, said: str) -> None:
    world = World()
    with pytest.raises(InvalidInput) as refused:
        world.create(template)
    assert said in str(refused.value)
    assert all(problem.position is not None for problem in refused.value.problems)
    assert world.store.stacks.all(project="default") == []
    assert world.store.sweeper.next_due() is None
