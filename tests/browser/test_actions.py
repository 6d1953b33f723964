"""An operator acts on a stack with the keyboard alone, is asked before, and sees on the page what came of it."""

import pytest
from playwright.sync_api import expect

from orchestrator.errors import NotFound
from tests.browser.conftest import Visiting
from tests.browser.site import Site, nothing
from tests.browser.visit import THEMES, Visit

pytestmark = pytest.mark.slow


def press(visit: Visit, action: str) -> None:
    """Go to an action's button, in the menu if it is there, and press it by the keyboard."""
    visit.page.wait_for_selector(f"#act-{action}", state="attached")
    if not visit.page.is_visible(f"#act-{action}"):
        visit.page.focus("#act-more")
        visit.page.keyboard.press("Enter")
    visit.page.focus(f"#act-{action}")
    visit.page.keyboard.press("Enter")


def until_offered(visit: Visit, action: str) -> None:
    visit.until(
        "(id) => document.getElementById(id)?.getAttribute('aria-disabled') === 'false'", f"act-{action}"
    )


def until_said(visit: Visit, sentence: str) -> None:
    visit.until("(said) => document.getElementById('act-said')?.textContent === said", sentence)


def test_a_hook_is_cleared_and_a_stack_deleted_by_the_keyboard(visit: Visiting, site: Site) -> None:
    stack = site.gated("acted-on", {"one": nothing()})
    with visit() as visited:
        visited.open("/stack/acted-on/events")
        keys = visited.page.keyboard

        # What has no point now says so, and asks nothing.
        until_offered(visited, "clear_hook")
        press(visited, "retry")
        until_said(visited, "there is nothing to try again: the stack is CREATE_IN_PROGRESS")
        expect(visited.page.locator("dialog")).to_have_count(0)

        # So do those in the menu, beside each; arrows go through it, and Escape leaves it.
        visited.page.focus("#act-more")
        keys.press("ArrowDown")
        expect(visited.page.locator("#act-check")).to_be_focused()
        why = "wait until the operation is over, or cancel it: the stack is CREATE_IN_PROGRESS"
        assert visited.text("#why-check") == why
        keys.press("ArrowUp")
        expect(visited.page.locator("#act-signal")).to_be_focused()
        keys.press("Escape")
        expect(visited.page.locator("#act-more")).to_be_focused()
        expect(visited.page.locator("#act-menu")).to_be_hidden()

        press(visited, "clear_hook")
        assert visited.text("#act-title") == "Clear hooks of acted-on?"
        assert visited.page.locator("#act-hook option").all_inner_texts() == [
            "All that stand (1)",
            "gate (pre-create)",
        ]
        visited.page.focus("#act-hook")
        keys.press("ArrowDown")
        keys.press("Tab")
        assert visited.focused() == "act-comment"
        keys.press("Tab")
        assert visited.focused() == "Leave it"
        keys.press("Tab")
        assert visited.focused() == "Clear hooks of acted-on"
        keys.press("Enter")
        until_said(visited, "cleared: gate (pre-create)")
        site.ended(stack.id)
        visited.until("() => document.getElementById('stack-state').textContent.includes('CREATE_COMPLETE')")

        # Another name confirms nothing, and Escape leaves all as it is.
        press(visited, "delete")
        assert visited.focused() == "act-name"
        keys.type("acted-onn")
        keys.press("Enter")
        expect(visited.page.locator("dialog")).to_have_count(1)
        keys.press("Escape")
        expect(visited.page.locator("dialog")).to_have_count(0)
        expect(visited.page.locator("#act-delete")).to_be_focused()
        assert site.service.stack(stack.id).status == "COMPLETE"

        press(visited, "delete")
        keys.type("acted-on")
        keys.press("Enter")
        until_said(visited, "acted-on is being deleted")
        visited.until("() => document.getElementById('act-delete').title === 'the stack is deleted'")
    with pytest.raises(NotFound):
        site.service.stack("acted-on")
    with visit() as visited:
        visited.open(f"/stack/{stack.id}/resources")
        empty = visited.page.locator("#resources-empty")
        expect(empty).to_have_text("This stack is deleted, and none of its resources is left.")
        assert visited.page.locator("#stacks-page").get_attribute("data-current") == "false"
        visited.open(f"/stack/{stack.id}/outputs")
        empty = visited.page.locator("#outputs-empty")
        expect(empty).to_have_text("This stack is deleted, and has no outputs any more.")


@pytest.mark.parametrize("theme", THEMES)
def test_the_question_is_open_to_all(theme: str, visit: Visiting, site: Site) -> None:
    name = f"asked-of-{theme}"
    site.made(name, {"one": nothing()})
    with visit(theme=theme) as visited:
        visited.open(f"/stack/{name}/events")
        until_offered(visited, "signal")
        visited.page.click("#act-more")
        assert visited.findings() == []
        for action in ("delete", "signal", "mark_unhealthy", "protect"):
            press(visited, action)
            assert visited.findings() == []
            visited.page.keyboard.press("Escape")

        # The page shows a mark that begins no operation, and what it keeps from being done.
        press(visited, "protect")
        visited.page.keyboard.press("Enter")
        until_said(visited, f"{name} is protected now")
        expect(visited.page.locator("#stack-protected")).to_be_visible()
        visited.until("() => document.getElementById('act-delete').title.includes('is protected')")

        # What was taken can be restored, and the focus comes back to the menu's button.
        press(visited, "snapshot")
        visited.page.keyboard.type("before")
        visited.page.fill("#act-comment", "before the <b>upgrade</b>")
        visited.page.keyboard.press("Enter")
        visited.until_stack("SNAPSHOT_COMPLETE")
        # Who ordered it, and why, is in the head and in the history.
        expect(visited.page.locator("#stack-by")).to_have_text("ann")
        expect(visited.page.locator("#stack-comment")).to_have_text("“before the <b>upgrade</b>”")
        until_offered(visited, "restore")
        press(visited, "restore")
        assert visited.text("#act-snapshot option").startswith("before, taken ")
        assert visited.findings() == []
        visited.page.keyboard.press("Escape")
        expect(visited.page.locator("#act-more")).to_be_focused()
        visited.open(f"/stack/{name}/events")
        # Of the mark, and of the snapshot.
        expect(visited.page.locator("#events-rows .by")).to_have_text(["by ann ", "by ann "])
        visited.open(f"/stack/{name}/history")
        expect(visited.page.locator("#history-rows .comment")).to_have_text("“before the <b>upgrade</b>”")
