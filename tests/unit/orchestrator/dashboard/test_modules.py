"""A page asks for all scripts that it needs at once."""

import re

import pytest

from orchestrator.dashboard.modules import STATIC, needed_by

SCRIPTS = sorted(path.name for path in (STATIC / "js").glob("*.js"))


def test_the_graph_needs_what_it_imports_and_what_that_imports() -> None:
    needed = needed_by("js/graph.js")
    assert needed[0] == "js/graph.js"
    assert len(set(needed)) == len(needed)
    assert {
        "js/stream.js",
        "js/graph_drawing.js",
        "js/graph_layout.js",
        "js/elk.js",
        "js/cytoscape.js",
    } <= set(needed)
    for library in ("cytoscape", "elkjs"):
        assert [name for name in needed if name.startswith(f"vendor/{library}-")]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_import_is_seen_and_leads_to_a_script_that_is_there(script: str) -> None:
    needed = needed_by(f"js/{script}")
    assert all((STATIC / each).is_file() for each in needed)
    for each in needed:
        if each.startswith("js/"):
            statements = re.findall(
                r"^(?:import|export \{|\} from)\b.*", (STATIC / each).read_text(), re.MULTILINE
            )
            named = {re.sub(r".*/", "", path) for path in re.findall(r'"([^"]+)";', "\n".join(statements))}
            assert named <= {re.sub(r".*/", "", path) for path in needed}
