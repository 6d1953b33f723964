"""A stack is watched from its first event to its last."""

import itertools

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visiting
from tests.browser.site import Site, layers, nothing
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

#: How many resources it has, the one at the gate besides.
WIDTH, DEEP = 30, 10


def test_a_large_stack_is_watched_from_the_first_to_the_last_event(site: Site, visit: Visiting) -> None:
    stack = site.gated("large", layers(WIDTH, DEEP))
    total = WIDTH * DEEP + 1
    with visit() as seen:
        seen.open("/stack/large/graph")
        seen.until_legend(blocked=total - 1, held=1)
        before = site.event_ids(stack)
        seen.add_up()
        seen.compare()
        site.let_on(stack)
        seen.until_legend(done=total)
        seen.until_stack("CREATE_COMPLETE")
        # No picture in between lost a resource, or had one twice.
        assert seen.sums() == [total]
        # The head and the legend never had different numbers.
        assert seen.differences() == []
        told = [each for each in seen.told_to_the_last(stack) if each > before[-1]]
        assert told == [each for each in site.event_ids(stack) if each > before[-1]]
        # Among them is the end of each resource; on a busy machine one may have been begun more than once.
        ends = (
            "SELECT id, resource FROM event WHERE stack_id = %s AND action = 'CREATE' AND status = 'COMPLETE'"
        )
        ended = {
            resource for number, resource in site.rows(ends, stack.id) if resource and number in set(told)
        }
        assert len(ended) == total
        assert seen.legend() == {state: number for state, number in site.states(stack).items() if number}
        assert seen.text("#stack-percent").startswith("100")
        assert str(total) in seen.text("#stack-counts")
        assert seen.page.evaluate("() => window.resyncs") == 0


#: More than a browser has connections to one server.
PAGES = 8


def test_many_pages_of_a_browser_share_one_stream(site: Site, visit: Visiting) -> None:
    stack, other = (site.gated(name, {"one": nothing()}) for name in ("watched", "quiet"))
    with visit() as seen:
        seen.open("/stack/watched/events")
        others = [seen.page.context.new_page() for _ in range(PAGES - 2)]
        for page, tab in zip(others, itertools.cycle(("resources", "timeline", "history")), strict=False):
            page.goto(site.page(f"/stack/watched/{tab}"))
            expect(page.locator("#as-of")).to_have_attribute("data-state", "live")
        aside = seen.page.context.new_page()
        aside.goto(site.page("/stack/quiet/resources"))
        expect(aside.locator("#as-of")).to_have_attribute("data-state", "live")
        metrics = httpx.get(site.page("/metrics"), timeout=PATIENCE_SECONDS).text
        assert "isotherm_dashboard_streams 1.0" in metrics.splitlines()
        site.let_on(stack)
        for page in (seen.page, *others):
            expect(page.locator("#stack-state")).to_have_text("CREATE_COMPLETE")
        # Each page is sent the events of its own stack.
        assert set(seen.told_to_the_last(stack)) <= set(site.event_ids(stack))
        assert aside.evaluate("() => window.told") == []
        # Others go on when one is closed, and what comes later has missed nothing.
        seen.page.close()
        site.let_on(other)
        expect(aside.locator("#stack-state")).to_have_text("CREATE_COMPLETE")
