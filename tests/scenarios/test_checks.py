"""Checks of whole stacks, and updates that refresh: what they find, change, and leave alone."""

from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_operations import BECOME, CHAIN, CHANGED, reason, states, tamper, vanish
from tests.scenarios.test_updates import Story, created, done, ids, present, template, value
from tests.scenarios.world import World

# -- check -----------------------------------------------------------------------------------------------------


def test_a_check_of_what_is_in_order_changes_nothing() -> None:
    story = Story(CHAIN)
    before = story.world.store.stacks.resources(story.id)
    story.world.check()
    story.world.settle()
    assert story.world.state() == "CHECK_COMPLETE"
    assert set(states(story.world, story.id).values()) == {"CHECK_COMPLETE"}
    for was, now in zip(before, story.world.store.stacks.resources(story.id), strict=True):
        assert (now.reference_id, now.attributes, now.requires) == (
            was.reference_id,
            was.attributes,
            was.requires,
        )
        assert (now.properties, now.definition_hash) == (was.properties, was.definition_hash)
    # Nor does it make the next update cost anything.
    story.world.update(template(CHAIN))
    assert [order.phase for order in story.world.messages] == ["end"]


def test_a_check_finds_all_that_is_wrong_and_the_next_update_repairs_it() -> None:
    story = Story(CHAIN)
    world = story.world
    vanish(world, "c")
    tamper(world, "a", size="x")
    tamper(world, "d", value="y")
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    assert reason(world) == (
        "resources.a: changed by others: size: recorded 's', observed 'x'; "
        "resources.c: it is not there any more; "
        "resources.d: changed by others: value: recorded '4', observed 'y'"
    )
    found = {"a": "CHECK_FAILED", "b": "CHECK_COMPLETE", "c": "CHECK_FAILED", "d": "CHECK_FAILED"}
    assert states(world, story.id) == found
    assert done(world) == []
    changes = story.update(CHAIN)
    assert sorted(changes) == [("change", "a"), ("make", "c"), ("make", "d"), ("unmake", "d")]
    assert present(world) == {"a": ("1", "s"), "b": ("1", ""), "c": ("", ""), "d": ("4", "")}
    assert {name: ids(world, story.id)[name] for name in "ab"} == {name: story.before[name] for name in "ab"}
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE"


def test_a_refresh_tells_what_others_changed_however_long_it_takes_to_change_it_back() -> None:
    story = Story({"a": value("1", "s"), "b": value("2", "s")})
    world = story.world
    tamper(world, "a", size="x")
    tamper(world, "b", value="y")
    world.cloud.polls = {"a": 3}
    story.update({"a": value("1", "s"), "b": value("2", "s")}, refresh=True)
    events = world.store.events.read(story.id, limit=1000)
    told = {
        (each.resource, f"{each.action}_{each.status}"): each.reason
        for each in events
        if "changed by others" in each.reason
    }
    assert told == {
        ("a", "UPDATE_COMPLETE"): "changed by others: size: recorded 's', observed 'x'",
        ("b", "REPLACE_IN_PROGRESS"): (
            "cannot be changed in place: value; changed by others: value: recorded '2', observed 'y'"
        ),
    }
    assert world.store.stacks.resource(story.id, "a").data == {}
    # The next update finds nothing, and has nothing to tell.
    assert story.update({"a": value("1", "s"), "b": value("2", "s")}, refresh=True) == []
    assert world.store.stacks.resource(story.id, "a").reason == ""


def test_what_others_changed_of_a_secret_is_told_without_it() -> None:
    text = template({"a": value("{get_param: secret}", "s"), "b": value("{get_attr: [a, value]}")})
    world, _ = created(
        text.replace("resources:", "parameters: {secret: {type: string, hidden: true}}\nresources:"),
        parameters={"secret": "psst"},
    )
    tamper(world, "a", value="other", size="x")
    tamper(world, "b", value="other")
    world.check()
    world.settle()
    assert reason(world) == (
        "resources.a: changed by others: size: recorded 's', observed 'x'; "
        "value: recorded ******, observed ******; "
        "resources.b: changed by others: value: recorded ******, observed ******"
    )


def test_what_was_put_right_by_others_meanwhile_is_left_alone() -> None:
    story = Story({"a": value("1", "s")})
    kind = story.world.checker._types["Cloud::Object"]
    del kind.handle_check
    tamper(story.world, "a", size="x")
    story.world.check()
    story.world.settle()
    tamper(story.world, "a", size="s")
    assert story.update({"a": value("1", "s")}) == []


def test_what_its_type_found_wrong_where_nobody_else_can_see_is_replaced() -> None:
    story = Story({"a": value("1", "s")})
    story.world.cloud.failing_operations = {("check", "a")}
    story.world.check()
    story.world.settle()
    assert reason(story.world) == "resources.a: no luck"
    assert story.update({"a": value("1", "s")}) == [("make", "a"), ("unmake", "a")]


def test_a_check_counts_what_was_left_half_way_as_wrong_and_leaves_it_as_it_is() -> None:
    world = World()
    world.cloud.failing = {"b": -1}
    stack_id = world.create(template({"a": value("1"), "b": "depends_on: a", "c": "depends_on: b"}))
    world.settle()
    before = states(world, stack_id)
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    assert reason(world) == (
        "the definition that the stack was given last never was complete; "
        "resources.b: it is CREATE_FAILED; resources.c: it is INIT_COMPLETE"
    )
    assert states(world, stack_id) == {**before, "a": "CHECK_COMPLETE"}
    assert world.store.stacks.resource(stack_id, "b").reason == "no luck"
    world.cloud.failing = {}
    world.update(template({"a": value("1"), "b": "depends_on: a", "c": "depends_on: b"}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert sorted(present(world)) == ["a", "b", "c"]
    assert len(world.cloud.objects) == 3


def test_a_check_after_a_failed_update_does_not_make_its_definition_one_that_completed() -> None:
    story = Story({"a": value("1", "s")})
    story.world.cloud.failing_updates = {"a": True}
    story.update({"a": value("1", "l")}, "UPDATE_FAILED")
    story.world.check()
    story.world.settle()
    assert story.world.state() == "CHECK_FAILED"
    assert "never was complete" in reason(story.world)
    story.world.cloud.polls = {"a": 5}
    story.world.update(template({"a": value("1", "m")}))
    story.world.deliver()
    story.world.cancel()
    story.world.settle()
    assert story.world.state() == "ROLLBACK_COMPLETE"
    assert present(story.world) == {"a": ("1", "s")}


def test_a_create_that_a_failed_stack_still_has_under_way_is_not_lost_by_a_check() -> None:
    world = World()
    world.cloud.polls = {"a": 20}
    world.cloud.failing = {"b": -1}
    stack_id = world.create(template({"a": value("1"), "b": value("2")}))
    for _ in range(2):
        world.deliver()
    assert world.state() == "CREATE_FAILED"
    world.check()
    world.settle()
    assert states(world, stack_id)["a"] == "CREATE_IN_PROGRESS"
    world.cloud.failing = {}
    world.update(template({"a": value("1"), "b": value("2")}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", ""), "b": ("2", "")}
    assert world.made_names().count("a") == 1


# -- update --refresh ----------------------------------------------------------------------------------------------


def test_a_refresh_visits_all_and_repairs_what_others_changed() -> None:
    story = Story(CHAIN)
    world = story.world
    assert story.update(CHAIN, refresh=True) == []
    assert set(states(world, story.id).values()) == {"UPDATE_COMPLETE"}
    vanish(world, "c")
    tamper(world, "a", size="x")
    tamper(world, "d", value="y")
    assert story.update(CHAIN) == []
    changes = story.update(CHAIN, refresh=True)
    assert sorted(changes) == [("change", "a"), ("make", "c"), ("make", "d"), ("unmake", "d")]
    assert present(world) == {"a": ("1", "s"), "b": ("1", ""), "c": ("", ""), "d": ("4", "")}


def test_a_refresh_looks_at_all_of_a_chain() -> None:
    story = Story(CHAIN)
    for name in "abcd":
        tamper(story.world, name, size="x")
    changes = story.update(CHAIN, refresh=True)
    assert changes == [("change", name) for _, name in changes]
    assert sorted(name for _, name in changes) == ["a", "b", "c", "d"]


def test_a_refresh_with_a_new_definition_brings_that_about() -> None:
    story = Story(CHAIN)
    vanish(story.world, "b")
    tamper(story.world, "d", size="x")
    story.update(CHANGED, refresh=True)
    assert present(story.world) == BECOME


@die_everywhere
def test_a_refresh_repairs_whatever_dies_on_the_way(instruction: int) -> None:
    story = Story(CHAIN)
    world = story.world
    vanish(world, "c")
    tamper(world, "a", size="x")
    world.update(template(CHAIN), refresh=True)
    world.cloud.crash_after(instruction)
    while world.messages:
        world.survive(world.deliver)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", "s"), "b": ("1", ""), "c": ("", ""), "d": ("4", "")}
    assert len(world.cloud.objects) == 4
