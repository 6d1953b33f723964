"""An operator writes a template in the browser, sees what is wrong with it and what it would do, and has it done."""

import pytest
from playwright.sync_api import expect

from orchestrator.model.messages import EnvironmentSource, StackJob
from tests.browser.conftest import Visiting
from tests.browser.editor import open_editor, source, write
from tests.browser.site import Site
from tests.browser.visit import THEMES

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


def test_a_stack_is_made_and_changed_from_the_editor(visit: Visiting, site: Site) -> None:
    with visit() as visited:
        visited.open("/stacks")
        visited.page.get_by_role("link", name="New stack").click()
        page = visited.page
        write(page, WRONG)
        problem = page.locator("#problems li")
        expect(problem).to_contain_text("did you mean 'OS::Heat::TestResource'?")
        expect(page.locator("#template-editor .cm-lintRange-error")).to_contain_text("OS::Heat::TestResourse")
        expect(source(page)).to_have_attribute("aria-invalid", "true")
        problem.get_by_role("button", name="line 9").click()
        expect(source(page)).to_be_focused()
        # The keyboard is not trapped: Tab goes on, and what folds or searches has keys.
        expect(page.locator("#template-editor .cm-activeLine")).to_contain_text("one:")
        page.keyboard.press("Control+f")
        expect(page.get_by_role("textbox", name="Find")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("Control+Home")
        for _ in range(3):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Control+Shift+BracketLeft")
        expect(page.locator("#template-editor .cm-foldPlaceholder")).to_be_visible()
        page.keyboard.press("Tab")
        expect(source(page)).not_to_be_focused()

        write(page, TEMPLATE)
        expect(page.locator("#problems")).to_have_text("No problems.")
        about = page.locator("#types").get_by_role("link", name="OS::Heat::TestResource")
        expect(about).to_have_attribute("href", "/stacks/types/OS%3A%3AHeat%3A%3ATestResource")
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
        page.get_by_label("Name of a.txt").fill("dir/a.txt")
        page.get_by_label("Name of a.txt").press("Tab")
        expect(page.get_by_label("Name of dir/a.txt")).to_have_value("dir/a.txt")
        page.get_by_label("Tags").fill("fruit, blue")
        page.get_by_label("Time-out in minutes").fill("7")
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

        made = site.service.stack("written")
        assert (made.tags, made.timeout_minutes, made.rollback) == (("fruit", "blue"), 7, False)
        page.get_by_role("link", name="Update…").click()
        expect(page.get_by_label("Tags")).to_have_value("fruit, blue")
        page.get_by_label("Tags").fill("")
        page.get_by_label("Roll back on failure").check()
        page.get_by_label("Time-out in minutes").fill("")
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
        changed = site.service.stack("written")
        assert (changed.tags, changed.timeout_minutes, changed.rollback) == ((), 60, True)
        assert site.service.definition("written").parameters == {"word": "peach", "password": "quince"}


@pytest.mark.parametrize("theme", THEMES)
def test_the_editor_is_open_to_all(theme: str, visit: Visiting) -> None:
    with visit(theme=theme) as visited:
        page = open_editor(visited, "/stacks/new")
        write(page, f"# a remark\n{WRONG}")
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
    environments = tuple(EnvironmentSource(file=each, source="{}") for each in ("a.yaml", "b.yaml"))
    site.service.create(StackJob(name="kept", template=template, parameters=kept, environments=environments))
    with visit() as visited:
        page = open_editor(visited, "/stack/kept/edit")
        expect(page.get_by_label("flag")).to_have_value("true")
        write(page, template.replace("[a, b]", "[b, c]"))
        expect(page.locator("[data-wrong=kind]")).to_be_visible()
        expect(page.get_by_label("kind")).to_have_value("a")
        write(page, f"{template}  two: {{type: OS::Heat::TestResource}}\n")
        page.locator("#environment summary").click()
        for name in ("a.yaml", "b.yaml"):
            page.get_by_role("button", name=f"Remove {name}").click()
        expect(page.locator("#environments-present del")).to_have_text(["a.yaml", "b.yaml"])
        page.get_by_role("button", name="Keep a.yaml").press("Enter")
        expect(page.get_by_role("button", name="Remove a.yaml")).to_be_focused()
        assert visited.findings() == []
        page.click("#preview")
        expect(page.locator("#plan-counts")).to_have_text("1 create1 unchanged")
        page.get_by_role("button", name="Update stack").click()
        page.wait_for_url("**/stack/*/graph*")
        visited.until_stack("UPDATE_COMPLETE")
    definition = site.service.definition("kept")
    assert definition.parameters == kept
    assert [each.file for each in definition.environments] == ["a.yaml"]
