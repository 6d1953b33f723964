"""What is built once: each that asks has a world of its own, and all is in it that was in the first."""

from tests.scenarios.built_once import built_once
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World

built: list[str] = []


@built_once
def begun(size: str) -> Story:
    """Return a stack that has one message to go, one stalled worker, and a past."""
    built.append(size)
    story = Story({"a": value("1", "s")})
    story.world.cloud.polls = {"b": 3}
    story.world.update(template({"a": value("1", size), "b": value("2")}))
    story.world.stall(0)
    story.world.now += 5
    return story


def shown(story: Story) -> object:
    """Return all that can be seen of a world."""
    world = story.world
    rows = world.store.stacks.resources(story.id)
    return (
        (world.now, world.messages, [claim.attempt for claim, _ in world.stalled], world.cloud.polls),
        (
            world.cloud.log,
            present(world),
            [(row.name, row.action, row.status, row.physical_id) for row in rows],
        ),
        [(event.action, event.status) for event in world.store.events.read(story.id, limit=100)],
    )


def test_it_is_built_twice_at_most_and_every_copy_is_like_it() -> None:
    built.clear()
    first, *others = [begun("l") for _ in range(4)]
    assert built == ["l", "l"]
    assert shown(others[0]) == shown(others[1]) == shown(others[2])
    # The first has ids of its own.
    assert [len(each) for each in shown(first)] == [len(each) for each in shown(others[0])]  # type: ignore[attr-defined]
    assert len({id(each.world) for each in (first, *others)}) == 4
    assert len({id(each.world.cloud) for each in (first, *others)}) == 4


def test_what_is_done_in_one_is_not_seen_in_another_and_all_go_on_alike() -> None:
    ended = []
    for _ in range(4):
        story = begun("m")
        assert story.world.state() == "UPDATE_IN_PROGRESS"
        story.world.settle()
        assert story.world.state() == "UPDATE_COMPLETE"
        assert ids(story.world, story.id)["a"] == story.before["a"]
        ended.append((present(story.world), sorted(done(story.world))))
    assert ended == [({"a": ("1", "m"), "b": ("2", "")}, [("change", "a"), ("make", "b")])] * 4


def test_what_is_built_with_other_arguments_is_something_else() -> None:
    built.clear()
    for size in ("x", "y", "x", "y"):
        assert begun(size).world.state() == "UPDATE_IN_PROGRESS"
    assert built == ["x", "y", "x", "y"]


def test_a_place_is_empty_when_a_world_has_left() -> None:
    world = Story({"a": value("1")}).world
    place = world._place
    world.close()
    assert World.open == []
    again = World()
    assert again._place is place
    assert again.store.stacks.all(project="default") == []
    again.create(template({"a": ""}))
    (stack,) = again.store.stacks.all(project="default")
    assert [event.id for event in again.store.events.read(stack.id, limit=1)] == [1]
