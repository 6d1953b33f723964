"""Flower's own pages, under the policy that they are served with: what it forbids is an error in the console."""

import pytest

from tests.browser.conftest import Visiting
from tests.browser.site import Site

pytestmark = pytest.mark.slow


def test_flowers_pages_run_and_look_as_they_are_meant_to(site: Site, visit: Visiting) -> None:
    with visit() as seen:
        for path, table in (("/workers", "#workers-table"), ("/tasks", "#tasks-table")):
            seen.page.goto(site.page(path))
            # The script of the table has run, and so has what is written into the page.
            seen.until("(table) => document.querySelector(`${table}.dataTable`) !== null", table)
        seen.page.goto(site.page("/workers"))
        seen.page.locator("#theme-toggle").click()
        seen.page.locator("[data-bs-theme-value=dark]").click()
        seen.until("() => document.documentElement.dataset.bsTheme === 'dark'")
        assert seen.page.evaluate("() => typeof autorefresh") == "number"
        seen.page.locator(".worker-name-link").first.click()
        seen.until("() => document.querySelector('#worker-queues') !== null")
        seen.page.locator("[data-bs-target='#tab-queues']").click()
        heading = seen.page.locator("th[style]").first
        assert heading.evaluate("(each) => each.style.width") == "125px"
        seen.page.goto(site.page("/broker"))
