"""A definition tells what it needs, and survives being taken apart and rebuilt."""

from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN, AttributePath, NodeData, ResourceProxy, StackDefinition
from orchestrator.errors import PluginMistake
from orchestrator.template.definitions import PLACE_KEYS, ResolveError, ResourceDefinition
from orchestrator.template.template import Template
from tests.counting import calls
from tests.unit.orchestrator.template.conftest import parse_template

Parse = Callable[..., Template]

BODY = """\
parameters: {size: {type: number}}
resources:
  web:
    type: OS::Heat::Value
    description: A server
    depends_on: [net]
    deletion_policy: Retain
    properties:
      plain: [1, {a: ~}]
      size: {get_param: size}
      text:
        str_replace: {template: at ADDR, params: {ADDR: {get_attr: [port, ips, 0]}}}
      script: {get_file: run.sh}
    metadata: {disk: {get_resource: disk}, from: {get_attr: [disk, size]}}
  net: {type: X}
  port: {type: X}
  disk: {type: X}
outputs:
  o: {value: [{get_resource: net}, {get_attr: [web, value, x]}]}
"""


def rebuilt(definition: ResourceDefinition) -> ResourceDefinition:
    wire = msgpack.unpackb(msgpack.packb(definition.fragment()))
    return ResourceDefinition.from_fragment(definition.name, wire)


def proxy(name: str, **attributes: Any) -> ResourceProxy:
    paths: dict[AttributePath, Any] = {tuple(key.split("__")): value for key, value in attributes.items()}
    data = NodeData(
        uuid="u", name=name, action="CREATE", status="COMPLETE", reference_id=f"{name}-id", attributes=paths
    )
    return ResourceProxy(name=name, data=data)


def stack(**resources: ResourceProxy) -> StackDefinition:
    files = {"run.sh": "echo"}
    return StackDefinition(name="s", id="1", parameters={"size": 3}, files=files, resources=resources)


READY = stack(
    net=proxy("net"),
    port=ResourceProxy(
        name="port",
        data=NodeData(
            uuid="u", name="port", action="CREATE", status="COMPLETE", attributes={("ips", 0): "10.0.0.1"}
        ),
    ),
    disk=proxy("disk", size=8),
)


@pytest.fixture(params=["parsed", "rebuilt"])
def web(request: pytest.FixtureRequest) -> ResourceDefinition:
    definition = parse_template(BODY, files={"run.sh": ""}).resources["web"]
    return definition if request.param == "parsed" else rebuilt(definition)


def test_needs_come_from_depends_on_and_from_calls_in_properties_and_metadata(
    web: ResourceDefinition,
) -> None:
    assert web.requirements == {"net", "port", "disk"}
    assert web.required_attributes == {("port", ("ips", 0)), ("disk", ("size",))}
    assert web.required_files == {"run.sh"}


def test_everything_else_is_kept(web: ResourceDefinition) -> None:
    assert (web.name, web.type, web.description) == ("web", "OS::Heat::Value", "A server")
    assert (web.depends_on, web.deletion_policy) == (("net",), "Retain")
    assert web.metadata == {"disk": {"get_resource": "disk"}, "from": {"get_attr": ["disk", "size"]}}
    assert (web.position.file, web.position.line, web.position.column) == ("t.yaml", 4, 3)


def test_properties_and_metadata_are_resolved(web: ResourceDefinition) -> None:
    assert web.resolve_properties(READY) == {
        "plain": [1, {"a": None}],
        "size": 3,
        "text": "at 10.0.0.1",
        "script": "echo",
    }
    assert web.resolve_metadata(READY) == {"disk": "disk-id", "from": 8}


def test_what_depends_on_a_resource_to_be_made_is_unknown_and_nothing_else(web: ResourceDefinition) -> None:
    blank = {name: ResourceProxy(name=name) for name in ("net", "port", "disk")}
    assert web.resolve_properties(stack(**blank))["text"] is UNKNOWN
    assert web.resolve_properties(stack(**blank))["size"] == 3
    assert web.resolve_metadata(stack(**blank)) == {"disk": UNKNOWN, "from": UNKNOWN}


def test_an_error_says_where(web: ResourceDefinition) -> None:
    empty = StackDefinition(name="s", id="1", resources=READY.resources)
    with pytest.raises(ResolveError) as caught:
        web.resolve_properties(empty)
    problem = caught.value.problem
    assert problem.path == "resources.web.properties.size.get_param"
    assert problem.position is not None
    assert (problem.position.file, problem.position.line) == ("t.yaml", 11)
    assert str(problem) == str(caught.value)


def test_what_was_resolved_shares_nothing_with_the_definition(web: ResourceDefinition) -> None:
    web.resolve_properties(READY)["plain"].append("more")
    assert web.resolve_properties(READY)["plain"] == [1, {"a": None}]
    assert web.properties["plain"] == [1, {"a": None}]


def test_a_rebuilt_definition_equals_the_first_and_gives_the_same_fragment() -> None:
    definition = parse_template(BODY, files={"run.sh": ""}).resources["web"]
    assert rebuilt(definition) == definition
    assert rebuilt(definition).fragment() == definition.fragment()


def test_a_fragment_of_a_small_resource_is_small() -> None:
    fragment = parse_template(BODY).resources["net"].fragment()
    assert fragment == {"t": "X", "v": "2021-04-16", "f": "t.yaml", "w": [fragment["w"][0]]}
    assert len(msgpack.packb(fragment)) < 50


def test_only_the_place_keys_change_when_a_line_is_put_in_above() -> None:
    first = parse_template(BODY).resources["web"].fragment()
    second = parse_template("# a comment\n" + BODY).resources["web"].fragment()
    assert {key for key in first if first[key] != second[key]} == {"w"}
    assert set(first) >= PLACE_KEYS


def test_a_fragment_without_positions_still_resolves_and_complains() -> None:
    whole = parse_template(BODY).resources["web"].fragment()
    definition = ResourceDefinition.from_fragment(
        "web", {k: v for k, v in whole.items() if k not in PLACE_KEYS}
    )
    assert definition.resolve_metadata(READY) == {"disk": "disk-id", "from": 8}
    with pytest.raises(ResolveError) as caught:
        definition.resolve_properties(StackDefinition(name="s", id="1", resources=READY.resources))
    assert caught.value.problem.path == "resources.web.properties.size.get_param"


@pytest.mark.parametrize("fragment", [{}, {"t": "X"}, {"v": "2021-04-16"}, {"t": "X", "v": "1999-01-01"}])
def test_a_fragment_of_another_shape_is_refused(fragment: dict[str, Any]) -> None:
    with pytest.raises(PluginMistake, match="'web'"):
        ResourceDefinition.from_fragment("web", fragment)


def test_a_fragment_with_a_function_that_is_not_installed_here_says_which() -> None:
    fragment = {"t": "X", "v": "2021-04-16", "c": ["shout"], "p": {"a": {"shout": "x"}}}
    with pytest.raises(ResolveError, match="calls the function shout, which is not installed"):
        ResourceDefinition.from_fragment("web", fragment)


@pytest.mark.parametrize("section", ["properties", "metadata"])
def test_a_section_may_be_a_call_that_gives_a_map(parse: Parse, section: str) -> None:
    template = parse(f"resources: {{r: {{type: X, {section}: {{get_param: p}}}}}}")
    for definition in (template.resources["r"], rebuilt(template.resources["r"])):
        method = getattr(definition, f"resolve_{section}")
        assert method(StackDefinition(name="s", id="1", parameters={"p": {"a": 1}})) == {"a": 1}
        assert method(StackDefinition(name="s", id="1", parameters={"p": None})) == {}
        with pytest.raises(ResolveError, match="must be a map"):
            method(StackDefinition(name="s", id="1", parameters={"p": [1]}))


def test_outputs_resolve_like_properties(parse: Parse) -> None:
    output = parse(BODY).outputs["o"]
    assert output.requirements == {"net", "web"}
    assert output.required_attributes == {("web", ("value", "x"))}
    around = stack(net=proxy("net"), web=proxy("web", value__x="v"))
    assert output.resolve(around) == ["net-id", "v"]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), PLAIN, max_size=4))
def test_data_without_calls_comes_through_unchanged(properties: dict[str, Any]) -> None:
    fragment = {"t": "X", "v": "2013-05-23", "p": properties}
    definition = ResourceDefinition.from_fragment("r", msgpack.unpackb(msgpack.packb(fragment)))
    assert definition.resolve_properties(StackDefinition(name="s", id="1")) == properties


def test_rebuilding_a_resource_without_calls_takes_few_steps(parse: Parse) -> None:
    fragment = (
        parse("resources: {r: {type: X, depends_on: [a, b], properties: {a: 1, b: [x, y], c: {d: e}}}}")
        .resources["r"]
        .fragment()
    )
    assert calls(lambda: ResourceDefinition.from_fragment("r", fragment)) < 100
