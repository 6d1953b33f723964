"""get_file looks its key up as it stands."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import StackDefinition
from orchestrator.template.template import Template

Stack = Callable[..., StackDefinition]


def test_the_content_is_returned_unparsed(call: Any, stack: Stack) -> None:
    content = "{get_param: x}\n"
    assert call({"get_file": "a b/../c.sh"}, stack(files={"a b/../c.sh": content})) == content
    assert call.definition.required_files == {"a b/../c.sh"}


def test_an_empty_file_is_fine(call: Any, stack: Stack) -> None:
    assert call({"get_file": "f"}, stack(files={"f": ""})) == ""


def test_a_file_that_did_not_come_fails_by_name(call: Any, stack: Stack) -> None:
    assert "'f'" in call.fails({"get_file": "f"}, stack()).message


@pytest.mark.parametrize("arguments", [None, 7, ["f"], {"a": "b"}])
def test_get_file_refuses_other_shapes(call: Any, arguments: Any) -> None:
    assert "expected the file's name" in call.refused({"get_file": arguments}).message


def test_a_name_from_a_call_may_be_any_file_that_came(call: Any, stack: Stack) -> None:
    value = {"get_file": {"get_param": "p"}}
    assert call(value, stack({"p": "f"}, {"f": "content"})) == "content"
    assert "found null" in call.fails(value, stack({"p": None})).message
    source = (
        "heat_template_version: rocky\nresources: {r: {type: X, properties: {p: {get_file: {get_param: p}}}}}"
    )
    template = Template.parse(source, file="t", files={"f": "", "g": ""}, limits=Limits())
    assert template.resources["r"].required_files == {"f", "g"}
