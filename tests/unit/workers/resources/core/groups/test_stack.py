"""Stacks of templates that are given as text."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.errors import NotFound
from orchestrator.plugins.properties import PropertyError, convert_properties
from orchestrator.plugins.steps import ResourceFailure
from tests.unit.workers.resources.core.groups.fake_child import FakeChild, make_stack
from tests.unit.workers.resources.core.made import validate
from workers.resources.core.groups.stack import Stack

TEXT = "heat_template_version: 2021-04-16\n"


def test_the_stack_is_what_the_text_says() -> None:
    child = FakeChild()
    wanted: list[tuple[str | int, ...]] = [("outputs", "x"), ("resource.disk.size",), ("stack_name",)]
    given = {"template": TEXT, "parameters": {"a": [1]}, "timeout": 7}
    make_stack(Stack, child, given, wanted=wanted).handle_create()
    (asked,) = child.asked
    assert (asked.template, asked.parameters, asked.timeout_minutes) == (TEXT, {"a": [1]}, 7)
    assert asked.parameters_from == ("parameters",)
    assert asked.asks == (("disk", "size"),)


def test_it_tells_its_name_and_its_outputs() -> None:
    child = FakeChild(outputs={"map": {"x": [1, 2]}})
    stack = make_stack(Stack, child, {"template": TEXT})
    assert stack.attribute("stack_name") is None
    stack.handle_create()
    assert stack.attribute("stack_name") == "stack-it-2f1c6d0e"
    assert stack.attribute_at(("outputs", "map", "x", 1)) == 2
    assert stack.attribute_at(("outputs", "none")) is None


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ({"credential_secret_id": "7"}, "acts as the stack around it"),
        ({"ca_cert": "x"}, "a setting of the operator"),
        ({"insecure": True}, "a setting of the operator"),
    ],
)
def test_another_login_or_installation_is_refused(context: dict[str, Any], why: str) -> None:
    with pytest.raises(PropertyError, match=why):
        validate(Stack, {"template": TEXT, "context": context})
    validate(Stack, {"template": TEXT, "context": {}})
    validate(Stack, {"template": TEXT, "context": {"region_name": "north", "insecure": False}})


class Regions:
    """Clients of a cloud in one of two regions, or of none."""

    def __init__(self, region: str = "north", others: frozenset[str] = frozenset({"south"})) -> None:
        self.region, self._others = region, others

    def get(self, name: str) -> Any:
        if self.region == "nowhere":
            raise NotFound(name)
        return self

    def regions(self) -> frozenset[str]:
        return frozenset({self.region} - {""}) | self._others


@pytest.mark.parametrize(
    ("clients", "wanted", "why"),
    [
        (Regions(), "north", ""),
        (Regions(), "south", "a stack cannot be made in another region than 'north'"),
        (Regions(), "east", "there is no region 'east'; there are: 'north', 'south'"),
        (Regions(""), "south", ""),
        (Regions("", frozenset({"south", "east"})), "south", "another region than 'the first one"),
        (Regions("nowhere"), "north", "no OpenStack cloud is set up here"),
    ],
)
def test_its_region_is_the_one_in_which_stacks_act(clients: Any, wanted: str, why: str) -> None:
    found = Stack.unsupported({"template": TEXT, "context": {"region_name": wanted}}, clients)
    assert [why in each.message for each in found] == ([True] if why else [])
    child = FakeChild()
    stack = make_stack(Stack, child, {"template": TEXT, "context": {"region_name": wanted}})
    stack.clients = clients
    if why:
        with pytest.raises(ResourceFailure, match=why):
            stack.handle_create()
        assert child.asked == []
    else:
        stack.handle_create()
        assert len(child.asked) == 1


def test_no_cloud_is_asked_without_a_region() -> None:
    for context in (None, {}, {"region_name": UNKNOWN}):
        assert Stack.unsupported({"template": TEXT, "context": context}, Regions("nowhere")) == []


def test_a_blueprint_is_there_once_the_text_is_known() -> None:
    def blueprint(**given: Any) -> Any:
        return Stack.blueprint("s", convert_properties(Stack.properties_schema, given, constraints=False))

    shown = blueprint(template=TEXT, parameters={"a": UNKNOWN})
    assert (shown.child.template, shown.child.parameters) == (TEXT, {"a": UNKNOWN})
    assert blueprint(template=UNKNOWN) is None
    assert blueprint(template=TEXT, parameters=UNKNOWN) is None
