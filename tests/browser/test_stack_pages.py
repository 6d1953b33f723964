"""The pages of a stack but for its graph: what they show is what the store has, also while it changes."""

import json
from contextlib import closing

from playwright.sync_api import expect

from orchestrator.model.messages import StackJob
from orchestrator.queries.observer import Observer
from orchestrator.store.store import Store
from tests.browser.conftest import Visiting
from tests.browser.site import Site, after, nothing

SLOW = {"properties": {"wait_secs": 0.4}}
CHAIN = {"a": nothing(**SLOW), "b": after("a", wait_secs=0.4), "aaa": after("b"), "aside": nothing()}
NAMES = "rows => rows.map((row) => row.querySelector('th').textContent.trim())"
#: Keeps by how much the way to the other pages was moved, once and for all that comes.
WATCHING = """() => {
  window.moved = [];
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      if (sources.some(({ node }) => node?.matches?.(".tabs, .tabs *"))) window.moved.push(value);
    }
  }).observe({ type: "layout-shift" });
}"""
#: What the heads of a table's columns say that is cut off or lies over the next.
CUT = """heads => heads.filter((head) => head.scrollWidth > head.clientWidth || head.clientWidth < 64)
  .map((head) => head.textContent.trim())"""
#: Of each row of the events: the id, as the page keeps it.
IDS = "rows => rows.map((row) => Number(row.dataset.id))"


def test_a_timeline_shows_each_resource_and_the_chain_that_decided(site: Site, visit: Visiting) -> None:
    stack = site.made("chain", CHAIN)
    with closing(Store.of(site.settings)) as store:
        timeline = Observer(site.settings, store).timeline("chain")
    by_number = {bar.no: bar.name for bar in timeline.bars}
    with visit() as seen:
        seen.open("/stack/chain/timeline")
        seen.page.wait_for_selector(".gantt-row")
        drawn = seen.page.locator(".gantt-row").evaluate_all(
            "rows => rows.sort((one, other) => one.ariaPosInSet - other.ariaPosInSet).map((row) => row.id)"
        )
        assert drawn == [f"bar-{bar.no}" for bar in timeline.bars]
        # By keyboard alone: the last bar, and its times in words.
        seen.page.locator("#timeline-rows").focus()
        seen.page.keyboard.press("End")
        seen.page.keyboard.press("Enter")
        assert seen.text("#timeline-details h2").startswith(timeline.bars[-1].name)
        expect(seen.page.locator("#timeline-details h2")).to_be_in_viewport()
        seen.page.locator("#timeline-critical").check()
        seen.page.locator("#timeline-as-table").click()
        rows = seen.page.locator("#timeline-table tbody tr")
        assert rows.evaluate_all(NAMES) == [by_number[no] for no in timeline.critical]
        assert {"a", "b", "aaa"} <= set(rows.evaluate_all(NAMES))
        # What another requires comes before it, whatever they are called.
        seen.open("/stack/chain/resources")
        seen.page.wait_for_selector("#resources-rows tr")
        assert seen.page.locator("#resources-rows tr").evaluate_all(NAMES) == ["a", "aside", "b", "aaa"]
    assert stack.status == "COMPLETE"


def test_events_come_in_while_one_looks_and_can_be_saved(site: Site, visit: Visiting) -> None:
    stack = site.gated("eventful", {f"part-{number}": nothing() for number in range(30)})
    with visit() as seen:
        seen.open("/stack/eventful/events")
        rows = seen.page.locator("#events-rows tr")
        seen.until("() => document.querySelectorAll('#events-rows tr').length > 0")
        seen.page.evaluate(WATCHING)
        site.let_on(stack)
        site.ended(stack.id)
        ids = sorted(site.event_ids(stack), reverse=True)
        seen.until("(wanted) => document.querySelectorAll('#events-rows tr').length === wanted", len(ids))
        assert rows.evaluate_all(IDS) == ids
        seen.until_stack("CREATE_COMPLETE")
        assert seen.page.evaluate("window.moved") == []
        with seen.page.expect_download() as saving:
            seen.page.locator("#events-file").click()
        saved = json.loads(saving.value.path().read_text())
        assert [event["id"] for event in saved] == ids[::-1]
        seen.page.locator("[name=resource]").fill("part-1?")
        seen.page.locator("[name=status]").select_option("COMPLETE")
        seen.until("() => document.querySelectorAll('#events-rows tr').length === 10")
        assert set(rows.evaluate_all(NAMES)) == {f"part-1{number}" for number in range(10)}


def test_a_failure_leaves_the_way_to_the_other_pages_where_it_is(site: Site, visit: Visiting) -> None:
    stack = site.gated("sudden", {"root": nothing(properties={"fail": True})})
    with visit() as seen:
        seen.open("/stack/sudden/timeline")
        seen.page.wait_for_selector(".gantt-row")
        seen.page.evaluate(WATCHING)
        site.let_on(stack)
        seen.until_stack("CREATE_FAILED")
        assert "resources.root" in seen.text("#stack-reason")
        assert seen.page.evaluate("window.moved") == []


def test_the_list_finds_sorts_and_follows(site: Site, visit: Visiting) -> None:
    with visit() as seen:
        seen.open("/stacks?search=listed")
        assert seen.text("#stacks-empty").startswith("No stack")
        site.made("listed-b", {"one": nothing()})
        site.made("listed-a", {"one": nothing(properties={"fail": True})})
        # Nobody loads the page again.
        seen.until("() => document.querySelectorAll('#stacks-rows tr').length === 2")
        seen.page.locator("th[data-sort=name] button").press("Enter")
        seen.page.wait_for_selector("th[data-sort=name][aria-sort=ascending]")
        names = seen.page.locator("#stacks-rows a")
        assert names.all_inner_texts() == ["listed-a", "listed-b"]
        for width in (1400, 1100, 900):
            seen.page.set_viewport_size({"width": width, "height": 900})
            assert seen.page.locator("#stacks-table thead th").evaluate_all(CUT) == []
        seen.page.locator("th[data-sort=name] button").press("Enter")
        seen.page.wait_for_selector("th[data-sort=name][aria-sort=descending]")
        assert names.all_inner_texts() == ["listed-b", "listed-a"]
        failed = "#stacks-states [data-name=CREATE_FAILED] button"
        seen.page.locator(failed).click()
        seen.until("() => document.querySelectorAll('#stacks-rows tr').length === 1")
        assert seen.text("#stacks-rows tr .state") == "CREATE_FAILED"
        assert seen.page.locator(failed).get_attribute("aria-pressed") == "true"
        assert "states=CREATE_FAILED" in seen.page.url


def test_a_history_tells_what_an_operation_changed(site: Site, visit: Visiting) -> None:
    site.made("changed", {"one": nothing()})
    both = {"heat_template_version": "2021-04-16", "resources": {"one": nothing(), "two": nothing()}}
    given = site.service.update(StackJob(name="changed", template=json.dumps(both, indent=1)))
    site.ended(given.id)
    with visit() as seen:
        seen.open("/stack/changed/history?action=CREATE")
        rows = seen.page.locator("#history-rows tr")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("CREATE_COMPLETE")
        seen.page.locator("[name=action]").select_option("")
        expect(rows).to_have_count(2)
        seen.page.locator("[name=status]").select_option("FAILED")
        expect(seen.page.locator("#history-empty")).to_be_visible()
        assert seen.page.url.endswith("/history?status=FAILED")
        seen.page.go_back()
        expect(rows).to_have_count(2)
        expect(seen.page.locator("#stack-untouched")).to_have_text("1 other resource is left as it is.")
        seen.page.locator("#history-rows button").first.click()
        seen.page.wait_for_selector(".diff .is-added")
        assert "Added: two" in seen.text("#history-rows .changes")
        seen.page.locator("#history-rows a", has_text="timeline").last.click()
        seen.until_data("past")
        assert seen.text("#stack-operation") == "CREATE_COMPLETE"
        assert "A past operation." in seen.text("#stack-past")
        seen.page.wait_for_selector(".gantt-row")
        assert seen.page.locator(".gantt-row").count() == 1


def test_nested_stacks_are_counted_found_and_opened_in_place(site: Site, visit: Visiting) -> None:
    inner = {"type": "OS::Heat::TestResource"}
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 2, "index_var": "%n%", "resource_def": inner},
    }
    site.made("outer", {"alone": nothing(), "group": group})
    with visit() as seen:
        seen.open("/stack/outer/resources")
        expect(seen.page.locator("#stack-tree")).to_have_text("With 1 nested stack: 4 of 4 resources done.")
        rows = seen.page.locator("#resources-rows tr")
        expect(rows).to_have_count(2)
        opener = rows.filter(has_text="group").locator("button")
        opener.press("Enter")
        expect(rows).to_have_count(4)
        assert "open=group" in seen.page.url
        expect(opener.first).to_be_focused()
        # What is open is linked to, and the way back closes it.
        seen.page.reload()
        expect(rows).to_have_count(4)
        seen.page.go_back()
        expect(rows).to_have_count(2)
        # The search looks into nested stacks.
        seen.page.locator("#resources-search").fill("group / 1")
        expect(rows).to_have_count(1)
        expect(rows.first).to_contain_text("group / 1")
        assert "search=group" in seen.page.url
        seen.open("/stack/outer/events?resource=alone&status=COMPLETE")
        events = seen.page.locator("#events-rows tr")
        expect(events).to_have_count(1)
        seen.page.locator("[name=status]").select_option("")
        expect(events).to_have_count(2)
        seen.page.go_back()
        expect(events).to_have_count(1)
