"""A day of an operator, who never leaves the dashboard: makes, watches, finds out why, mends, looks who did what."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visiting
from tests.browser.editor import source, write
from tests.browser.site import OPERATOR, Site

pytestmark = pytest.mark.slow

TEMPLATE = """heat_template_version: 2021-04-16
parameters:
  size: {type: number, label: The size, constraints: [{range: {min: 1, max: 9}}]}
resources:
  network: {type: OS::Heat::TestResource, properties: {value: {get_param: size}}}
  disk: {type: OS::Heat::TestResource, depends_on: network, properties: {fail: true}}
  server: {type: OS::Heat::TestResource, depends_on: [network, disk]}
"""
WHY = "create failed, as the property 'fail' asks"


def test_an_operator_makes_a_stack_finds_why_it_failed_mends_it_and_sees_who_did_what(
    visit: Visiting, site: Site
) -> None:
    with visit() as seen:
        page = seen.page
        seen.open("/stacks")
        page.get_by_role("link", name="New stack").click()
        expect(source(page)).to_contain_text("heat_template_version")
        write(page, TEMPLATE)
        page.fill("#name", "shop")
        page.get_by_label("The size").fill("12")
        expect(page.locator("[data-wrong=size]")).to_be_visible()
        page.get_by_label("The size").fill("3")
        expect(page.locator("#problems")).to_have_text("No problems.")
        page.click("#preview")
        expect(page.locator("#plan-counts")).to_have_text("3 create")
        page.get_by_label("Reason").fill("the new shop")
        page.get_by_role("button", name="Create stack").click()
        page.wait_for_url("**/stack/*/graph*")

        # It fails under the operator's eyes, and says what, and what was never begun because of it.
        seen.until_stack("CREATE_FAILED")
        seen.until_legend(done=1, failed=1, unreached=1)
        page.get_by_role("link", name="Failure", exact=True).click()
        cause = page.locator("#stacks-page")
        expect(cause).to_contain_text(WHY)
        expect(cause).to_contain_text("server")
        page.goto(site.page("/stack/shop/resource/disk"))
        expect(page.locator("#stacks-page")).to_contain_text(WHY)

        page.get_by_role("link", name="shop", exact=True).click()
        page.get_by_role("link", name="Update…").click()
        expect(source(page)).to_contain_text("fail: true")
        write(page, TEMPLATE.replace("fail: true", "value: mended"))
        expect(page.locator("#problems")).to_have_text("No problems.")
        page.click("#preview")
        expect(page.locator("#plan")).to_contain_text("disk")
        page.get_by_label("Reason").fill("the disk is mended")
        page.get_by_role("button", name="Update stack").click()
        page.wait_for_url("**/stack/*/graph*")
        seen.until_stack("UPDATE_COMPLETE")

        seen.open("/stack/shop/history")
        rows = page.locator("#history-rows tr")
        expect(rows).to_have_count(2)
        for row, reason in zip(rows.all(), ("the disk is mended", "the new shop"), strict=True):
            expect(row).to_contain_text(reason)
            expect(row).to_contain_text(OPERATOR[0])
        seen.open("/stack/shop/runs")
        expect(page.locator("[data-place='1 2']")).to_have_attribute(
            "aria-label", re.compile("^disk: (made|replaced)")
        )
