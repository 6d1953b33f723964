"""Reading what others ask of a resource."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from orchestrator.definition import NodeData, ResourceProxy
from orchestrator.errors import NotFound
from orchestrator.plugins.properties import Attribute
from orchestrator.plugins.steps import ResourceFailure, RetryableFailure
from orchestrator.store.nodes.claims import Ending
from tests.unit.workers.check.test_step import made, step
from tests.unit.workers.resources.core.made import make
from workers.check.attributes import read_attributes
from workers.resources.core.row import RowResource


class Telling(RowResource):
    """Tells one thing, and fails to tell others."""

    attributes_schema = {
        "address": Attribute("tells"),
        "name": Attribute("fails"),
        "size": Attribute("fails"),
    }
    asked: ClassVar[list[str]] = []

    def attribute(self, name: str) -> Any:
        self.asked.append(name)
        if name == "name":
            raise ResourceFailure("nobody answers")
        if name == "size":
            raise KeyError("size")
        return {"public": ["10.0.0.7"]}


@pytest.fixture(autouse=True)
def _ask_anew() -> None:
    Telling.asked = []


def never(_: Exception) -> bool:
    return False


def test_each_attribute_is_asked_for_once_and_its_parts_are_walked_to() -> None:
    paths = [("address",), ("address", "public", 0), ("address", "private")]
    read, unread = read_attributes(make(Telling), paths, again=never)
    assert read == {
        ("address",): {"public": ["10.0.0.7"]},
        ("address", "public", 0): "10.0.0.7",
        ("address", "private"): None,
    }
    assert unread == {}
    assert Telling.asked == ["address"]


def test_what_cannot_be_read_keeps_nothing_else_from_being_read() -> None:
    read, unread = read_attributes(make(Telling), [("name",), ("size", 0), ("address",)], again=never)
    assert list(read) == [("address",)]
    assert unread == {("name",): "nobody answers", ("size", 0): "KeyError: 'size'"}


@pytest.mark.parametrize("name", ["*", "show"])
def test_of_all_together_one_that_cannot_be_read_is_missed(name: str) -> None:
    _, unread = read_attributes(make(Telling), [(name,)], again=never)
    assert unread == {(name,): "nobody answers"}


def test_what_another_try_may_help_is_raised() -> None:
    with pytest.raises(ResourceFailure, match="nobody answers"):
        read_attributes(make(Telling), [("name",)], again=lambda _: True)


def test_those_who_need_it_are_told_why_they_cannot_have_it() -> None:
    data = NodeData(
        uuid="1",
        name="a",
        action="CREATE",
        status="COMPLETE",
        attributes={("address",): 1},
        unread={("name", 0): "nobody answers"},
    )
    proxy = ResourceProxy(name="a", data=NodeData.from_wire(data.to_wire()))
    assert proxy.data == data
    assert proxy.attribute("address") == 1
    with pytest.raises(
        NotFound, match=r"^attribute 'name.0' of resource 'a' could not be read: nobody answers$"
    ):
        proxy.attribute("name", 0, "more")


def raising(error: Exception) -> type[RowResource]:
    class Raising(Telling):
        def attribute(self, name: str) -> Any:
            raise error

        @classmethod
        def is_retryable(cls, error: Exception) -> bool:
            return isinstance(error, TimeoutError)

    return Raising


@pytest.mark.parametrize("error", [RetryableFailure("busy"), TimeoutError("busy")])
def test_an_attribute_that_may_be_read_later_is_tried_again(error: Exception) -> None:
    outcome = step(raising(error), "{type: Test}", wanted=[["name"]])
    assert outcome.ending is Ending.RETRY
    assert "busy" in outcome.reason


@pytest.mark.parametrize("error", [ResourceFailure("gone"), ValueError("gone")])
def test_a_resource_is_complete_without_an_attribute_and_says_so(error: Exception) -> None:
    outcome = step(raising(error), "{type: Test}", wanted=[["name"]])
    assert outcome.ending is Ending.DONE
    ((path, value, why),) = outcome.attributes
    assert (path, value) == (["name"], None)
    assert outcome.reason.endswith(why)
    assert outcome.reason.startswith("attribute 'name' of resource 'it' could not be read: ")
    assert outcome.reason.endswith("gone")


class Anything(RowResource):
    """Takes any property."""

    accepts_anything = True


def test_a_dependent_fails_with_the_reason() -> None:
    given = replace(made("a", reference_id=None), unread={("name",): "gone"})
    outcome = step(Anything, "{type: Test, properties: {x: {get_attr: [a, name]}}}", inputs=[given])
    assert outcome.ending is Ending.FAILED
    assert "attribute 'name' of resource 'a' could not be read: gone" in outcome.reason
