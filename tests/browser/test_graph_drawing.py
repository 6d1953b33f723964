"""The drawing of a graph says what the stack is: each requirement has its arrow, and no arrow runs through a box."""

import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.drawn import Drawn
from tests.browser.site import GATE, Site, after, layers, nothing

Resources = Mapping[str, Mapping[str, Any]]


def chain(length: int) -> Resources:
    return {f"c{no}": after(f"c{no - 1}") if no else nothing() for no in range(length)}


def wide(width: int) -> Resources:
    return {f"w{no}": nothing() for no in range(width)}


#: Edges of one, two and three layers, which go by the boxes between them.
SKIPPING = {
    "net": nothing(),
    "subnet": after("net"),
    "router": after("net"),
    "port": after("net", "subnet"),
    "volume": nothing(),
    "server": after("port", "volume"),
    "address": after("router", "port", "net"),
    "record": after("address", "server", "net", "subnet"),
}
#: What an operator's template is like: 300 resources in six layers.
LARGE = layers(width=50, deep=6)
SHAPES: Mapping[str, Resources] = {
    "one": {"alone": nothing()},
    "chain": chain(10),
    "wide": wide(30),
    "deep": layers(width=2, deep=30),
    "skipping": SKIPPING,
    # With the gate these are as many as are drawn one by one.
    "large": dict(list(LARGE.items())[:299]),
}


def arrows_of(resources: Resources) -> list[tuple[str, str]]:
    """Return from what to what an arrow leads in a stack that stands at its gate."""
    return sorted(
        (other, name)
        for name, resource in resources.items()
        for other in (resource.get("depends_on") or [GATE])
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_each_requirement_is_drawn_and_no_arrow_runs_through_a_box(
    site: Site, visit: Visiting, shape: str
) -> None:
    resources = SHAPES[shape]
    site.gated(f"drawn-{shape}", resources)
    with visit() as seen:
        seen.open(f"/stack/drawn-{shape}/graph")
        drawn = Drawn(seen)
        assert drawn.boxes == sorted([GATE, *resources])
        assert drawn.arrows == arrows_of(resources)
        assert drawn.faults == []
        assert drawn.loose_ends() == []


def test_a_replacement_is_one_box_and_what_is_removed_waits_for_what_required_it(
    site: Site, visit: Visiting
) -> None:
    def swap(value: str, **more: Any) -> dict[str, Any]:
        return {"a": nothing(properties={"value": value, "update_replace": True}), **more}

    stack = site.made("drawn-update", swap("one", c=nothing(), b=after("a", "c")))
    template = {"heat_template_version": "2021-04-16", "resources": swap("two", b=after("a"))}
    site.service.update(StackJob(name="drawn-update", template=json.dumps(template)))
    site.ended(stack.id)
    with visit() as seen:
        seen.open("/stack/drawn-update/graph")
        seen.until_legend(done=4)
        drawn = Drawn(seen)
        assert drawn.boxes == ["a", "b", "c"]
        assert drawn.arrows == [("a", "b"), ("b", "c")]
        assert drawn.faults == []
        assert "A box with three lines is a resource that is replaced" in seen.text("#graph-note")
        # What became of the old one is in the words of the box, and its details are one step away.
        seen.page.locator("#graph-search").fill("a")
        seen.page.keyboard.press("Enter")
        seen.page.locator("#vertex").get_by_role("button", name="the old one").click()
        seen.until(
            "() => document.getElementById('vertex').innerText.includes('DELETE, of what is replaced')"
        )


def test_the_drawing_is_saved_as_a_file(site: Site, visit: Visiting) -> None:
    site.gated("drawn-saved", SKIPPING)
    with visit() as seen:
        seen.open("/stack/drawn-saved/graph")
        Drawn(seen)
        saved = {}
        for kind in ("svg", "png"):
            with seen.page.expect_download() as download:
                seen.page.get_by_role("button", name=f"Save as {kind.upper()}").click()
            assert download.value.suggested_filename == f"drawn-saved-graph.{kind}"
            saved[kind] = download.value.path().read_bytes()
    drawing = ElementTree.fromstring(saved["svg"])
    boxes = drawing.findall("{*}g[@class='box']")
    assert sorted(str(box.findtext("{*}text")) for box in boxes) == sorted([GATE, *SKIPPING])
    assert len(drawing.findall("{*}path[@class='arrow']")) == len(arrows_of(SKIPPING))
    # A picture has more than its size.
    assert saved["png"].startswith(b"\x89PNG")
    assert len(saved["png"]) > 5_000


def test_a_nested_stack_is_a_box_and_has_a_graph_of_its_own(site: Site, visit: Visiting) -> None:
    members = {"count": 3, "resource_def": nothing()}
    resources = {
        "net": nothing(),
        "group": {"type": "OS::Heat::ResourceGroup", "depends_on": ["net"], "properties": members},
        "last": after("group", "net"),
    }
    site.made("drawn-nested", resources)
    with visit() as seen:
        seen.open("/stack/drawn-nested/graph?resource=group")
        drawn = Drawn(seen)
        assert drawn.arrows == [("group", "last"), ("net", "group"), ("net", "last")]
        assert drawn.faults == []
        seen.page.locator("#vertex").get_by_role("link", name="Its stack").click()
        seen.until("() => document.querySelector('h1')?.innerText.startsWith('drawn-nested-group')")
        assert Drawn(seen).boxes == ["0", "1", "2"]
