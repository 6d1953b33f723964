"""Templates that types make, as text: every value comes out of it as it went in, and no secret is in it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.plugins.stack_resource import Child
from orchestrator.template.environment import Environment
from orchestrator.template.generated import generated_template
from orchestrator.template.template import Draft

#: What looks like a call, and is none here.
CALLS: list[Any] = [{"get_param": "x"}, {"if": [1, 2, 3]}, {"filter": 1}, {"yaql": {"expression": "$"}}]


def template_of(sections: dict[str, Any]) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "T", **sections}}}


def read_back(sections: dict[str, Any], *, is_secret: bool = False) -> dict[str, Any]:
    """Return the sections as an engine has them that reads what was written."""
    text = generated_template(Child(template=template_of(sections), file="f"), is_secret=is_secret)
    draft = Draft.read(text.source, file="f", files={}, limits=Limits())
    settled = draft.settle(Environment.of_parameters(text.parameters), pseudo={}, offline=True)
    template = draft.under(settled.parameters.values, settled.parameters.hidden)
    assert not [*settled.problems, *template.problems]
    stack = StackDefinition(name="s", id="1", parameters=settled.parameters.values)
    resource = template.resources["r"]
    found = {"properties": resource.resolve_properties(stack), "metadata": resource.resolve_metadata(stack)}
    return {section: value for section, value in found.items() if section in sections}


scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab{}:'", max_size=4)
keys = st.sampled_from(["a", "b", "get_param", "if", "filter", "Ref"])
values = st.recursive(
    scalars | st.sampled_from(CALLS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(properties=st.dictionaries(keys, values, max_size=3), is_secret=st.booleans())
def test_nothing_is_called_that_a_type_says(properties: dict[str, Any], is_secret: bool) -> None:
    assert read_back({"properties": properties}, is_secret=is_secret) == {"properties": properties}
    assert read_back({"metadata": properties}, is_secret=is_secret) == {"metadata": properties}


def test_secrets_are_not_in_the_text() -> None:
    properties = {"password": "s3cr3t", "list": ["s3cr3t"], "map": {"x": {"y": "s3cr3t"}}, "filter": "s3cr3t"}
    for said in (properties, {"filter": "s3cr3t"}):
        text = generated_template(Child(template=template_of({"properties": said}), file="f"), is_secret=True)
        assert "s3cr3t" not in text.source
        assert text.secrets == frozenset(text.parameters)
        declared = json.loads(text.source)["parameters"]
        assert all(declared[name]["hidden"] for name in text.secrets)


def test_what_is_not_known_yet_is_a_parameter() -> None:
    text = generated_template(
        Child(template=template_of({"properties": {"a": UNKNOWN, "b": 1}}), file="f"), is_secret=False
    )
    assert text.parameters == {"r.properties.a": UNKNOWN}


@pytest.mark.parametrize("is_secret", [False, True])
def test_a_resource_reads_the_same_whatever_others_are_there(is_secret: bool) -> None:
    def text(*names: str) -> Any:
        resources = {name: {"type": "T", "properties": {"a": {"get_param": name}, "b": 2}} for name in names}
        template = {"heat_template_version": "2021-04-16", "resources": resources}
        return json.loads(generated_template(Child(template=template, file="f"), is_secret=is_secret).source)[
            "resources"
        ]

    assert text("y", "z")["z"] == text("z")["z"]


def test_places_that_are_written_alike_are_two_parameters() -> None:
    properties = {"a.b": CALLS[0], "a": {"b": CALLS[1], "c": 1}}
    assert read_back({"properties": properties}) == {"properties": properties}
