"""A plan goes from one user to another in real browsers: saved in the editor, looked at, applied, and never twice."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.browser.editor import source
from tests.unit.orchestrator.dashboard.serving import served

SECRET = "quince-4716"
#: A value that would do harm if it were taken for anything but text, and is longer than a phone is wide.
HOSTILE = f"<img src=x onerror=alert(1)>{'-' * 80}"
TEMPLATE = """heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: plum}
  length: {type: number, default: 12}
  password: {type: string, hidden: true}
resources:
  key: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  page:
    type: OS::Heat::TestResource
    properties: {value: {list_join: [" ", [{get_param: word}, {get_param: password}, {get_attr: [key, value]}]]}}
  note: {type: OS::Heat::Value, properties: {value: {get_param: word}}}
  rest: {type: OS::Heat::TestResource}
"""
OPTIONS = {
    "basic_auth": ["ann:secret", "bob:secret"],
    "stack_actions": True,
    "stack_operators": ["ann", "bob"],
}
#: What is wider than the screen.
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll(".panel, .plan-row")]
  .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className)"""
DROP = """(element, { name, content }) => {
  const dataTransfer = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
  dataTransfer.items.add(new File([bytes], name));
  for (const kind of ["dragover", "drop"]) {
    element.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
  }
}"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A dashboard on which two operators may act, with a stack; what is ordered is done at once."""
    settings = Settings(state_directory=Path(tmp_path_factory.mktemp("plans")))
    with Service.open(settings) as service:
        made = service.create(StackJob(name="web", template=TEMPLATE, parameters={"password": SECRET}))
        assert list(service.watch(made.id))[-1].stack.status == "COMPLETE"
        url = settings.effective_database_url
        distributed = settings.with_values(broker_url="memory://", database_url=url)
        with served(distributed, Store.of(distributed), **OPTIONS) as dashboard:
            dashboard.service = service
            yield dashboard


@contextmanager
def visiting(browser: Browser, dashboard: Dashboard, name: str) -> Iterator[Page]:
    """Open a page of a user; nothing may go wrong in its scripts."""
    with ExitStack() as stack:
        # Without transitions: in the middle of one, a button has the colours of neither theme.
        context = browser.new_context(
            http_credentials={"username": name, "password": "secret"},
            base_url=dashboard.url,
            bypass_csp=True,
            reduced_motion="reduce",
        )
        stack.callback(context.close)
        errors: list[str] = []
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        assert errors == []


def require_open_to_all(page: Page) -> None:
    """Require that nothing on a page keeps anybody out, in both themes and on a phone."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(TOO_WIDE) == [], width
            found = Axe().run(page, context="#stacks-page").response["violations"]
            wrong = [each["id"] for each in found if each["impact"] in {"serious", "critical"}]
            assert wrong == [], (theme, width)
    page.set_viewport_size({"width": 1440, "height": 900})


def test_a_plan_is_saved_by_one_user_and_looked_at_and_applied_by_another(
    dashboard: Dashboard, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "web.plan"
    with visiting(browser, dashboard, "ann") as page:
        page.goto("/stack/web/edit")
        expect(source(page)).to_contain_text("heat_template_version")
        page.get_by_label("word", exact=True).fill(HOSTILE)
        page.get_by_label("length").fill("20")
        page.focus("#save-plan")
        page.keyboard.press("Enter")
        expect(page.locator("#plan-said")).to_have_text("Look at the preview first.")
        page.click("#preview")
        expect(page.locator("#plan-counts")).to_have_text(
            "1 change in place1 replace1 depends on others1 unchanged"
        )
        with page.expect_download() as download:
            page.click("#save-plan")
        assert download.value.suggested_filename == "web.plan"
        download.value.save_as(file)
        expect(page.locator("#plan-said")).to_contain_text("Saved as web.plan")
    assert SECRET.encode() not in file.read_bytes()

    with visiting(browser, dashboard, "bob") as page:
        page.goto("/stacks")
        page.get_by_role("link", name="Plans…").click()
        page.set_input_files("#plan-open", {"name": "x.plan", "mimeType": "", "buffer": b"{}"})
        expect(page.locator("#plan-said")).to_contain_text(
            "expected a plan that 'isotherm stack plan -o' wrote"
        )
        expect(page.locator("#plan-panel")).to_be_hidden()

        page.set_input_files("#plan-open", file)
        expect(page.locator("#plan-head")).to_have_text("Update web")
        expect(page.locator("#plan-head")).to_be_focused()
        expect(page.locator("#plan-facts")).to_contain_text("Byann")
        expect(page.locator("#plan-facts")).to_contain_text("Signatureverified")
        expect(page.locator("#plan-obstacle")).to_be_hidden()
        rows = page.locator(".plan-row h3")
        expect(rows).to_have_count(4)
        page_row = page.locator('.plan-row[data-resource="page"]')
        expect(page_row).to_contain_text("After key")
        expect(page_row).to_contain_text("******")
        expect(page.locator('.plan-row[data-resource="note"] .is-added')).to_contain_text(HOSTILE)
        expect(page.locator('.plan-row[data-resource="key"]')).to_contain_text(
            "cannot be changed in place: length"
        )
        assert SECRET not in page.content()
        require_open_to_all(page)

        page.click("#plan-apply")
        dialog = page.get_by_role("dialog")
        send = dialog.get_by_role("button", name="Apply the plan: update web")
        expect(send).to_have_attribute("aria-disabled", "true")
        number = dialog.locator("label strong").inner_text()
        dialog.locator("#plan-number").fill(f"{number}0")
        expect(send).to_have_attribute("aria-disabled", "true")
        dialog.locator("#plan-number").fill(number)
        dialog.locator("#act-comment").fill("ticket 4711")
        require_open_to_all(page)
        send.click()
        page.wait_for_url("**/stack/*/graph*")
        expect(page.locator("#stack-state")).to_contain_text("UPDATE_COMPLETE")
        page.get_by_role("link", name="History").click()
        applied = page.locator("#history-rows .applied-plan")
        expect(applied).to_contain_text("made by ann")
        expect(page.locator("#history-rows .comment")).to_have_text("“ticket 4711”")

        page.get_by_role("link", name="Plans…").click()
        # What is dropped before the page is loaded, no script takes.
        page.wait_for_url("**/stack/*/plans")
        content = base64.b64encode(file.read_bytes()).decode()
        page.locator("#plan-drop").evaluate(DROP, {"name": "web.plan", "content": content})
        expect(page.locator("#plan-obstacle")).to_contain_text(
            "It cannot be applied: the plan of stack 'web' was applied already"
        )
        expect(page.locator("#plan-apply")).to_have_attribute("aria-disabled", "true")
        require_open_to_all(page)

        page.get_by_role("button", name="Plan the deletion").click()
        expect(page.locator("#plan-head")).to_have_text("Delete web")
        expect(page.locator("#plan-counts")).to_have_text("4 delete")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save the file").click()
        assert download.value.suggested_filename == "web.plan"
        page.set_input_files("#plan-open", download.value.path())
        expect(page.locator("#plan-head")).to_have_text("Delete web")
        expect(page.locator("#plan-obstacle")).to_be_hidden()
