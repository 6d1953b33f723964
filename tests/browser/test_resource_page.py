"""The page about one resource: where it is linked, what it says, and that it follows what happens."""

import pytest
from playwright.sync_api import expect

from orchestrator.model.drift import Finding, Standing
from orchestrator.store.stacks.drifts import DriftedResource, Observed
from orchestrator.store.stacks.observation_turns import TurnEnd
from tests.browser.conftest import Visiting
from tests.browser.site import BROKEN, ROOT, Site, nothing

pytestmark = pytest.mark.slow


def test_a_failed_resource_has_a_page_that_others_link_to(site: Site, visit: Visiting) -> None:
    site.made("paged", BROKEN)
    with visit() as seen:
        seen.open("/stack/paged/resources")
        seen.page.get_by_role("link", name=ROOT, exact=True).click()
        seen.until_data()
        page = seen.page
        expect(page.locator("h1")).to_have_text(ROOT)
        expect(page.locator("#resource-state")).to_have_attribute("data-state", "failed")
        expect(page.locator("#resource-reason")).to_contain_text("as the property 'fail' asks")
        expect(page.locator("#resource-attempts-rows tr")).to_have_count(1)
        expect(page.locator("#resource-attempts-rows")).to_contain_text("CREATE_FAILED")
        expect(page.locator("#resource-events-rows tr")).not_to_have_count(0)
        expect(page.locator("#resource-values")).to_contain_text("fail")
        text = seen.text(".stacks-page")
        assert not [word for word in ("null", "undefined", "NaN", "[object") if word in text]
        # From one resource to the next.
        page.locator("#resource-neighbours").get_by_role("link", name="server", exact=True).click()
        expect(page.locator("h1")).to_have_text("server")
        expect(page.locator("#resource-state")).to_have_attribute("data-state", "unreached")
        expect(page.locator("#resource-attempts-empty")).to_be_visible()
        for path, link in (
            ("/stack/paged/failure", page.get_by_role("link", name="Its page")),
            ("/stack/paged/events", page.locator("#events-rows").get_by_role("link", name=ROOT).first),
            (f"/stack/paged/graph?resource={ROOT}", page.get_by_role("link", name="Its page")),
        ):
            seen.open(path)
            expect(link).to_have_attribute("href", f"/stack/{site.service.stack('paged').id}/resource/{ROOT}")


def test_the_physical_id_leads_to_the_console_that_the_settings_name(site: Site, visit: Visiting) -> None:
    site.made("paged-console", {"one": nothing()})
    physical_id = site.service.resource("paged-console", "one").physical_id
    with visit() as seen:
        seen.open("/stack/paged-console/resource/one")
        link = seen.page.locator("#resource-facts").get_by_role("link", name=str(physical_id))
        address = f"https://console.example.org/default/paged-console?object={physical_id}"
        expect(link).to_have_attribute("href", address)
        expect(link).to_have_attribute("rel", "noopener noreferrer")


def test_the_page_follows_what_happens_to_the_resource(site: Site, visit: Visiting) -> None:
    stack = site.gated("paged-live", {"one": nothing()})
    with visit() as seen:
        seen.open("/stack/paged-live/resource/one")
        state = seen.page.locator("#resource-state")
        expect(state).to_have_attribute("data-state", "blocked")
        expect(seen.page.locator("#resource-facts div", has_text="Waits for")).to_contain_text("gate")
        site.let_on(stack)
        expect(state).to_have_attribute("data-state", "done")
        expect(seen.page.locator("#resource-attempts-rows .state")).to_have_attribute("data-state", "done")
        expect(seen.page.locator("#resource-facts")).not_to_contain_text("Waits for")
    site.ended(stack.id)


def test_what_others_changed_is_on_the_page_of_the_resource_and_among_what_needs_a_person(
    site: Site, visit: Visiting
) -> None:
    stack = site.made("paged-drift", {"one": nothing()})
    store = site.service._store
    row = store.stacks.resource(stack.id, "one")
    store.observation_turns.begin(stack.id)
    turn = store.observation_turns.read(stack.id)
    assert turn is not None
    drifted = DriftedResource(
        row=row,
        path="one",
        findings=[
            Finding(key="size", recorded="s", observed={"large": True}),
            Finding(key="word", hidden=True),
        ],
        standing=Standing.LEFT_ALONE,
        why="another system changes it",
        words="size differs",
    )
    observed = Observed(
        stacks=store.families.in_tree(stack.id), drifted=[drifted], sound=(), present=(row.id,)
    )
    assert store.drifts.record(TurnEnd(turn=turn, due_at=None), observed)
    with visit() as seen:
        seen.open("/stack/paged-drift/resource/one")
        panel = seen.page.get_by_role("region", name="Changed by others")
        expect(panel.locator("tr")).to_have_count(2)
        expect(panel).to_contain_text("left alone: another system changes it")
        expect(panel).to_contain_text("its values are secrets")
        assert not [word for word in ("NaN", "undefined", "[object") if word in seen.text(".stacks-page")]
        seen.open("/stacks/attention")
        finding = seen.page.locator(".attention-group[data-kind=drift]")
        expect(finding).to_contain_text("paged-drift")
        expect(finding).to_contain_text("1 resource differs from what is recorded, 1 of them again and again")
