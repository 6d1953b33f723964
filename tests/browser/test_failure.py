"""A stack that failed: which resource it was, what never began because of it, and what is around it."""

import json

import pytest
from playwright.sync_api import expect

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import BLOCKED, BROKEN, ROOT, Site, nothing

pytestmark = pytest.mark.slow

#: Whether so many resources are listed.
LISTED = "(number) => document.querySelectorAll('#graph-list tr[data-no]').length === number"


def test_the_failure_page_names_the_root_and_what_it_blocks(site: Site, visit: Visiting) -> None:
    stack = site.made("unlucky", BROKEN)
    told = site.service.observer.failure(stack.id).roots[0]
    assert (told.name, told.blocks, set(told.blocked)) == (ROOT, len(BLOCKED), set(BLOCKED))
    with visit() as seen:
        seen.open("/stack/unlucky/failure")
        seen.until("(root) => document.getElementById('failure').innerText.includes(root)", ROOT)
        page = seen.text("#failure")
        assert "as the property 'fail' asks" in page
        assert str(len(BLOCKED)) in page
        for name in BLOCKED:
            assert name in page
        # The likely root is named before anything that it blocks.
        assert page.index(ROOT) < min(page.index(name) for name in BLOCKED)


def test_why_there_was_a_rollback_is_told_by_what_it_took_back(site: Site, visit: Visiting) -> None:
    stack = site.made("returned", {"a": nothing()})
    worse = {"heat_template_version": "2021-04-16", "resources": {"a": nothing(properties={"fail": True})}}
    site.service.update(StackJob(name="returned", template=json.dumps(worse), rollback=True))
    assert site.ended(stack.id).state == "ROLLBACK_COMPLETE"
    with visit() as seen:
        seen.open("/stack/returned/failure")
        assert "Likely root: a" in seen.text("#failure")
        assert "It takes back UPDATE_FAILED: Resource UPDATE failed: resources.a" in seen.text("#failure")
        seen.page.get_by_role("link", name="Why UPDATE failed").click()
        seen.until("() => document.getElementById('failure-name')?.innerText === 'a'")
        # Nowhere does it look like a success.
        seen.open("/stack/returned/resources")
        assert seen.page.locator("#stack-state").get_attribute("data-state") == "undone"
        assert seen.page.locator("#stack-bar .state-done, #stack-counts .state-done").count() == 0
        seen.open("/stacks?search=returned")
        row = seen.page.locator("#stacks-rows tr")
        assert row.locator(".state").first.get_attribute("data-state") == "undone"
        assert row.locator(".state-done").count() == 0
        seen.open("/stack/returned/history")
        undone = seen.page.locator("#history-rows .state", has_text="ROLLBACK_COMPLETE")
        expect(undone).to_have_attribute("data-state", "undone")


def test_what_is_left_of_a_deleted_stack_does_not_look_like_a_success(site: Site, visit: Visiting) -> None:
    stack = site.made("gone", {"a": nothing()})
    site.service.delete("gone")
    site.ended(stack.id)
    with visit() as seen:
        seen.open("/stacks?search=gone&deleted=1")
        row = seen.page.locator("#stacks-rows tr", has_text="gone")
        expect(row.locator(".progress-part[data-state=done]")).to_have_class("progress-part state-undone")
        assert row.locator(".state-done").count() == 0


def test_a_focus_shows_what_is_around_a_resource_and_nothing_else(site: Site, visit: Visiting) -> None:
    site.made("around", BROKEN)
    with visit() as seen:
        seen.open(f"/stack/around/graph?view=list&focus={ROOT}")
        seen.until("() => !document.getElementById('graph-focus').hidden")
        assert seen.text("#graph-focus-name") == ROOT
        assert set(seen.names_listed()) == {ROOT, "network", "router", "file", "server", "volume"}
        seen.page.locator("#graph-depth").select_option("99")
        seen.until(LISTED, len(BROKEN))
        # The whole stack's counts stand in the legend all the same, and one of its states can be had alone.
        assert seen.legend() == {
            "done": len(BROKEN) - 1 - len(BLOCKED),
            "failed": 1,
            "unreached": len(BLOCKED),
        }
        seen.page.locator('#legend [data-state="failed"]').click()
        assert seen.names_listed() == [ROOT]
        seen.page.locator("#graph-unfocus").click()
        seen.page.locator("#graph-every-state").click()
        seen.until("() => document.getElementById('graph-focus').hidden")
        assert set(seen.names_listed()) == set(BROKEN)
        # The browser's way back leads back, over the states that were shown.
        seen.page.go_back()
        seen.until(LISTED, len(BROKEN))
        seen.page.go_back()
        seen.until("() => !document.getElementById('graph-focus').hidden")
