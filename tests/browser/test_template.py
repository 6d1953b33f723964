"""A stack's template: coloured, folded, and linked with the resources that it declares."""

import pytest
from playwright.sync_api import expect

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site
from tests.browser.visit import THEMES

pytestmark = pytest.mark.slow

TEMPLATE = """heat_template_version: 2021-04-16
parameters:
  password: {type: string, hidden: true, default: quince-1}
resources:
  one:
    type: OS::Heat::TestResource
  "it's two": {type: 'OS::Heat::TestResource', depends_on: one}
outputs:
  <b>three</b>: {value: one}
"""
LINES = "#template-source .cm-line"


def test_resources_and_their_lines_lead_to_each_other(visit: Visiting, site: Site) -> None:
    made = site.service.create(StackJob(name="lined", template=TEMPLATE))
    site.ended(made.id)
    with visit() as seen:
        page = seen.page
        seen.open("/stack/lined/resources")
        page.get_by_role("link", name="it's two in the template").click()
        sought = page.locator("#template-source .is-sought")
        expect(sought).to_contain_text("it's two")
        source = page.locator("#template-source").get_by_role("textbox", name="Template")
        expect(source).to_contain_text("<b>three</b>: {value: one}")
        expect(source).not_to_contain_text("quince-1")
        assert seen.findings() == []

        # A line has an address, and the way back undoes its choice.
        page.locator("#template-source .cm-lineNumbers .cm-gutterElement", has_text="5").click()
        expect(sought).to_have_text("  one:")
        assert page.url.endswith("template?line=5")
        page.go_back()
        expect(sought).to_contain_text("it's two")

        source.get_by_role("link", name="it's two").click()
        page.wait_for_url("**/graph?resource=it%27s+two")
        expect(page.locator(".vertex-head h2")).to_have_text("it's two")
        page.locator(".vertex-links").get_by_role("link", name="Template").click()
        expect(sought).to_contain_text("it's two")

        seen.open("/stack/lined/template?resource=gone")
        expect(page.locator("#template-missing")).to_have_text("This template has no resource gone.")
        expect(sought).to_have_count(0)
        # Folded and read-only, by the keyboard too.
        source.focus()
        page.keyboard.type("x")
        page.keyboard.press("Control+Alt+[")
        expect(page.locator(LINES).first).to_have_text("heat_template_version: 2021-04-16")
        expect(page.locator("#template-source .cm-foldPlaceholder")).not_to_have_count(0)


@pytest.mark.parametrize("theme", THEMES)
def test_a_template_in_json_has_its_links(theme: str, visit: Visiting, site: Site) -> None:
    resources = '{"one": {"type": "OS::Heat::TestResource"}}'
    template = f'{{"heat_template_version": "2021-04-16", "resources": {resources}}}'
    site.service.create(StackJob(name=f"json-{theme}", template=template))
    with visit(theme=theme) as seen:
        seen.open(f"/stack/json-{theme}/template?resource=one")
        expect(seen.page.locator("#template-source .is-sought")).to_have_count(1)
        expect(seen.page.locator("#template-source").get_by_role("link")).to_have_text(
            ['"one"', '"OS::Heat::TestResource"']
        )
        assert seen.findings() == []
        seen.page.get_by_role("link", name="OS::Heat::TestResource").click()
        expect(seen.page.get_by_role("heading", level=1)).to_have_text("OS::Heat::TestResource")
        expect(seen.page.locator("#type-properties")).to_contain_text("Changed in place.")
        assert seen.findings() == []
        seen.page.get_by_role("link", name="Resource types").click()
        seen.page.get_by_role("searchbox").fill("randomstring")
        seen.page.get_by_role("searchbox").press("Enter")
        expect(seen.page.locator(".types-list dt")).to_have_text(["OS::Heat::RandomString"])
        assert seen.findings() == []
