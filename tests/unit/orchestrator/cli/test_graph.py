"""Graphs in the languages of Graphviz and Mermaid."""

import json
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.graph import as_dot, as_mermaid
from orchestrator.views.stacks import GraphNode, GraphView
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal, resource_view

GRAPH = GraphView(
    nodes=(
        GraphNode(name="disk", type="T::Disk", state="CREATE_COMPLETE"),
        GraphNode(name='the "server"', type="T::Server", state="CREATE_FAILED"),
    ),
    edges=(('the "server"', "disk"),),
)


def test_dot_has_a_node_for_each_resource_and_an_edge_to_what_it_requires() -> None:
    drawn = as_dot(GRAPH, "web")
    assert drawn.startswith('digraph "web" {\n')
    assert '"disk" [label="disk\\nT::Disk\\nCREATE_COMPLETE"' in drawn
    assert '  "the \\"server\\"" -> "disk";' in drawn


def test_mermaid_shows_names_as_text_only() -> None:
    drawn = as_mermaid(GRAPH)
    assert drawn.startswith("flowchart BT\n")
    assert 'n1["the #34;server#34;<br/>T::Server<br/>CREATE_FAILED"]' in drawn
    assert "  n1 --> n0" in drawn


@given(name=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_no_name_breaks_out_of_its_quotes(name: str) -> None:
    graph = GraphView(nodes=(GraphNode(name=name, type="T", state="INIT_COMPLETE"),), edges=((name, name),))
    line = as_dot(graph, name).splitlines()[3]
    unescaped = line.replace("\\\\", "").replace('\\"', "")
    assert unescaped.count('"') == 6  # around the name, the label and the colour
    assert as_mermaid(graph).splitlines()[1].count('"') == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it() -> None:
    subprocess.run(["dot", "-Tsvg"], input=as_dot(GRAPH, "web"), text=True, check=True, capture_output=True)


def test_the_command_draws_the_stack(terminal: Terminal, service: FakeService) -> None:
    service.resources_held = [resource_view("disk"), resource_view("server", requires=("disk",))]
    assert '"server" -> "disk"' in terminal.run("stack", "graph", "web").stdout
    assert "n1 --> n0" in terminal.run("stack", "graph", "web", "-f", "mermaid").stdout
    assert json.loads(terminal.run("stack", "graph", "web", "-f", "json").stdout)["edges"] == [
        ["server", "disk"]
    ]
