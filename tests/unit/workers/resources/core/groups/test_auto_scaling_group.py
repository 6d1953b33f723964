"""Groups that signals scale: names, sizes, which members go first, and what is refused."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError, convert_properties
from orchestrator.plugins.steps import PropertyChanges, ResourceState
from tests.unit.workers.resources.core.groups.fake_child import FakeChild, make_stack
from tests.unit.workers.resources.core.made import STARTED, UUID, validate
from workers.resources.core.groups.auto_scaling_group import AutoScalingGroup, member_name

NO_CHANGES = PropertyChanges(before={}, after={})


def properties(**more: Any) -> dict[str, Any]:
    return {"resource": {"type": "T"}, "min_size": 1, "max_size": 5, **more}


def name(number: int) -> str:
    return member_name(UUID, number)


class Story:
    """A group whose operations all end well."""

    def __init__(self, **more: Any) -> None:
        self.child, self.now = FakeChild(), STARTED
        self.properties, self.data = properties(**more), dict[str, Any]()
        self.wanted: list[tuple[str | int, ...]] = []
        group = self.group()
        token = group.handle_create()
        self.data = group.state.data
        self.carry_out(token)

    def group(self) -> AutoScalingGroup:
        state = ResourceState(uuid=UUID, data=self.data, started_at=STARTED)
        return make_stack(
            AutoScalingGroup, self.child, self.properties, state=state, now=self.now, wanted=self.wanted
        )

    def carry_out(self, token: Any) -> None:
        for _ in range(20):
            self.child.succeed()
            group = self.group()
            answer = group.check_update_complete(token)
            self.data = group.state.data
            if answer is True:
                return
            assert not isinstance(answer, bool)
            token = answer.next_token(token)
        raise AssertionError("it never ends")

    def update(self, **more: Any) -> list[str]:
        self.properties = {**self.properties, **more}
        group = self.group()
        token = group.handle_update(NO_CHANGES)
        self.data = group.state.data
        self.carry_out(token)
        return list(self.child.resources)

    def resize(self, size: int) -> list[str]:
        group = self.group()
        group.resize(size)
        self.data = group.state.data
        group.stacks.become(self.group().child())
        self.child.succeed()
        return list(self.child.resources)


@pytest.fixture
def story() -> Story:
    return Story()


def test_names_are_always_the_same_and_no_numbers() -> None:
    names = [member_name(UUID, number) for number in range(500)]
    assert names == [member_name(UUID, number) for number in range(500)]
    assert len(set(names)) == 500
    assert all(each.isalpha() and each.islower() and len(each) == 12 for each in names)
    assert member_name("another", 0) != names[0]


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({}, 1),
        ({"desired_capacity": 3}, 3),
        ({"min_size": 2}, 2),
        ({"min_size": 0}, 0),
        ({"min_size": 0, "desired_capacity": 0}, 0),
    ],
)
def test_the_first_size(given: dict[str, Any], size: int) -> None:
    assert list(Story(**given).child.resources) == [name(number) for number in range(size)]


def test_the_oldest_go_first_and_no_name_is_used_again(story: Story) -> None:
    assert story.resize(3) == [name(0), name(1), name(2)]
    assert story.resize(2) == [name(1), name(2)]
    assert story.resize(3) == [name(1), name(2), name(3)]


def test_an_update_leaves_the_size_as_signals_made_it_within_the_bounds(story: Story) -> None:
    story.resize(3)
    assert len(story.update(resource={"type": "U"})) == 3
    assert len(story.update(max_size=2)) == 2
    assert len(story.update(min_size=4, max_size=9)) == 4
    assert len(story.update(desired_capacity=5)) == 5
    story.resize(6)
    assert len(story.update()) == 5


def test_members_are_changed_in_batches_and_keep_their_names(story: Story) -> None:
    story.resize(3)
    asked = len(story.child.asked)
    story.update(resource={"type": "U"}, rolling_updates={"max_batch_size": 1, "min_in_service": 3})
    batches = []
    for child in story.child.asked[asked:]:
        assert isinstance(child.template, dict)
        batches.append({key: each["type"] for key, each in child.template["resources"].items()})
    old, new = "T", "U"
    assert batches == [
        {name(0): old, name(1): old, name(2): old, name(3): new},
        # The new one stays: it is the oldest that goes.
        {name(0): old, name(1): new, name(2): old, name(3): new},
        {name(0): old, name(1): new, name(2): new, name(3): new},
        {name(1): new, name(2): new, name(3): new},
    ]


def test_without_a_policy_all_change_at_once(story: Story) -> None:
    story.resize(2)
    asked = len(story.child.asked)
    story.update(resource={"type": "U"})
    assert len(story.child.asked) == asked + 1


def test_a_step_that_is_run_again_makes_the_same_members(story: Story) -> None:
    first, second = story.group(), story.group()
    first.resize(4)
    second.resize(4)
    assert first.child() == second.child()


def test_it_cools_down_after_a_change_of_its_size() -> None:
    story = Story(cooldown=30)
    assert story.group().cooldown_left() == 0
    story.resize(2)
    assert story.group().cooldown_left() == 30
    story.now += 31
    assert story.group().cooldown_left() == 0


def test_a_stack_that_was_left_half_way_is_not_as_asked(story: Story) -> None:
    assert story.group().is_as_asked()
    group = story.group()
    group.resize(2)
    assert not group.is_as_asked()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("current_size",), 2),
        (("refs",), [f"ref-{name(0)}", f"ref-{name(1)}"]),
        (("refs_map", name(1)), f"ref-{name(1)}"),
        (("outputs", "ip"), {name(0): f"ip of {name(0)}", name(1): f"ip of {name(1)}"}),
        (("outputs_list", "ip"), [f"ip of {name(0)}", f"ip of {name(1)}"]),
        (("ip",), [f"ip of {name(0)}", f"ip of {name(1)}"]),
        # A member is asked for by its name, or by its place.
        ((f"resource.{name(1)}.ip",), f"ip of {name(1)}"),
        (("resource.1.ip",), f"ip of {name(1)}"),
        (("resource.0", "ip"), f"ip of {name(0)}"),
        (("resource.1",), f"ref-{name(1)}"),
        (("resource.2.ip",), None),
        (("resource.nobody.ip",), None),
    ],
)
def test_what_is_asked_for(path: tuple[str | int, ...], expected: Any) -> None:
    story = Story(desired_capacity=2)
    story.wanted = [path]
    story.update()
    assert story.group().attribute_at(path) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"min_size": 6}, "min_size: it is more than max_size"),
        ({"desired_capacity": 6}, "desired_capacity: it is not from min_size to max_size"),
        ({"desired_capacity": 0}, "desired_capacity: it is not from min_size to max_size"),
        ({"resource": {}}, "resource.type: expected the type of the members"),
        ({"resource": {"type": 1}}, "resource.type: expected the type of the members"),
        (
            {"resource": {"type": "T", "propertes": {}}},
            "a definition has no section 'propertes' .*'properties'",
        ),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PropertyError, match=said):
        validate(AutoScalingGroup, properties(**given))


@pytest.mark.parametrize("unknown", ["min_size", "max_size", "desired_capacity", "resource"])
def test_what_is_not_known_yet_is_let_pass(unknown: str) -> None:
    validate(AutoScalingGroup, properties(**{unknown: UNKNOWN}))


def test_a_blueprint_shows_one_member_and_how_many_there_are_at_first() -> None:
    def times(**more: Any) -> int | None:
        given = convert_properties(AutoScalingGroup.properties_schema, properties(**more), constraints=False)
        shown = AutoScalingGroup.blueprint("g", given)
        return None if shown is None else shown.times

    assert times() == 1
    assert times(desired_capacity=4) == 4
    assert times(min_size=0) == 1
    assert times(min_size=0, max_size=0) is None
    assert times(desired_capacity=UNKNOWN) == 1
    assert times(resource=UNKNOWN) is None
    assert times(resource={"type": UNKNOWN}) is None
