"""Whether properties are right: one order of questions, with and without other systems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.errors import NotVerified
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.constraints import Constraint, Length
from orchestrator.plugins.properties import Property, PropertyError, PropertyNotVerified, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.validating import (
    outdated_properties,
    property_faults,
    schema_faults,
    typed_properties,
    valid_properties,
)
from tests.unit.orchestrator.plugins.test_translation import Cloud

STRING = PropertyType.STRING
OLD = SupportStatus(status=Support.DEPRECATED)


@dataclass(frozen=True)
class Exists(Constraint):
    """A thing is known to another system, which of "down" tells nothing."""

    def rule(self) -> str:
        return "must exist"

    def fault(self, value: Any) -> str | None:
        return None

    def fault_by(self, value: Any, clients: NamedClients | None) -> str | None:
        if clients is None:
            return None
        if value == "down":
            raise NotVerified("nobody answers")
        return None if value == "there" else f"{value} is not there"


class Server(Resource):
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "image": Property(type=STRING, constraints=(Exists(),)),
        "name": Property(type=STRING, constraints=(Length(max=5),)),
        "a": Property(type=STRING, support_status=OLD),
        "b": Property(type=STRING),
        "ports": Property(
            type=PropertyType.LIST,
            schema=Property(
                type=PropertyType.MAP,
                schema={"old": Property(type=STRING, support_status=OLD), "new": Property(type=STRING)},
            ),
        ),
    }
    properties_groups_schema: ClassVar[Sequence[Mapping[str, Any]]] = ({"AT_MOST_ONE": [["a"], ["b"]]},)
    asked: ClassVar[list[str]] = []

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        cls.asked.append("validate")
        if properties["name"] == "bad":
            raise PropertyError(("name",), "it is bad")

    @classmethod
    def validate_written(cls, properties: Mapping[str, Any]) -> None:
        cls.asked.append("validate_written")
        if properties["name"] == "id":
            raise PropertyError(("name",), "it is an id")


@pytest.fixture(autouse=True)
def _nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "asked", [])


def messages(given: Mapping[str, Any], clients: NamedClients | None = None) -> list[str]:
    return [str(fault) for fault in property_faults(Server, given, clients=clients)]


def test_each_question_is_asked_only_where_those_before_have_no_fault() -> None:
    given = {"name": "much too long", "a": [], "b": "b"}
    assert messages(given) == [
        "name: the length is 13; it must be at most 5",
        "a: expected a text, found a list",
    ]
    assert messages({"name": "bad", "a": "a", "b": "b"}) == ["expected at most one of a and b, found a and b"]
    assert Server.asked == []
    assert messages({"name": "bad"}) == ["name: it is bad"]
    assert Server.asked == ["validate"]
    assert messages({"name": "good"}) == []


def test_what_nobody_may_write_may_be_what_a_reference_comes_to() -> None:
    assert messages({"name": "id"}) == ["name: it is an id"]
    assert valid_properties(Server, {"name": "id"})["name"] == "id"


def test_other_systems_are_asked_only_by_clients() -> None:
    given = {"image": "gone"}
    assert messages(given) == []
    assert valid_properties(Server, given)["image"] == "gone"
    assert messages(given, Cloud()) == ["image: gone is not there; it must exist"]
    with pytest.raises(PropertyError, match="image: gone is not there"):
        valid_properties(Server, given, clients=Cloud())
    assert messages({"image": UNKNOWN}, Cloud()) == []
    assert typed_properties(Server, given, clients=Cloud())["image"] == "gone"
    assert schema_faults(Server, given) == []


def test_a_system_that_does_not_tell_makes_nothing_wrong() -> None:
    given = {"image": "down"}
    with pytest.raises(PropertyNotVerified) as caught:
        valid_properties(Server, given, clients=Cloud())
    assert caught.value.fault.path == ("image",)
    with pytest.raises(PropertyNotVerified):
        property_faults(Server, given, clients=Cloud())


def test_what_is_wrong_for_certain_needs_no_other_try() -> None:
    class Named(Server):
        properties_schema: ClassVar[Mapping[str, Property]] = {
            "title": Property(type=STRING, constraints=(Length(max=5),)),
            **Server.properties_schema,
        }

    with pytest.raises(PropertyError, match="title: the length is 13"):
        valid_properties(Named, {"title": "much too long", "image": "down"}, clients=Cloud())


def test_what_breaks_rules_still_has_its_types() -> None:
    given = {"name": 12345678, "a": "a", "b": "b"}
    assert typed_properties(Server, given)["name"] == "12345678"
    with pytest.raises(PropertyError):
        typed_properties(Server, {"name": []})


def test_everything_outdated_that_is_given_is_told_with_its_place() -> None:
    given = {"a": "x", "ports": [{"new": "x"}, UNKNOWN, {"old": "x"}, {"old": None}]}
    assert [str(each) for each in outdated_properties(Server, given)] == [
        "a: the property 'a' is deprecated",
        "ports[2].old: the property 'old' is deprecated",
    ]
    assert outdated_properties(Server, {"a": None, "ports": UNKNOWN}) == []
