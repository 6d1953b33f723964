"""An operator writes a template in the browser, sees what is wrong with it and what it would do, and has it done."""

import pytest
from playwright.sync_api import Page, expect

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site
from tests.browser.visit import THEMES, Visit

pytestmark = pytest.mark.slow

TEMPLATE = """heat_template_version: 2021-04-16
parameter_groups:
  - {label: Words, description: What is kept, parameters: [word, password]}
parameters:
  word: {type: string, label: The word, constraints: [{length: {min: 2, max: 9}}]}
  password: {type: string, hidden: true}
  kind: {type: string, default: a, constraints: [{allowed_values: [a, b]}]}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
"""
WRONG = TEMPLATE.replace("TestResource", "TestResourse")
WIDER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


def open_editor(visit: Visit, path: str) -> Page:
    """Open an editor, which shows no age of data."""
    answer = visit.page.goto(visit.site.page(path))
    assert answer is not None
    assert answer.ok
    expect(visit.page.locator("#template")).not_to_have_value("")
    return visit.page


def test_a_stack_is_made_and_changed_from_the_editor(visit: Visiting, site: Site) -> None:
    with visit() as visited:
        visited.open("/stacks")
        visited.page.get_by_role("link", name="New stack").click()
        page = visited.page
        page.fill("#template", WRONG)
        problem = page.locator("#problems li")
        expect(problem).to_contain_text("did you mean 'OS::Heat::TestResource'?")
        expect(page.locator("#template-editor .editor-numbers .is-wrong")).to_have_text("9")
        problem.get_by_role("button", name="line 9").click()
        expect(page.locator("#template")).to_be_focused()

        page.fill("#template", TEMPLATE)
        expect(page.locator("#problems")).to_have_text("No problems.")
        page.fill("#name", "written")
        page.get_by_label("The word").fill("p")
        expect(page.locator("[data-wrong=word]")).to_be_visible()
        page.get_by_label("The word").fill("plum")
        expect(page.locator("[data-wrong=word]")).to_be_hidden()
        page.get_by_label("password").fill("quince")
        expect(page.get_by_label("password")).to_have_attribute("type", "password")
        expect(page.get_by_label("kind").locator("option")).to_have_text(["default: a", "a", "b"])
        page.click("#preview")
        expect(page.locator("#plan-counts")).to_have_text("1 create")
        page.set_input_files("#files-add", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"plum"})
        expect(page.locator("#files-list dt")).to_have_text("a.txt")
        expect(page.locator("#plan-counts")).to_have_count(0)
        page.click("#preview")
        expect(page.locator("#plan-counts")).to_have_text("1 create")
        assert visited.findings() == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert not page.evaluate(WIDER)
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("button", name="Create stack").click()
        page.wait_for_url("**/stack/*/graph*")
        visited.until_stack("CREATE_COMPLETE")

        page.get_by_role("link", name="Update…").click()
        expect(page.get_by_label("The word")).to_have_value("plum")
        expect(page.get_by_label("password")).to_have_value("")
        # What a preview showed holds for that draft alone.
        page.get_by_label("The word").fill("pear")
        page.click("#preview")
        expect(page.locator("#plan-counts")).to_have_text("1 change in place")
        expect(page.locator("#plan .is-removed")).to_have_text("- value: plum")
        expect(page.locator("#plan .is-added")).to_have_text("+ value: pear")
        page.get_by_label("The word").fill("peach")
        expect(page.get_by_role("button", name="Update stack")).to_have_attribute("aria-disabled", "true")
        page.click("#preview")
        expect(page.locator("#plan .is-added")).to_have_text("+ value: peach")
        assert visited.findings() == []
        page.get_by_role("button", name="Update stack").click()
        page.wait_for_url("**/stack/*/graph*")
        visited.until_stack("UPDATE_COMPLETE")
        assert site.service.definition("written").parameters == {"word": "peach", "password": "quince"}


@pytest.mark.parametrize("theme", THEMES)
def test_the_editor_is_open_to_all(theme: str, visit: Visiting) -> None:
    with visit(theme=theme) as visited:
        page = open_editor(visited, "/stacks/new")
        page.fill("#template", f"# a remark\n{WRONG}")
        expect(page.locator("#problems li")).to_be_visible()
        for part in ("environment", "files"):
            page.locator(f"#{part} summary").click()
        assert visited.findings() == []


def test_a_value_that_a_field_writes_in_its_own_way_stays(visit: Visiting, site: Site) -> None:
    template = """heat_template_version: 2021-04-16
parameters:
  flag: {type: boolean}
  lines: {type: string}
  kind: {type: string, constraints: [{allowed_values: [a, b]}]}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: lines}}}
"""
    kept = {"flag": "yes", "lines": "one\ntwo", "kind": "a"}
    site.service.create(StackJob(name="kept", template=template, parameters=kept))
    with visit() as visited:
        page = open_editor(visited, "/stack/kept/edit")
        expect(page.get_by_label("flag")).to_have_value("true")
        page.fill("#template", template.replace("[a, b]", "[b, c]"))
        expect(page.locator("[data-wrong=kind]")).to_be_visible()
        expect(page.get_by_label("kind")).to_have_value("a")
        page.fill("#template", f"{template}  two: {{type: OS::Heat::TestResource}}\n")
        page.click("#preview")
        expect(page.locator("#plan-counts")).to_have_text("1 create1 unchanged")
        page.get_by_role("button", name="Update stack").click()
        page.wait_for_url("**/stack/*/graph*")
        visited.until_stack("UPDATE_COMPLETE")
    assert site.service.definition("kept").parameters == kept
