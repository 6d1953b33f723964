"""Two operations of a stack side by side: in words, and on their page."""

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site, nothing
from tests.browser.visit import THEMES, visiting

CALL = "async ([name, given]) => (await import('/stacks/static/js/compare_words.js'))[name](given)"


@pytest.fixture(scope="module")
def page(browser: Browser, site: Site) -> Any:
    with visiting(browser, site) as seen:
        seen.open("/stacks")
        yield seen.page


def side(*actions: str, state: str = "done", attempts: int = 1, **seconds: float) -> dict[str, Any]:
    every = {"queued": 0, "running": 0, "retrying": 0, "held": 0, **seconds}
    return {"actions": actions or ("UPDATE",), "state": state, "attempts": attempts, "seconds": every}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"a": side(queued=1), "b": side(queued=4), "mainly": "queued"}, "waited 3.0 s longer for a worker"),
        ({"a": side(running=4), "b": side(running=1), "mainly": "running"}, "worked 3.0 s less"),
        (
            {"a": side(), "b": side(attempts=3, retrying=2), "mainly": "retrying"},
            "was tried again for 2.0 s longer; 3 attempts in place of 1",
        ),
        ({"a": side(), "b": side("CREATE", "DELETE"), "mainly": ""}, "replaced in place of changed"),
        ({"a": side(), "b": side(state="failed"), "mainly": ""}, "failed in place of changed"),
        ({"a": None, "b": side("CREATE"), "mainly": ""}, "only in the second: made"),
        ({"a": side("DELETE"), "b": None, "mainly": ""}, "only in the first: deleted"),
        (
            {"a": side("CREATE", state="unreached", attempts=0), "b": None, "mainly": ""},
            "only in the first: not reached",
        ),
        ({"a": side(), "b": side(), "mainly": ""}, "as long as before"),
    ],
)
def test_why_a_resource_took_longer_is_told(page: Page, row: Any, words: str) -> None:
    assert page.evaluate(CALL, ["whyWords", row]) == words


def test_the_whole_is_told_by_its_critical_path(page: Page) -> None:
    longer = {"seconds": [10, 14], "critical": [{"queued": 1, "running": 9}, {"queued": 4, "running": 10}]}
    told = "The second took 4.0 s longer. Its critical path waited 3.0 s longer for a worker, worked 1.0 s longer."
    assert page.evaluate(CALL, ["totalWords", longer]) == told
    same = {"seconds": [3, 3], "critical": [{}, {}]}
    assert page.evaluate(CALL, ["totalWords", same]) == "Both took the same time."
    assert [page.evaluate(CALL, ["differenceWords", each]) for each in (2, -0.5, 0)] == [
        "+ 2.0 s",
        "\N{MINUS SIGN} 500 ms",
        "0",
    ]


def test_two_runs_are_compared_and_the_selection_is_linked_to(site: Site, visit: Visiting) -> None:
    def template(seconds: float, **more: Any) -> str:
        slow = nothing(properties={"value": str(seconds), "wait_secs": seconds})
        return json.dumps({"heat_template_version": "2021-04-16", "resources": {"slow": slow, **more}})

    made = site.service.create(StackJob(name="twice", template=template(0)))
    site.ended(made.id)
    site.service.update(StackJob(name="twice", template=template(0.6, added=nothing())))
    site.ended(made.id)
    second, first = (each.id for each in site.service.history(made.id))
    with visit() as seen:
        seen.open("/stack/twice/history")
        seen.page.locator("#history-rows a", has_text="compare").first.click()
        rows = seen.page.locator("#compare-rows tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("slow")
        expect(rows.first).to_contain_text("worked")
        expect(rows.last).to_contain_text("only in the second: made")
        expect(seen.page.locator("#compare-changes")).to_contain_text("Added: added")
        seen.page.locator("#compare-swap").click()
        expect(seen.page.locator("#compare-changes")).to_contain_text("Removed: added")
        assert f"a={second}" in seen.page.url
        assert f"b={first}" in seen.page.url
        seen.page.go_back()
        expect(seen.page.locator("#compare-changes")).to_contain_text("Added: added")
        seen.page.locator("#compare-slower").check()
        expect(rows).to_have_count(1)
        for theme in THEMES:
            seen.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            assert seen.findings() == []
