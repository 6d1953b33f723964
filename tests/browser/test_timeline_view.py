"""A timeline's rows and the part of it in sight: what the page works out by itself, and how it follows an operation."""

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site, nothing
from tests.browser.visit import visiting

CALL = "async ([module, name, ...given]) => (await import(`/stacks/static/js/${module}.js`))[name](...given)"
GIVEN = {"room": 100, "seconds": 10}
FIRST = {"perSecond": None, "isWhole": True, "follows": True}


@pytest.fixture(scope="module")
def page(browser: Browser, site: Site) -> Any:
    with visiting(browser, site) as seen:
        seen.open("/stacks")
        yield seen.page


def call(page: Page, module: str, name: str, *given: Any) -> Any:
    return page.evaluate(CALL, [module, name, *given])


def bar(no: int, name: str, *spans: tuple[str, float, float | None], **fields: Any) -> dict[str, Any]:
    told = [{"kind": kind, "start": start, "end": end} for kind, start, end in spans]
    values = {"state": "done", "critical": False, "attempts": 1, "replaced_by": None}
    return {"no": no, "name": name, "spans": told, **values, **fields}


NEW = bar(1, "server", ("blocked", 0, 1), ("running", 1, 4))
OLD = bar(7, "server", ("blocked", 0, 6), ("queued", 6, 7), ("running", 7, 9), replaced_by=1, critical=True)


def test_a_replacement_is_one_row_with_two_bars(page: Page) -> None:
    rows = call(page, "timeline_rows", "rowsOf", [bar(0, "net"), NEW, OLD])
    assert [(row["no"], [old["no"] for old in row["olds"]]) for row in rows] == [(0, []), (1, [7])]
    assert (rows[1]["critical"], rows[1]["state"]) == (True, "done")
    new, old = call(page, "timeline_rows", "partsOf", rows[1])
    assert (new["word"], old["word"]) == ("create", "delete")
    # That the old one waits says nothing until the new one is made.
    assert [(span["kind"], span["start"]) for span in old["spans"]] == [
        ("blocked", 4),
        ("queued", 6),
        ("running", 7),
    ]
    words = call(page, "gantt", "barInWords", rows[1], 9)
    assert words == (
        "server, replaced, done, on the critical path: create blocked 1.0 s, running 3.0 s; "
        "delete blocked 2.0 s, queued 1.0 s, running 2.0 s"
    )


@pytest.mark.parametrize(
    ("new", "old", "state"),
    [
        ("running", "blocked", "running"),
        ("done", "blocked", "blocked"),
        ("done", "failed", "failed"),
        ("failed", "unreached", "failed"),
    ],
)
def test_a_replacement_has_the_state_of_the_new_one_until_that_is_done(
    page: Page, new: str, old: str, state: str
) -> None:
    (row,) = call(page, "timeline_rows", "rowsOf", [{**NEW, "state": new}, {**OLD, "state": old}])
    assert row["state"] == state


def test_what_an_earlier_operation_replaced_has_a_row_of_its_own(page: Page) -> None:
    (row,) = call(page, "timeline_rows", "rowsOf", [OLD])
    assert (row["no"], row["olds"]) == (7, [])
    (part,) = call(page, "timeline_rows", "partsOf", row)
    assert (part["word"], len(part["spans"])) == ("", 3)


def test_zooming_stops_following_and_all_of_it_follows_again(page: Page) -> None:
    near = call(page, "timeline_view", "zoomed", FIRST, 2, GIVEN)
    assert near == {"perSecond": 20, "isWhole": False, "follows": False}
    # The scale stays while the operation goes on.
    assert call(page, "timeline_view", "scaleOf", near, {**GIVEN, "seconds": 50}) == 20
    assert call(page, "timeline_view", "scaleOf", FIRST, {**GIVEN, "seconds": 50}) == 2
    assert call(page, "timeline_view", "resumed", near) == {**near, "follows": True}
    assert call(page, "timeline_view", "zoomed", near, 0, GIVEN) == FIRST
    assert call(page, "timeline_view", "zoomed", near, 0.5, GIVEN) == FIRST
    assert call(page, "timeline_view", "zoomed", near, 10**6, GIVEN)["perSecond"] == 4000


def test_what_is_in_sight_stays_when_the_user_scrolls(page: Page) -> None:
    left = call(page, "timeline_view", "stopped", FIRST, GIVEN)
    assert left == {"perSecond": 10, "isWhole": True, "follows": False}
    assert call(page, "timeline_view", "stopped", left, {**GIVEN, "seconds": 99}) == left
    assert call(page, "timeline_view", "resumed", left) == FIRST


def test_only_the_users_scrolling_counts(page: Page) -> None:
    most = {"left": 500, "top": 90}
    for place, ours, is_ours in (
        ({"left": 500, "top": 0}, {"left": 9999, "top": 0}, True),
        ({"left": 499, "top": 90}, {"left": 500, "top": 120}, True),
        ({"left": 400, "top": 0}, {"left": 9999, "top": 0}, False),
        ({"left": 500, "top": 40}, {"left": 500, "top": 0}, False),
    ):
        assert call(page, "timeline_view", "isOurs", place, ours, most) is is_ours
    rows = {"rowHeight": 26, "room": 260}
    assert [call(page, "timeline_view", "topOf", {**rows, "begun": begun}) for begun in (0, 10, 12)] == [
        0,
        0,
        52,
    ]


def test_marks_below_a_second_apart_are_told_apart(page: Page) -> None:
    words = [call(page, "scale", "markWord", each) for each in (0, 0.5, 1, 1.5, 20, 90, 3600)]
    assert words == ["0", "500 ms", "1 s", "1.5 s", "20 s", "1 min 30 s", "1 h"]


def test_a_timeline_follows_until_it_is_moved_and_again_on_demand(site: Site, visit: Visiting) -> None:
    stack = site.gated("followed", {f"r{number}": nothing() for number in range(60)})
    with visit() as seen:
        seen.open("/stack/followed/timeline")
        follow = seen.page.locator("#timeline-follow")
        chart = seen.page.locator("#timeline-chart")
        expect(follow).to_have_attribute("aria-pressed", "true")
        seen.page.locator("#timeline-in").click()
        expect(follow).to_have_attribute("aria-pressed", "false")
        follow.click()
        expect(follow).to_have_attribute("aria-pressed", "true")
        # The right edge is now, and goes on.
        at = "(before) => { const { scrollLeft, scrollWidth, clientWidth } = document.getElementById('timeline-chart');"
        seen.until(f"{at} return scrollLeft > before && scrollLeft + clientWidth >= scrollWidth - 2; }}", 0)
        left = chart.evaluate("(chart) => chart.scrollLeft")
        seen.until(
            f"{at} return scrollLeft > before && scrollLeft + clientWidth >= scrollWidth - 2; }}", left
        )
        chart.hover()
        seen.page.mouse.wheel(0, 200)
        expect(follow).to_have_attribute("aria-pressed", "false")
        seen.page.locator("#timeline-fit").click()
        expect(follow).to_have_attribute("aria-pressed", "true")
        site.let_on(stack)
        seen.until_stack("CREATE_COMPLETE")
        expect(follow).to_be_hidden()


def test_a_replacement_is_one_row_of_a_timeline(site: Site, visit: Visiting) -> None:
    def template(value: str) -> str:
        server = nothing(properties={"value": value, "update_replace": True})
        return json.dumps({"heat_template_version": "2021-04-16", "resources": {"server": server}})

    made = site.service.create(StackJob(name="exchanged", template=template("a")))
    site.ended(made.id)
    site.service.update(StackJob(name="exchanged", template=template("b")))
    site.ended(made.id)
    with visit() as seen:
        seen.open("/stack/exchanged/timeline")
        row = seen.page.locator(".gantt-row")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("server (replace)")
        expect(row.locator(".gantt-old")).to_have_count(1)
        assert "create " in row.inner_text()
        assert "delete " in row.inner_text()
        row.click()
        details = seen.page.locator("#timeline-details tbody")
        expect(details).to_contain_text("create: running")
        expect(details).to_contain_text("delete: running")
        seen.page.locator("#timeline-as-table").click()
        expect(seen.page.locator("#timeline-table tbody tr")).to_have_count(1)
        assert seen.findings() == []
