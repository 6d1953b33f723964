"""``OS::Heat::None``."""

from orchestrator.plugins.steps import PropertyChanges
from tests.unit.workers.resources.core.made import UUID, errors, make
from workers.resources.core.none import NoneResource


def test_any_property_is_accepted() -> None:
    anything = {"flavor": "m1.small", "networks": [{"port": 1.5}]}
    assert errors(NoneResource, anything) == []
    assert make(NoneResource, anything).properties == anything


def test_uuid_of_the_row_is_the_id() -> None:
    resource = make(NoneResource)
    resource.handle_create()
    assert resource.check_create_complete(None) is True
    assert resource.state.physical_id == resource.reference_id() == UUID


def test_every_attribute_is_null() -> None:
    assert make(NoneResource, {"value": 1}).attribute("value") is None


def test_no_change_replaces() -> None:
    changes = PropertyChanges(before={"a": 1}, after={"b": 2})
    assert make(NoneResource, {"b": 2}).needs_replace(changes) is False


def test_it_is_observed_as_declared_once_it_exists() -> None:
    resource = make(NoneResource, {"a": 1})
    assert resource.observe() is None
    resource.handle_create()
    assert resource.observe() == {"a": 1}
