"""Everything can be reached and done with the keyboard alone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visiting
from tests.browser.site import BROKEN, ROOT, Site
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

#: How many times Tab is pressed at most on the way to something.
FAR = 120


def tab_to(seen: Visit, wanted: str) -> None:
    """Press Tab until something has the focus whose id or text is this; every stop on the way can be seen."""
    passed = []
    for _ in range(FAR):
        seen.page.keyboard.press("Tab")
        passed.append(seen.focused())
        if passed[-1] == wanted:
            outline = seen.page.evaluate(
                "() => { const style = getComputedStyle(document.activeElement);"
                " return style.outlineStyle !== 'none' || style.boxShadow !== 'none'; }"
            )
            assert outline, f"nobody sees that {wanted!r} has the focus"
            return
    raise AssertionError(f"the keyboard leads to {passed}, and not to {wanted!r}")


def test_a_failure_is_found_and_tried_again_without_a_mouse(site: Site, visit: Visiting) -> None:
    stack = site.made("typed", BROKEN)
    with visit() as seen:
        seen.open("/stacks")
        seen.until("() => document.body.innerText.includes('typed')")
        tab_to(seen, "typed")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url(re.compile("/stack/"))
        seen.until_legend(done=3, failed=1, unreached=4)
        # In the drawing, arrows lead from one resource to the next, and Enter opens it.
        tab_to(seen, "graph-frame")
        names = set()
        for _ in range(2 * len(BROKEN)):
            seen.page.keyboard.press("ArrowDown")
            said = seen.text("#graph-said")
            names.add(said)
            if said.startswith(ROOT):
                break
        else:
            raise AssertionError(f"arrows lead to {names}, and not to {ROOT!r}")
        seen.page.keyboard.press("Enter")
        seen.until("(root) => document.getElementById('vertex').innerText.includes(root)", ROOT)
        seen.page.keyboard.press("Escape")
        assert seen.page.locator("#vertex").is_hidden()
        # Another page about the same stack, and back.
        seen.page.keyboard.press("Shift+Tab")
        tab_to(seen, "act-retry")
        seen.page.keyboard.press("Enter")
        dialog = seen.page.locator("dialog[open]")
        dialog.wait_for()
        assert "typed" in dialog.inner_text()
        seen.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        # Nothing was done, as nothing was confirmed.
        expect(seen.page.locator("#act-retry")).to_be_focused()
        assert len(site.service.history(stack.id)) == 1
