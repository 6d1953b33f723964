"""Graphs of one resource and of two thousand."""

import pytest

from tests.browser.conftest import Visiting
from tests.browser.site import Site, layers, nothing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WIDTH, DEEP = 50, 40


def test_a_graph_of_one_resource_is_shown(site: Site, visit: Visiting) -> None:
    site.made("single", {"alone": nothing()})
    with visit() as seen:
        seen.open("/stack/single/graph")
        seen.until_legend(done=1)
        seen.until("() => document.querySelector('#graph-frame canvas') !== null")
        seen.page.locator("#graph-listed").click()
        assert seen.names_listed() == ["alone"]


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
