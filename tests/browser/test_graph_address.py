"""What is looked at in a graph stands in the page's address: links and the browser's history lead back to it."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visiting
from tests.browser.drawn import Drawn
from tests.browser.site import BROKEN, ROOT, Site, layers
from tests.browser.visit import Visit

#: Whether all of the panel is on the screen, and how much of the drawing it covers, in pixels.
PANEL = """() => {
  const [panel, frame] = ["vertex", "graph-frame"].map((id) => document.getElementById(id).getBoundingClientRect());
  const covered = Math.max(0, Math.min(panel.right, frame.right) - Math.max(panel.left, frame.left));
  const head = document.querySelector("#vertex h2").getBoundingClientRect();
  const isSeen = head.top >= 0 && head.bottom <= innerHeight && head.right <= innerWidth;
  return { isSeen, covered: Math.round(covered) };
}"""


def opened(seen: Visit, name: str | None) -> None:
    """Wait until the details of a resource are open, or none."""
    panel = seen.page.locator("#vertex")
    if name is None:
        expect(panel).to_be_hidden()
    else:
        expect(panel.locator("h2")).to_have_text(name)


def search(seen: Visit, name: str) -> None:
    """Open a resource by its name."""
    seen.page.locator("#graph-search").fill(name)
    seen.page.keyboard.press("Enter")
    opened(seen, name)


def test_back_undoes_a_selection_and_a_link_repeats_it(site: Site, visit: Visiting) -> None:
    site.made("linked", BROKEN)
    with visit() as seen:
        seen.open("/stack/linked/graph")
        Drawn(seen)
        search(seen, ROOT)
        search(seen, "network")
        expect(seen.page).to_have_url(re.compile(r"resource=network$"))
        seen.page.locator("#legend [data-state=failed]").click()
        expect(seen.page).to_have_url(re.compile(r"states=failed"))
        seen.page.go_back()
        expect(seen.page.locator("#legend [data-state=failed]")).to_have_attribute("aria-pressed", "false")
        opened(seen, "network")
        seen.page.go_back()
        opened(seen, ROOT)
        seen.page.go_forward()
        opened(seen, "network")
        seen.page.locator("#vertex").get_by_role("button", name="Close").click()
        opened(seen, None)
        assert "resource" not in seen.page.url
        seen.page.go_back()
        opened(seen, "network")
        # Beside the drawing where there is room, and in view on a phone.
        assert seen.page.evaluate(PANEL) == {"isSeen": True, "covered": 0}
        seen.page.set_viewport_size({"width": 390, "height": 844})
        assert seen.page.evaluate(PANEL)["isSeen"]
        seen.page.set_viewport_size({"width": 1280, "height": 800})
        seen.open(f"/stack/linked/graph?focus={ROOT}&depth=2&states=failed&resource={ROOT}")
        opened(seen, ROOT)
        assert seen.text("#graph-focus-name") == ROOT
        assert seen.page.locator("#graph-depth").input_value() == "2"
        expect(seen.page.locator("#legend [data-state=failed]")).to_have_attribute("aria-pressed", "true")
        # What was opened stays open in another part, as long as it is in it.
        seen.page.locator("#graph-unfocus").click()
        expect(seen.page.locator("#graph-focus")).to_be_hidden()
        opened(seen, ROOT)
        seen.page.locator("#graph-groups").click()
        opened(seen, None)


def test_a_graph_of_more_than_300_opens_folded_and_says_so(site: Site, visit: Visiting) -> None:
    resources = layers(width=20, deep=15)
    site.gated("folded", resources)
    with visit() as seen:
        seen.open("/stack/folded/graph")
        drawn = Drawn(seen)
        assert len(drawn.boxes) == 16
        assert len(drawn.arrows) == 15
        assert drawn.faults == []
        assert "It is folded" in seen.text("#graph-note")
        # A link to one of them shows what is around it.
        seen.open("/stack/folded/graph?resource=r7-7")
        opened(seen, "r7-7")
        assert Drawn(seen).boxes == ["r6-7", "r6-8", "r7-7", "r8-6", "r8-7"]
        seen.page.locator("#graph-unfocus").click()
        opened(seen, None)
        seen.page.get_by_role("button", name="Open all 301").click()
        seen.until("() => document.getElementById('graph').dataset.part === 'all'")
        drawn = Drawn(seen)
        assert len(drawn.boxes) == 301
        assert drawn.faults == []


def test_a_graph_that_cannot_be_laid_out_is_listed(site: Site, visit: Visiting) -> None:
    site.made("unlaid", BROKEN)
    with visit(expected=("Failed to load resource",)) as seen:
        seen.page.route("**/elkjs-*.worker.min.js", lambda route: route.fulfill(status=503))
        seen.open("/stack/unlaid/graph")
        seen.until("() => !document.getElementById('graph-unlaid').hidden")
        assert seen.text("#graph-unlaid").startswith("The graph could not be drawn: ")
        assert set(seen.names_listed()) == set(BROKEN)
        seen.page.unroute("**/elkjs-*.worker.min.js")
        seen.page.get_by_role("button", name="Draw it again").click()
        seen.until("() => !document.getElementById('graph-frame').hidden")
        assert Drawn(seen).boxes == sorted(BROKEN)
