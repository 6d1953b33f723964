"""Every page, in both themes: nothing on it keeps people out, and nothing on it goes wrong."""

import pytest
from playwright.sync_api import ViewportSize

from orchestrator.dashboard.handlers.base import PageHandler
from orchestrator.dashboard.routes import routes
from orchestrator.views.stacks import StackView
from tests.browser.conftest import Visiting
from tests.browser.site import BROKEN, ROOT, Site
from tests.browser.visit import THEMES

pytestmark = pytest.mark.slow

STACK = "broken"
#: The parts of addresses that are not the stack alone, by the name of their route.
PARTS = {"stacks_type": ("OS::Heat::TestResource",), "stack_resource": (STACK, ROOT)}
#: Redirections, and the page of a node, which test_fleet.py has.
NOT_HERE = ("root", "stack", "nowhere", "stacks_node")
PAGES = (
    *(
        route.reverse(*PARTS.get(route.name, [STACK] * route.regex.groups))
        for route in routes()
        if issubclass(route.handler_class, PageHandler) and route.name not in NOT_HERE
    ),
    f"/stack/{STACK}/graph?view=list",
    f"/stack/{STACK}/graph?part=groups",
)
#: Pages of a stack that are a table.
TABLES = ("events", "resources", "history")
WIDE, PHONE = ViewportSize(width=1440, height=1000), ViewportSize(width=390, height=844)
#: What makes a page wider than the screen.
BEYOND = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
    .map((each) => each.outerHTML.slice(0, 120))"""
#: What is wider than the place it has.
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll(".table-frame")]
  .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className)"""


@pytest.fixture(scope="package")
def broken(site: Site) -> StackView:
    """A stack in which everything is there that pages show: done, failed, never begun."""
    return site.made(STACK, BROKEN)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("theme", THEMES)
def test_no_page_keeps_anybody_out(visit: Visiting, theme: str) -> None:
    with visit(theme=theme) as seen:
        for path in PAGES:
            seen.page.set_viewport_size(WIDE)
            seen.open(path)
            assert seen.page.locator("html").get_attribute("data-bs-theme") == theme
            # What a page is made of is the same in both; its colours are not.
            findings = seen.findings() if theme == "light" else seen.findings("color-contrast")
            assert findings == [], f"{path} in the theme {theme}"
            assert seen.page.locator("h1").count() == 1
            assert seen.page.locator("#trouble").is_hidden(), seen.text("#trouble")
            if theme == "light":
                seen.page.set_viewport_size(PHONE)
                assert seen.findings() == [], f"{path} on a phone"
                assert seen.page.evaluate(BEYOND) == [], f"{path} is wider than a phone"


@pytest.mark.usefixtures("broken")
def test_on_a_phone_no_table_is_wider_than_the_screen(visit: Visiting) -> None:
    with visit() as seen:
        seen.page.set_viewport_size(PHONE)
        for path in (
            "/stacks",
            "/stacks/cache",
            "/stacks/workers",
            *(f"/stack/{STACK}/{tab}" for tab in TABLES),
            f"/stack/{STACK}/resource/{ROOT}",
        ):
            seen.open(path)
            seen.page.wait_for_selector(".list tbody tr", state="attached")
            assert seen.page.evaluate(TOO_WIDE) == [], path
        # What a number is stands before it.
        assert seen.page.locator("td", has_text="1").first.get_attribute("data-label")


@pytest.mark.usefixtures("broken")
def test_a_theme_that_was_chosen_stays_on_every_page(visit: Visiting) -> None:
    with visit(theme="light") as seen:
        seen.open(f"/stack/{STACK}/graph")
        seen.page.get_by_role("button", name="Select theme").click()
        seen.page.locator('[data-bs-theme-value="dark"]').click()
        seen.open("/stacks")
        assert seen.page.locator("html").get_attribute("data-bs-theme") == "dark"
