"""Resource groups: what their stack is to be, step after step, and what they tell of it."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError, convert_properties
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, ResourceState, Wait
from tests.unit.workers.resources.core.groups.fake_child import FakeChild, make_stack
from tests.unit.workers.resources.core.made import STARTED, UUID, errors, validate
from workers.resources.core.groups.resource_group import ResourceGroup

NO_CHANGES = PropertyChanges(before={}, after={})


def definition(text: str = "one") -> dict[str, Any]:
    return {"type": "T", "properties": {"value": text}}


class Story:
    """A group whose steps a test takes one by one; every step is taken by a process that knows nothing."""

    def __init__(self, properties: dict[str, Any], **more: Any) -> None:
        self.child = FakeChild()
        self.properties, self.more = properties, more
        self.state = ResourceState(uuid=UUID, started_at=STARTED)
        self.now = STARTED
        self.token = self.group().handle_create()

    def group(self) -> ResourceGroup:
        state = ResourceState(
            uuid=UUID, physical_id=self.state.physical_id, data=self.state.data, started_at=STARTED
        )
        made = make_stack(ResourceGroup, self.child, self.properties, state=state, now=self.now, **self.more)
        self.state = state
        return made

    def update(self, **properties: Any) -> None:
        self.properties = {**self.properties, **properties}
        self.token = self.group().handle_update(NO_CHANGES)

    def look(self) -> bool | Wait:
        group = self.group()
        assert not group.is_outdated(self.token)
        answer = group.check_update_complete(self.token)
        if isinstance(answer, Wait):
            self.token = answer.next_token(self.token)
        return answer

    def settle(self) -> list[dict[str, Any]]:
        """Let every operation end well; return what was asked for, one batch after the other."""
        asked = [self.child.wanted()]
        for _ in range(50):
            if self.child.status == "IN_PROGRESS":
                self.child.succeed()
            answer = self.look()
            if not isinstance(answer, Wait):
                assert answer is True
                return [self.values(each) for each in asked]
            if self.child.status == "IN_PROGRESS":
                asked.append(self.child.wanted())
            else:
                self.now += answer.seconds
        raise AssertionError("it never ends")

    @staticmethod
    def values(resources: dict[str, Any]) -> dict[str, Any]:
        return {name: each.get("properties", {}).get("value") for name, each in resources.items()}


def test_a_group_makes_so_many_members_by_its_definition() -> None:
    story = Story({"count": 2, "resource_def": {"type": "T", "metadata": {"m": 1}}})
    template = story.child.asked[0].template
    assert template == {
        "heat_template_version": "2021-04-16",
        "resources": {"0": {"type": "T", "metadata": {"m": 1}}, "1": {"type": "T", "metadata": {"m": 1}}},
    }
    assert story.look() == Wait(3600.0, token=story.token)
    story.child.succeed()
    assert story.look() is True
    assert story.state.physical_id == UUID


def test_the_index_variable_is_the_members_name() -> None:
    story = Story({"count": 2, "resource_def": definition("host-%index%")})
    assert story.settle() == [{"0": "host-0", "1": "host-1"}]
    story = Story({"count": 1, "index_var": "###", "resource_def": definition("### and %index%")})
    assert story.settle() == [{"0": "0 and %index%"}]


def test_a_group_may_be_empty() -> None:
    story = Story({"count": 0, "resource_def": definition()})
    assert story.settle() == [{}]


def test_a_group_grows_and_shrinks_at_its_end() -> None:
    story = Story({"count": 2, "resource_def": definition()})
    story.settle()
    story.update(count=3)
    assert story.settle() == [{"0": "one", "1": "one", "2": "one"}]
    story.update(count=1)
    assert story.settle() == [{"0": "one"}]


def test_an_update_is_passed_on_even_if_nothing_changes() -> None:
    story = Story({"count": 2, "resource_def": definition()})
    story.settle()
    story.update()
    assert story.child.asked[0] == story.child.asked[1]


def test_a_removed_member_is_replaced_by_another_name_that_is_never_used_again() -> None:
    story = Story({"count": 3, "resource_def": definition()})
    story.settle()
    story.update(removal_policies=[{"resource_list": ["id-1"]}])
    assert list(story.settle()[-1]) == ["0", "2", "3"]
    # Not even if it is not named any more.
    story.update(removal_policies=[], count=4)
    assert list(story.settle()[-1]) == ["0", "2", "3", "4"]
    assert story.group().attribute("removed_rsrc_list") == ["1"]
    story.update(removal_policies=[{"resource_list": ["0"]}], removal_policies_mode="update")
    assert sorted(story.settle()[-1]) == ["1", "2", "3", "4"]


def test_a_removed_member_makes_a_smaller_group() -> None:
    story = Story({"count": 3, "resource_def": definition()})
    story.settle()
    story.update(removal_policies=[{"resource_list": ["0"]}], count=2)
    assert story.settle() == [{"1": "one", "2": "one"}]


def test_without_a_policy_all_members_change_at_once() -> None:
    story = Story({"count": 3, "resource_def": definition()})
    story.settle()
    story.update(resource_def=definition("two"))
    assert story.settle() == [{"0": "two", "1": "two", "2": "two"}]


def test_members_are_made_in_batches() -> None:
    policy = {"batch_create": {"max_batch_size": 2, "pause_time": 5}}
    story = Story({"count": 3, "resource_def": definition()}, update_policy=policy)
    assert story.settle() == [{"0": "one", "1": "one"}, {"0": "one", "1": "one", "2": "one"}]
    assert story.now == STARTED + 5


def test_members_change_in_batches_while_enough_of_them_serve() -> None:
    policy = {"rolling_update": {"max_batch_size": 1, "min_in_service": 2, "pause_time": 7}}
    story = Story({"count": 2, "resource_def": definition()}, update_policy=policy)
    assert story.settle() == [{"0": "one", "1": "one"}]
    story.update(resource_def=definition("two"))
    assert story.settle() == [
        {"0": "one", "1": "one", "2": "two"},
        {"0": "two", "1": "one", "2": "two"},
        {"0": "two", "1": "two", "2": "two"},
        {"0": "two", "1": "two"},
    ]
    assert story.now == STARTED + 14


def test_a_step_that_is_run_again_asks_for_the_same_batch() -> None:
    policy = {"rolling_update": {"max_batch_size": 1}}
    story = Story({"count": 3, "resource_def": definition()}, update_policy=policy)
    story.settle()
    data = story.state.data
    story.update(resource_def=definition("two"))
    first = story.child.asked[-1]
    # The process died before anything was written down.
    story.state.data = data
    story.child.resources = {name: {"type": "T"} for name in "012"}
    story.child.status = "COMPLETE"
    story.token = story.group().handle_update(NO_CHANGES)
    assert story.child.asked[-1] == first


def test_another_definition_takes_over_at_any_batch() -> None:
    policy = {"rolling_update": {"max_batch_size": 1}}
    story = Story({"count": 3, "resource_def": definition()}, update_policy=policy)
    story.settle()
    story.update(resource_def=definition("two"))
    story.child.succeed()
    story.look()
    story.properties = {**story.properties, "resource_def": definition("one")}
    assert story.group().is_outdated(story.token)
    story.child.failed = {"1"}
    story.update()
    # The member that was just being changed serves nobody, so it comes first; the last one never changed.
    assert story.settle() == [
        {"0": "two", "1": "one", "2": "one"},
        {"0": "one", "1": "one", "2": "one"},
    ]


def test_members_that_failed_are_given_the_new_definition_first() -> None:
    policy = {"rolling_update": {"max_batch_size": 1, "min_in_service": 1}}
    story = Story({"count": 4, "resource_def": definition()}, update_policy=policy)
    story.settle()
    story.update(resource_def=definition("broken"))
    story.child.fail("0", "3", reason="resource 0 failed")
    with pytest.raises(ResourceFailure, match="resource 0 failed"):
        story.look()
    story.update(resource_def=definition("good"))
    assert story.settle()[0] == {"0": "good", "1": "one", "2": "one", "3": "good"}


def test_pauses_that_leave_no_time_are_refused_before_anything_is_begun() -> None:
    policy = {"rolling_update": {"pause_time": 30}}
    story = Story({"count": 3, "resource_def": definition()}, update_policy=policy)
    story.settle()
    story.child.seconds_left = 61
    story.update(resource_def=definition("two"))
    story.settle()
    story.child.seconds_left = 60
    asked = len(story.child.asked)
    with pytest.raises(ResourceFailure, match="take more than the 60 seconds"):
        story.update(resource_def=definition("three"))
    assert len(story.child.asked) == asked


def test_what_the_stack_refuses_leaves_no_trace() -> None:
    story = Story({"count": 1, "resource_def": definition()})
    story.settle()
    before = story.group().roster
    story.child.refusal = "too many resources"
    with pytest.raises(ResourceFailure, match="too many resources"):
        story.update(count=2000, removal_policies=[{"resource_list": ["0"]}])
    assert story.group().roster == before
    assert story.group().attribute("removed_rsrc_list") == []


# -- telling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("refs",), ["ref-0", "ref-1"]),
        (("refs", 1), "ref-1"),
        (("refs_map",), {"0": "ref-0", "1": "ref-1"}),
        (("refs_map", "1"), "ref-1"),
        (("attributes", "value"), {"0": "value of 0", "1": "value of 1"}),
        (("attributes", "net", 0), {"0": "net/0 of 0", "1": "net/0 of 1"}),
        (("attributes",), None),
        (("value",), ["value of 0", "value of 1"]),
        (("net", "a", 0), ["net/a/0 of 0", "net/a/0 of 1"]),
        (("resource.1",), "ref-1"),
        (("resource.1.value",), "value of 1"),
        (("resource.1", "net", 0), "net/0 of 1"),
        (("resource.7.value",), None),
        (("removed_rsrc_list",), []),
    ],
)
def test_what_is_asked_for(path: tuple[str | int, ...], expected: Any) -> None:
    story = Story({"count": 2, "resource_def": definition()}, wanted=[path])
    story.settle()
    assert story.group().attribute_at(path) == expected


def test_members_are_asked_for_what_is_wanted_and_for_nothing_else() -> None:
    wanted = [
        ("refs",),
        ("value",),
        ("attributes", "value"),
        ("resource.1", "net", 0),
        ("removed_rsrc_list",),
    ]
    story = Story({"count": 2, "resource_def": definition()}, wanted=wanted)
    assert story.child.asks == (("0", "value"), ("1", "net", 0), ("1", "value"))


def test_all_attributes_at_once_are_those_of_the_schema() -> None:
    story = Story({"count": 1, "resource_def": definition()}, wanted=[("*",)])
    story.settle()
    assert story.group().attribute_at(("*",)) == {
        "refs": ["ref-0"],
        "refs_map": {"0": "ref-0"},
        "attributes": None,
        "removed_rsrc_list": [],
    }


def test_members_are_told_of_by_number() -> None:
    story = Story({"count": 11, "resource_def": definition()}, wanted=[("value",)])
    story.settle()
    assert story.group().attribute("value")[-1] == "value of 10"


# -- before anything exists ----------------------------------------------------------------------------------------


def blueprint(properties: dict[str, Any]) -> Any:
    converted = convert_properties(ResourceGroup.properties_schema, properties, constraints=False)
    return ResourceGroup.blueprint("g", converted)


def test_a_blueprint_shows_one_member_and_says_how_many() -> None:
    shown = blueprint({"count": 7, "resource_def": definition("at %index%")})
    assert shown.times == 7
    assert shown.place == ("resource_def",)
    assert shown.child.template["resources"] == {"0": {"type": "T", "properties": {"value": "at 0"}}}


def test_a_blueprint_goes_as_far_as_things_are_known() -> None:
    assert blueprint({"count": UNKNOWN, "resource_def": definition()}).times == 1
    assert blueprint({"count": 0, "resource_def": definition()}) is None
    assert blueprint({"resource_def": UNKNOWN}) is None
    assert blueprint({"resource_def": {"type": UNKNOWN}}) is None
    assert blueprint({"resource_def": {"type": "T", "properties": UNKNOWN}}) is None
    member = blueprint({"resource_def": {"type": "T", "properties": {"x": UNKNOWN}}}).child.template
    assert member["resources"]["0"]["properties"] == {"x": UNKNOWN}


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"index_var": "%i", "resource_def": definition()}, "index_var: it must have a length of at least 3"),
        ({"count": -1, "resource_def": definition()}, "count: it must be at least 0"),
        ({"resource_def": {"type": ""}}, "resource_def.type"),
        ({"resource_def": {"kind": "T"}}, "resource_def.type: a value is required"),
        ({}, "resource_def: a value is required"),
    ],
)
def test_what_the_schema_refuses(properties: dict[str, Any], said: str) -> None:
    assert said.split(":", maxsplit=1)[0] in errors(ResourceGroup, properties)[0]


def test_what_cannot_point_at_a_member_is_refused() -> None:
    given = {"resource_def": definition(), "removal_policies": [{"resource_list": [{"a": 1}]}]}
    with pytest.raises(PropertyError, match=r"removal_policies\[0\].resource_list\[0\]: expected the name"):
        validate(ResourceGroup, given)
    validate(ResourceGroup, {"resource_def": definition(), "removal_policies": UNKNOWN})
