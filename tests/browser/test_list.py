"""The list of stacks: filters in the address and under a name, and one action on many stacks."""

import json
import re

import pytest
from playwright.sync_api import expect

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site, nothing
from tests.browser.test_keyboard import tab_to
from tests.browser.visit import THEMES, Visit

pytestmark = pytest.mark.slow

#: What is wider than the place it has.
TOO_WIDE = """() => [document.documentElement,
  ...document.querySelectorAll(".table-frame, .filters, .chosen-bar, dialog")]
  .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className)"""


def until_listed(seen: Visit, *names: str) -> None:
    seen.until(
        "(names) => [...document.querySelectorAll('#stacks-rows .stack-link')]"
        ".map((each) => each.textContent).sort().join() === names",
        ",".join(sorted(names)),
    )


def choose_all_found(seen: Visit, action: str) -> None:
    """Choose all that the filter finds, and open the preview of an action, by the keyboard."""
    seen.page.focus("#stacks-choose-page")
    seen.page.keyboard.press("Space")
    seen.page.locator("#chosen-action").select_option(action)
    seen.page.focus("#chosen-preview")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector(".many-list tbody tr")


def test_a_filter_is_in_the_address_and_kept_under_a_name(site: Site, visit: Visiting) -> None:
    for name in ("sifted-web", "sifted-db"):
        site.made(name, {"one": nothing()})
    with visit() as seen:
        keys = seen.page.keyboard
        seen.open("/stacks?search=sifted")
        until_listed(seen, "sifted-db", "sifted-web")
        tab_to(seen, "stacks-more-filters")
        keys.press("Enter")
        tab_to(seen, "filter-name")
        keys.type("*-web")
        until_listed(seen, "sifted-web")
        seen.page.fill("[name=over]", "7x")
        keys.press("Tab")
        # What is no duration is not asked for.
        assert seen.page.locator("[name=over]").evaluate("(field) => field.validity.patternMismatch")
        assert "over=" not in seen.page.url
        seen.page.fill("[name=over]", "1w")
        until_listed(seen)
        assert seen.text("#stacks-empty").startswith("No stack matches.")
        assert re.search(r"search=sifted&name=\*-web&over=1w", seen.page.url)
        expect(seen.page.locator("#stacks-more-filters")).to_have_text("More filters (2)")

        # Back leads to what was shown before the words were typed, and the fields say so.
        seen.page.go_back()
        until_listed(seen, "sifted-web")
        expect(seen.page.locator("[name=over]")).to_have_value("")
        seen.page.go_back()
        until_listed(seen, "sifted-db", "sifted-web")
        seen.page.go_forward()
        until_listed(seen, "sifted-web")

        seen.page.focus("#stacks-saved")
        keys.press("Enter")
        tab_to(seen, "saved-title")
        keys.type("Webs <b>")
        keys.press("Enter")
        expect(seen.page.locator("#stacks-saved-said")).to_have_text("saved: Webs <b>")
        assert seen.findings() == []
        keys.press("Escape")
        expect(seen.page.locator("#stacks-saved")).to_be_focused()
        # On another visit of this browser the filter is there, and is chosen by its name.
        seen.open("/stacks?search=nothing-like-it")
        until_listed(seen)
        seen.page.focus("#stacks-saved")
        keys.press("Enter")
        tab_to(seen, "Webs <b>")
        keys.press("Enter")
        until_listed(seen, "sifted-web")
        expect(seen.page.locator("[name=name]")).to_have_value("*-web")
        keys.press("Enter")
        tab_to(seen, "Remove")
        keys.press("Enter")
        expect(seen.page.locator(".saved")).to_have_count(0)
        seen.page.reload()
        seen.until_data()
        seen.page.click("#stacks-saved")
        expect(seen.page.locator("#stacks-saved-none")).to_be_visible()


def test_many_are_deleted_once_their_number_is_typed(site: Site, visit: Visiting) -> None:
    made = {name: site.made(name, {"one": nothing()}) for name in ("heap-a", "heap-b")}
    held = site.gated("heap-held", {"one": nothing()})
    with visit(expected=("409",)) as seen:
        keys = seen.page.keyboard
        seen.open("/stacks?name=heap-*")
        until_listed(seen, "heap-a", "heap-b", "heap-held")
        choose_all_found(seen, "check")
        # What cannot be done says why, and counts for nothing.
        assert seen.text("#many-title") == "Check 2 stacks?"
        assert seen.text("#many-said") == "1 stack of 3 is left out; the rows say why."
        left_out = seen.page.locator(".many-list tr", has_text="heap-held")
        expect(left_out).to_contain_text("left out wait until the operation is over, or cancel it")
        # An operation that begins after the preview is not the one that was shown.
        site.ended(site.service.operate("CHECK", made["heap-b"].id).id)
        assert seen.focused() == "act-comment"
        keys.type("after the power cut")
        keys.press("Enter")
        expect(seen.page.locator("#many-said")).to_have_text(
            "2 of 2 orders sent, 1 accepted, 1 not. 1 is over."
        )
        rows = seen.page.locator(".many-list tbody tr")
        expect(rows.filter(has_text="heap-a")).to_contain_text("CHECK_COMPLETE")
        expect(rows.filter(has_text="heap-b")).to_contain_text("refused")
        expect(rows.filter(has_text="heap-b")).to_contain_text("has begun another operation meanwhile")
        assert seen.focused() == "Close"
        keys.press("Enter")
        expect(seen.page.locator("dialog")).to_have_count(0)
        expect(seen.page.locator("#stacks-chosen")).to_be_hidden()
        row = seen.page.locator("#stacks-rows tr", has_text="heap-a")
        expect(row.locator(".by")).to_have_text("ann“after the power cut”")
        history = site.service.history("heap-a")
        assert (history[0].user, history[0].comment) == ("ann", "after the power cut")
        assert len(site.service.history("heap-b")) == 2

        choose_all_found(seen, "delete")
        assert seen.text("#many-title") == "Delete 3 stacks?"
        keys.press("Tab")
        assert seen.focused() == "many-number"
        keys.type("2")
        keys.press("Enter")
        expect(seen.page.locator("#many-number")).to_be_visible()
        keys.press("Backspace")
        keys.type("3")
        keys.press("Enter")
        expect(seen.page.locator("#many-said")).to_have_text("3 of 3 orders sent, 3 accepted. 3 are over.")
        keys.press("Escape")
        until_listed(seen)
    for each in (*made.values(), held):
        assert site.ended(each.id).deleted_at is not None


@pytest.mark.parametrize("theme", THEMES)
def test_a_stack_that_was_updated_in_part_says_so_and_is_found_by_it(
    theme: str, visit: Visiting, site: Site
) -> None:
    name = f"part-{theme}"
    site.made(f"{name}-whole", {"one": nothing()})
    stack = site.made(name, {"one": nothing(), "two": nothing()})
    changed = {each: nothing(properties={"value": "b"}) for each in ("one", "two")}
    template = json.dumps({"heat_template_version": "2021-04-16", "resources": changed})
    site.service.update(StackJob(name=name, template=template, targets=("one",)))
    assert site.ended(stack.id).partial == ("two",)
    with visit(theme=theme) as seen:
        seen.open(f"/stacks?name={name}")
        until_listed(seen, name, f"{name}-whole")
        mark = seen.page.locator(".tag:visible", has_text="updated in part")
        expect(mark).to_have_count(1)
        expect(mark).to_have_attribute("title", "1 resource may not be as defined")
        seen.page.focus("[name=partial]")
        seen.page.keyboard.press("Space")
        until_listed(seen, name)
        assert "partial=1" in seen.page.url
        assert seen.findings() == []
        for width in (1440, 390):
            seen.page.set_viewport_size({"width": width, "height": 844})
            assert seen.page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("theme", THEMES)
def test_the_list_and_a_preview_are_open_to_all_and_no_wider_than_a_phone(
    theme: str, visit: Visiting, site: Site
) -> None:
    prefix = f"wide-{theme}"
    site.made(f"{prefix}-{'with-a-long-name-' * 8}", {"one": nothing()})
    site.made(prefix, {"one": nothing(properties={"fail": True})})
    with visit(theme=theme) as seen:
        seen.open(f"/stacks?name={prefix}*&within=1d")
        seen.until("() => document.querySelectorAll('#stacks-rows tr').length === 2")
        choose_all_found(seen, "cancel")
        assert seen.text("#many-title") == "Cancel: not possible for any of 2 stacks"
        assert seen.findings() == []
        seen.page.keyboard.press("Escape")
        expect(seen.page.locator("#chosen-preview")).to_be_focused()
        seen.page.locator("#chosen-action").select_option("delete")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector("#many-number")
        assert seen.findings() == []
        for width in (1440, 390):
            seen.page.set_viewport_size({"width": width, "height": 844})
            assert seen.page.evaluate(TOO_WIDE) == []
        seen.page.keyboard.press("Escape")
        assert seen.page.evaluate(TOO_WIDE) == []
        assert seen.findings() == []
