"""Objects are taken into a stack from the editor: previewed first, then imported as they are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, HttpCredentials, expect

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.browser.editor import source, write
from tests.unit.orchestrator.dashboard.serving import served

pytestmark = pytest.mark.slow

TEMPLATE = """heat_template_version: 2021-04-16
resources:
  first: {type: OS::Heat::Value, properties: {value: hello}}
"""
PAGE = "  page: {type: Isotherm::Node::File, properties: {path: page.txt, content: welcome}}\n"
OPERATOR = {"basic_auth": ["ann:secret"], "stack_actions": True, "stack_operators": ["ann"]}
WIDER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    """A dashboard on which an operator may act, with one stack; what is ordered is done at once."""
    settings = Settings(state_directory=tmp_path)
    with Service.open(settings) as service:
        made = service.create(StackJob(name="web", template=TEMPLATE))
        assert list(service.watch(made.id))[-1].stack.status == "COMPLETE"
        url = settings.effective_database_url
        distributed = settings.with_values(broker_url="memory://", database_url=url)
        with served(distributed, Store.of(distributed), **OPERATOR) as dashboard:
            dashboard.service = service
            yield dashboard


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_object_is_taken_in_once_the_preview_was_seen(
    theme: str, dashboard: Dashboard, browser: Browser, tmp_path: Path
) -> None:
    by_hand = tmp_path / "files" / "page.txt"
    by_hand.parent.mkdir(exist_ok=True)
    by_hand.write_text("by hand")
    user: HttpCredentials = {"username": "ann", "password": "secret"}
    context = browser.new_context(
        http_credentials=user,
        bypass_csp=True,
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    )
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        page.goto(f"{dashboard.url}/stack/web/edit")
        expect(source(page)).to_contain_text("heat_template_version")
        page.get_by_text("Objects to take in").click()
        write(page, TEMPLATE + PAGE)
        expect(page.locator("#problems")).to_have_text("No problems.")
        page.get_by_label("Resources and objects").fill("page")
        go = page.get_by_role("button", name="Import objects")
        expect(go).to_have_attribute("aria-disabled", "true")
        expect(page.get_by_role("button", name="Save as a plan")).to_be_hidden()
        page.click("#preview")
        expect(page.locator("#plan-said")).to_contain_text("line 1: expected RESOURCE=ID, found 'page'")
        page.get_by_label("Resources and objects").fill(f"page={by_hand}")
        page.click("#preview")
        expect(page.locator("#plan-counts li")).to_have_text(["1 adopt", "1 unchanged"])
        expect(page.locator("[data-resource=page]")).to_contain_text(
            f"the object '{by_hand}' is taken as it is"
        )
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert not page.evaluate(WIDER)
            found = Axe().run(page, context="#stacks-page").response["violations"]
            assert [each["id"] for each in found if each["impact"] in {"serious", "critical"}] == [], width
        # What is typed after a preview is another import.
        page.get_by_label("Resources and objects").fill("")
        update = page.get_by_role("button", name="Update stack")
        expect(update).to_have_attribute("aria-disabled", "true")
        page.get_by_label("Resources and objects").fill(f"page={by_hand}")
        page.click("#preview")
        expect(go).to_have_attribute("aria-disabled", "false")
        go.click()
        page.wait_for_url("**/stack/*/graph*")
        expect(page.locator("#stack-state")).to_have_text("ADOPT_COMPLETE")
        assert by_hand.read_text() == "by hand"
        assert errors == []
    finally:
        context.close()
