"""Dependency graph of a stack in the languages of Graphviz and Mermaid."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.views.stacks import GraphNode, GraphView

#: Fill colours by the end of a state's name.
COLOURS = {"COMPLETE": "#c8e6c9", "FAILED": "#ffcdd2", "IN_PROGRESS": "#fff9c4"}
UNTOUCHED = "#eeeeee"


def as_dot(graph: "GraphView", name: str) -> str:
    """Return the graph for Graphviz."""
    lines = [f"digraph {_dot_text(name)} {{", "  rankdir=BT;", '  node [shape=box, style="rounded,filled"];']
    for node in graph.nodes:
        # A backslash and an n is Graphviz's line end, so it goes in after the names are escaped.
        label = "\\n".join(_dot_text(part)[1:-1] for part in (node.name, node.type, node.state))
        lines.append(f'  {_dot_text(node.name)} [label="{label}", fillcolor="{_colour(node)}"];')
    implied = dict.fromkeys(graph.implied, ' [style=dashed, label="implied"]')
    lines += [
        f"  {_dot_text(requirer)} -> {_dot_text(required)}{implied.get((requirer, required), '')};"
        for requirer, required in graph.edges
    ]
    return "\n".join([*lines, "}", ""])


def as_mermaid(graph: "GraphView") -> str:
    """Return the graph for Mermaid, as Markdown pages show it."""
    numbers = {node.name: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart BT"]
    for node in graph.nodes:
        label = "<br/>".join(_mermaid_text(part) for part in (node.name, node.type, node.state))
        lines.append(f'  {numbers[node.name]}["{label}"]')
        lines.append(f"  style {numbers[node.name]} fill:{_colour(node)}")
    implied = dict.fromkeys(graph.implied, "-. implied .->")
    lines += [
        f"  {numbers[requirer]} {implied.get((requirer, required), '-->')} {numbers[required]}"
        for requirer, required in graph.edges
    ]
    return "\n".join([*lines, ""])


def _colour(node: "GraphNode") -> str:
    if node.state.startswith("INIT"):
        return UNTOUCHED
    return next((colour for end, colour in COLOURS.items() if node.state.endswith(end)), UNTOUCHED)


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def _mermaid_text(text: str) -> str:
    # Characters that Mermaid or HTML might read as markup are written as their numbers.
    return "".join(
        character if character.isalnum() or character in " _-.:" else f"#{ord(character)};"
        for character in text
    )
