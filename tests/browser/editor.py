"""The dashboard's editor of templates, as a visitor uses it."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.visit import Visit

#: Chromium allows its clipboard only on secure pages.
PASTE = """(element, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def open_editor(visit: Visit, path: str) -> Page:
    """Open an editor, which shows no age of data."""
    answer = visit.page.goto(visit.site.page(path))
    assert answer is not None
    assert answer.ok
    expect(source(visit.page)).to_contain_text("heat_template_version")
    return visit.page


def source(page: Page, part: str = "template") -> Locator:
    """Return the text of an editor."""
    return page.locator(f"#{part}-editor").get_by_role("textbox")


def write(page: Page, text: str) -> None:
    """Replace the template, as one who pastes another does."""
    source(page).focus()
    page.keyboard.press("Control+a")
    source(page).evaluate(PASTE, text)
