"""Graphs of one resource and of two thousand."""

import pytest

from tests.browser.conftest import Visiting
from tests.browser.site import Site, layers, nothing

pytestmark = pytest.mark.slow

WIDTH, DEEP = 50, 40
#: What browsers may have to fetch of scripts, compressed: for the list of stacks, and for any page.
LIST_BYTES, PAGE_BYTES = 150_000, 900_000
#: The sizes of all scripts that a page has fetched, as they were sent.
SENT = """() => performance.getEntriesByType("resource").filter((each) => /[.]js([?]|$)/.test(each.name))
  .map((each) => each.encodedBodySize)"""


def test_a_graph_of_one_resource_is_shown(site: Site, visit: Visiting) -> None:
    site.made("single", {"alone": nothing()})
    with visit() as seen:
        seen.open("/stack/single/graph")
        seen.until_legend(done=1)
        seen.until("() => document.querySelector('#graph-frame canvas') !== null")
        seen.page.locator("#graph-listed").click()
        assert seen.names_listed() == ["alone"]


def test_scripts_are_small_and_the_list_needs_few(site: Site, visit: Visiting) -> None:
    site.made("small", {"a": nothing(), "b": nothing(depends_on=["a"])})
    with visit() as seen:
        seen.open("/stacks")
        listed = seen.page.evaluate(SENT)
    with visit() as seen:
        seen.open("/stack/small/graph")
        seen.until("() => document.querySelector('[data-drawn]') !== null")
        drawn = seen.page.evaluate(SENT)
    assert 0 < sum(listed) < LIST_BYTES
    # The layout's is by far the largest.
    assert max(drawn) > 400_000
    assert sum(drawn) < PAGE_BYTES


def test_a_graph_of_two_thousand_is_shown_in_groups_whole_and_around_one(site: Site, visit: Visiting) -> None:
    total = WIDTH * DEEP
    site.gated("huge", layers(WIDTH, DEEP))
    with visit() as seen:
        seen.open("/stack/huge/graph")
        seen.until_legend(blocked=total, held=1)
        # More than can be told apart: groups to begin with, whole if it is wanted.
        assert seen.page.locator("#graph-groups").get_attribute("aria-pressed") == "true"
        seen.page.locator("#graph-all").click()
        seen.until("() => document.getElementById('graph-all').getAttribute('aria-pressed') === 'true'")
        seen.until_legend(blocked=total, held=1)
        seen.open("/stack/huge/graph?view=list&focus=r20-7")
        seen.until("() => document.querySelectorAll('#graph-list tr[data-no]').length > 0")
        assert set(seen.names_listed()) == {"r20-7", "r19-7", "r19-8", "r21-6", "r21-7"}
        assert seen.legend() == {"blocked": total, "held": 1}
        # Of so many resources the first are shown, and the others are found all the same.
        seen.open("/stack/huge/resources")
        rows = seen.page.locator("#resources-rows tr")
        seen.until("() => document.querySelectorAll('#resources-rows tr').length === 100")
        seen.page.locator("#resources-more").press("Enter")
        assert rows.count() == 600
        assert seen.focused() == "resources-more"
        seen.page.locator("#resources-search").fill("r39-4")
        assert rows.count() == 11
        assert seen.text("#resources-range") == "2,001 resources, 11 of which match"
        seen.page.get_by_role("button", name="Name").press("Enter")
        seen.page.get_by_role("button", name="Name").press("Enter")
        assert rows.first.locator("th").inner_text() == "r39-49"
        assert seen.page.get_by_role("columnheader", name="Name").get_attribute("aria-sort") == "descending"
