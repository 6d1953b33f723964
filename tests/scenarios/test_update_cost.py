"""An update costs what changed: messages, nodes, and what is read of the past."""

from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.codec import Codec, Place
from orchestrator.store import tables
from tests.scenarios.test_updates import Story, done, template, value
from tests.scenarios.world import World


def delivered(world: World) -> list[tuple[str, str]]:
    """Deliver all messages; return phase and resource of each."""
    seen = []
    while world.messages:
        seen.append((world.messages[0].phase, world.messages[0].key))
        world.deliver()
    return seen


def nodes_of_latest(world: World) -> Counter[str]:
    """Count the nodes of the stack's present traversal by phase."""
    stack = world.store.stacks.find("s", project="default")
    sql = sa.select(tables.node.c.phase).where(tables.in_traversal(stack.traversal_id))
    with world.store.database.read() as connection:
        return Counter(connection.execute(sql).scalars())


def test_one_change_in_a_thousand_costs_two_messages_and_three_nodes() -> None:
    many = {f"r{number:03}": value(str(number), "s") for number in range(998)}
    many |= {"before": value("1"), "last": f"depends_on: [{', '.join(many)}]"}
    world = Story(many).world
    world.update(template({**many, "before": value("1", "l")}))
    assert nodes_of_latest(world) == {"converge": 1, "cleanup": 1, "end": 1}
    assert delivered(world) == [("converge", "before"), ("end", "")]
    assert world.state() == "UPDATE_COMPLETE"


def test_ten_dependents_whose_inputs_stay_the_same_cost_no_message() -> None:
    resources = {"a": value("1", "s"), **{f"d{each}": value("{get_attr: [a, value]}") for each in range(10)}}
    world = Story(resources).world
    world.update(template({**resources, "a": value("1", "l")}))
    assert delivered(world) == [("converge", "a"), ("end", "")]
    assert world.state() == "UPDATE_COMPLETE"
    assert done(world) == [("change", "a")]


def test_what_a_cleanup_is_told_is_asked_of_what_is_cleaned_up_alone() -> None:
    resources = {name: value(name, "s") for name in "abcdef"}
    world = Story(resources).world
    world.update(template({**resources, "a": value("a", "l")}))
    stack = world.store.stacks.find("s", project="default")
    planned = world.store.histories.read(stack.id, stack.traversal_id).planned
    with world.store.database.read() as connection:
        traversals = dict(
            connection.execute(sa.select(tables.resource.c.name, tables.resource.c.planned_traversal)).all()
        )
    assert len(planned) == len(resources)
    assert {name for name, traversal in traversals.items() if traversal == stack.traversal_id} == {"a"}


def test_an_update_reads_as_much_after_many_others_as_after_none(monkeypatch: pytest.MonkeyPatch) -> None:
    resources = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"}
    story = Story(resources)
    read: list[int] = []
    unpack = Codec.unpack

    def counted(codec: Codec, data: bytes, place: Place) -> Any:
        read[-1] += 1
        return unpack(codec, data, place)

    monkeypatch.setattr(Codec, "unpack", counted)
    for size in range(30):
        read.append(0)
        story.update({**resources, "a": value("1", f"l{size}")})
    assert len(set(read)) == 1


def test_a_policy_that_was_taken_back_before_anybody_came_to_it_does_not_count() -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}")})
    kept = {"a": value("2"), "b": f"{value('{get_attr: [a, value]}')}, deletion_policy: Retain"}
    story.world.update(template(kept))
    story.update({"a": value("1"), "b": value("{get_attr: [a, value]}")})
    story.world.delete()
    story.world.settle()
    assert story.world.cloud.objects == {}


def test_a_policy_that_was_given_counts_although_the_update_failed_before_it_came_to_it() -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}")})
    story.world.cloud.failing_updates = {"a": True}
    kept = {"a": value("1", "l"), "b": f"{value('{get_attr: [a, value]}')}, deletion_policy: Retain"}
    story.update(kept, "UPDATE_FAILED")
    story.world.delete()
    story.world.settle()
    assert [name for _, name in done(story.world)] == ["a"]
    assert len(story.world.cloud.objects) == 1


def test_what_is_replaced_goes_by_the_policy_that_it_had() -> None:
    story = Story({"a": f"{value('1')}, deletion_policy: Retain"})
    assert story.update({"a": value("2")}) == [("make", "a")]
    story.world.delete()
    story.world.settle()
    assert [value for _, value in story.world.cloud.objects.values()] == ["1"]
