"""Types add requirements to those of a template: in plans, previews, graphs, and never against what a template says."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.testing.engine import Engine
from orchestrator.cli.graph import as_dot, as_mermaid
from orchestrator.config.settings import Settings
from orchestrator.errors import PluginMistake
from orchestrator.model.graph import Graph
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.preparation import desired_of, prepare
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.siblings import Sibling, Siblings, reference_of
from orchestrator.plugins.translation import Replace

TEXT = Property(type=PropertyType.STRING)


class Net(Resource):
    properties_schema = {"after": TEXT}


class Subnet(Resource):
    properties_schema = {"network": TEXT, "network_id": TEXT}

    @classmethod
    def translation_rules(cls, properties: Any) -> Any:
        return [Replace(path=("network",), source=("network_id",))]


class Port(Resource):
    """Comes after all subnets of its network."""

    properties_schema = {"network": TEXT}

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterator[str]:
        for each in siblings.of(Subnet):
            network = own.properties["network"]
            if each.properties["network"] == network and reference_of(network) in (None, "net"):
                yield each.name


class Wrong(Resource):
    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        return ["nobody"]


TYPES = {"T::Net": Net, "T::Subnet": Subnet, "T::Port": Port, "T::Wrong": Wrong}

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {known: {type: string, default: there}}
resources:
  port: {type: T::Port, properties: {network: {get_resource: net}}}
  other: {type: T::Port, properties: {network: {get_param: known}}}
  net: {type: T::Net}
  mine: {type: T::Subnet, properties: {network_id: {get_resource: net}}}
  there: {type: T::Subnet, properties: {network: there}}
  elsewhere: {type: T::Subnet, properties: {network: nowhere}}
  early: {type: T::Subnet, depends_on: [port], properties: {network: {get_resource: net}}}
"""


def requirements(template: str, *environments: str) -> dict[str, frozenset[str]]:
    sources = tuple(EnvironmentSource(file="e.yaml", source=each) for each in environments)
    types = {**ResourceTypes.load(), **TYPES}
    job = StackJob(name="s", template=template, environments=sources)
    prepared = prepare(job, types, Settings())
    return {each.name: each.requires for each in desired_of(prepared)}


def test_a_type_adds_what_a_template_does_not_say_but_no_circle() -> None:
    found = requirements(TEMPLATE)
    assert found["port"] == {"net", "mine"}
    assert found["other"] == {"there"}
    assert found["early"] == {"net", "port"}


def test_types_that_an_environment_maps_count_as_what_they_are() -> None:
    mapped = TEMPLATE.replace("T::Subnet", "My::Subnet")
    registry = "resource_registry: {'My::Subnet': 'T::Subnet'}"
    assert requirements(mapped, registry)["port"] == {"net", "mine"}


def test_one_that_names_what_is_not_there_is_a_mistake_of_the_type() -> None:
    with pytest.raises(PluginMistake, match="named 'nobody', which is no resource of the stack"):
        requirements("heat_template_version: 2021-04-16\nresources: {r: {type: T::Wrong}}")


def test_the_order_holds_and_is_shown_as_implied() -> None:
    engine = Engine(TYPES)
    try:
        made = engine.create("s", TEMPLATE)
        assert made is not None
        assert made.state == "CREATE_COMPLETE"
        complete = [each.resource for each in engine.queries.events("s") if each.state == "CREATE_COMPLETE"]
        assert complete.index("mine") < complete.index("port")
        graph = engine.queries.graph("s")
        assert graph.implied == (("other", "there"), ("port", "mine"))
        assert '"port" -> "mine" [style=dashed, label="implied"];' in as_dot(graph, "s")
        assert "n0 -. implied .-> n3" in as_mermaid(graph)
        # Nothing changes, so nothing is done; a new subnet is made before what comes after it is looked at again.
        assert engine.update("s", TEMPLATE)
        engine.delete("s")
    finally:
        engine.close()


@st.composite
def templates(draw: st.DrawFn) -> str:
    """Stacks whose ports and subnets depend on each other in any way that is no circle by itself."""
    count = draw(st.integers(2, 7))
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for number in range(count):
        kind = draw(st.sampled_from(["T::Port", "T::Subnet"]))
        after = draw(st.sets(st.integers(0, number - 1)) if number else st.just(set[int]()))
        depends = ", ".join(f"r{each}" for each in after)
        network = draw(st.sampled_from("ab"))
        lines.append(
            f"  r{number}: {{type: '{kind}', depends_on: [{depends}], properties: {{network: {network}}}}}"
        )
    return "\n".join(lines)


@given(template=templates())
def test_no_requirement_that_a_type_adds_closes_a_circle(template: str) -> None:
    Graph(requirements(template)).in_order()
