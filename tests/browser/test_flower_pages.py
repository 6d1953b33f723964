"""Flower's own pages, under the policy that they are served with: what it forbids is an error in the console."""

from typing import Any

import httpx
import pytest

from tests.browser.conftest import Visiting
from tests.browser.site import OPERATOR, Site, nothing
from tests.browser.visit import THEMES
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow


def tasks_of(site: Site) -> dict[str, dict[str, Any]]:
    """Return the tasks that Flower knows, by their ids."""
    answer = httpx.get(site.page("/api/tasks"), auth=OPERATOR, timeout=PATIENCE_SECONDS)
    tasks: dict[str, dict[str, Any]] = answer.json()
    return tasks


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


@pytest.mark.parametrize("theme", THEMES)
def test_flowers_pages_keep_nobody_out(site: Site, visit: Visiting, theme: str) -> None:
    site.made(f"seen-{theme}", {"a": nothing()})
    with visit(theme=theme) as seen:
        rows = "(table) => document.querySelector(`${table} tbody a`) !== null"
        for path, table in (("/workers", "#workers-table"), ("/tasks", "#tasks-table")):
            seen.page.goto(site.page(path))
            seen.until(rows, table)
            # The links of the table's pages are drawn with its rows, and mended right after.
            seen.until("() => document.querySelector('[aria-role]') === null")
            assert seen.findings() == [], f"{path} in the theme {theme}"
        seen.page.goto(site.page(f"/task/{next(iter(tasks_of(site)))}"))
        assert seen.findings() == [], f"{seen.page.url} in the theme {theme}"
        seen.page.goto(site.page("/broker"))
        assert seen.findings() == [], f"/broker in the theme {theme}"
        seen.page.goto(site.page("/workers"))
        seen.page.locator(".worker-name-link").first.click()
        seen.until("() => document.querySelector('#worker-queues') !== null")
        for tab in seen.page.locator("[data-bs-target^='#tab-']").all():
            tab.click()
            seen.until(
                "(name) => document.querySelector(name).classList.contains('show')",
                tab.get_attribute("data-bs-target"),
            )
            assert seen.findings() == [], f"{tab.get_attribute('data-bs-target')} in the theme {theme}"


def test_a_resource_that_failed_is_no_task_that_succeeded(site: Site) -> None:
    site.made("luckless", {"a": nothing(properties={"fail": True})})

    def failed() -> list[dict[str, Any]]:
        return [each for each in tasks_of(site).values() if each["failed"]]

    (task,) = until(failed)
    assert (task["name"], task["state"]) == ("resource.check", "FAILURE")
    # Without the name, as long as the dashboard does not know yet whose stack it is.
    assert task["exception"] in ("ResourcesFailed", "ResourcesFailed('a')")
