"""``OS::Heat::TestResource``."""

import time
from typing import Any

import pytest

from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, ResourceState, Wait
from tests.unit.workers.resources.core.made import STARTED, UUID, errors, make
from workers.resources.core.test_resource import TestResource


def existing() -> ResourceState:
    return ResourceState(uuid=UUID, physical_id=UUID, data={"value": "old"}, started_at=STARTED)


def changed(before: dict[str, Any], after: dict[str, Any]) -> PropertyChanges:
    return PropertyChanges(before=before, after=after)


def test_value_is_stored_and_told() -> None:
    resource = make(TestResource, {"value": "hello"})
    token = resource.handle_create()
    assert resource.check_create_complete(token) is True
    assert resource.attribute("output") == "hello"
    assert resource.attribute("other") is None
    assert resource.reference_id() == UUID


@pytest.mark.parametrize("action", ["create", "update", "delete"])
@pytest.mark.parametrize(
    "given",
    [{"wait_secs": 30}, {"wait_secs": 5, "action_wait_secs": {"create": 30, "update": 30, "delete": 30}}],
)
def test_action_takes_its_time_by_the_clock_it_is_given(action: str, given: dict[str, Any]) -> None:
    given = {"value": "new", **given}
    first = make(TestResource, given, state=existing(), now=STARTED + 0.5)
    changes = changed({"value": "old"}, {"value": "new"})
    token = first.handle_update(changes) if action == "update" else getattr(first, f"handle_{action}")()

    def look(now: float) -> bool | Wait:
        later = make(TestResource, given, state=first.state, now=now)
        answer: bool | Wait = getattr(later, f"check_{action}_complete")(token)
        return answer

    assert look(STARTED + 0.5) == Wait(29.5)
    assert look(STARTED + 29) == Wait(1.0)
    assert look(STARTED + 30) is True


def test_time_of_one_action_leaves_the_others_alone() -> None:
    resource = make(TestResource, {"wait_secs": 5, "action_wait_secs": {"create": 0}})
    assert resource.check_create_complete(resource.handle_create()) is True
    assert resource.check_delete_complete(resource.handle_delete()) == Wait(5.0)


def test_minus_one_waits_for_ever() -> None:
    resource = make(TestResource, {"wait_secs": -1}, now=STARTED + 10**9)
    assert isinstance(resource.check_create_complete(resource.handle_create()), Wait)


def test_failure_comes_at_the_end_and_leaves_neither_value_nor_id() -> None:
    given = {"fail": True, "wait_secs": 10}
    resource = make(TestResource, given)
    token = resource.handle_create()
    assert resource.check_create_complete(token) == Wait(10.0)
    later = make(TestResource, given, state=resource.state, now=STARTED + 10)
    with pytest.raises(ResourceFailure, match="create failed"):
        later.check_create_complete(token)
    assert (later.state.physical_id, later.state.data) == (None, {})
    assert later.attribute("output") is None
    assert make(TestResource, given, state=later.state, now=STARTED + 10).check_delete_complete(10.0) is True


def test_failing_update_keeps_the_old_value() -> None:
    resource = make(TestResource, {"value": "new", "fail": True}, state=existing())
    token = resource.handle_update(changed({"value": "old"}, {"value": "new", "fail": True}))
    with pytest.raises(ResourceFailure, match="update failed"):
        resource.check_update_complete(token)
    assert resource.attribute("output") == "old"


def test_changed_value_is_stored() -> None:
    resource = make(TestResource, {"value": "new"}, state=existing())
    assert resource.check_update_complete(resource.handle_update(changed({}, {"value": "new"}))) is True
    assert resource.attribute("output") == "new"


def test_change_of_anything_else_is_instant() -> None:
    resource = make(TestResource, {"value": "old", "wait_secs": 60}, state=existing())
    token = resource.handle_update(changed({"wait_secs": 0}, {"wait_secs": 60}))
    assert resource.check_update_complete(token) is True
    assert resource.attribute("output") == "old"


@pytest.mark.parametrize(
    ("after", "replaces"),
    [
        ({"value": "new"}, False),
        ({"value": "new", "update_replace": True}, True),
        ({"value": "old", "update_replace": True}, False),
        ({"value": "new", "update_replace": False}, False),
    ],
)
def test_changed_value_replaces_only_where_asked(after: dict[str, Any], *, replaces: bool) -> None:
    resource = make(TestResource, after, state=existing())
    assert resource.needs_replace(changed({"value": "old"}, after)) is replaces


def test_update_replace_of_old_counts_when_only_the_value_changes() -> None:
    resource = make(TestResource, {"value": "new", "update_replace": True}, state=existing())
    assert resource.needs_replace(changed({"value": "old"}, {"value": "new"})) is True


def test_only_update_replace_value_needs_a_replacement_by_schema() -> None:
    schema = TestResource.properties_schema
    assert [name for name in schema if not schema[name].update_allowed] == ["update_replace_value"]


def test_attribute_and_validation_really_take_time() -> None:
    resource = make(TestResource, {"attr_wait_secs": 0.05})
    before = time.monotonic()
    resource.attribute("output")
    between = time.monotonic()
    assert errors(TestResource, {"constraint_prop_secs": 0.05}) == []
    assert between - before >= 0.05
    assert time.monotonic() - between >= 0.05


def test_waits_below_minus_one_are_refused() -> None:
    assert len(errors(TestResource, {"wait_secs": -2, "action_wait_secs": {"create": -3}})) == 2
    assert len(errors(TestResource, {"attr_wait_secs": -1})) == 1


def test_signals_are_refused() -> None:
    with pytest.raises(ResourceFailure, match="take no signals"):
        make(TestResource).handle_signal({})


def test_an_adopted_value_is_the_one_that_is_told_else_the_template_s() -> None:
    told = make(TestResource, {"value": "new"}, state=existing())
    told.handle_adopt()
    assert told.attribute("output") == "old"
    untold = make(TestResource, {"value": "new"}, state=ResourceState(uuid=UUID, physical_id="other"))
    untold.handle_adopt()
    assert (untold.attribute("output"), untold.reference_id()) == ("new", "other")


def test_a_value_is_remembered_by_a_snapshot_and_brought_back() -> None:
    before = make(TestResource, {"value": "new"}, state=existing())
    entry = before.handle_snapshot()
    after = make(TestResource, {"value": "new"}, state=ResourceState(uuid=UUID, data={"value": "other"}))
    after.handle_restore(entry)
    assert after.attribute("output") == "old"
