"""The grid of a stack's operations: what it works out by itself, and what the page shows."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.model.messages import StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site, nothing
from tests.browser.visit import THEMES, visiting

#: Takes answers of the server, and tells what is known then: the letters of each row, oldest operation first.
TAKE = """async (answers) => {
  const { Runs } = await import("/stacks/static/js/runs_model.js");
  const runs = new Runs();
  const joins = [];
  for (const [answer, isOlder] of answers) {
    joins.push(runs.joins(answer));
    runs.take(answer, isOlder);
  }
  const letters = ({ cells }) => runs.operations.map(({ id }) => cells.get(id)?.letter ?? "?").join("");
  const names = (filter) => runs.shown(filter).map(({ name }) => name);
  return {
    joins,
    operations: runs.operations.map(({ id }) => id),
    more: runs.more,
    rows: Object.fromEntries([...runs.rows.values()].map((row) => [row.name, letters(row)])),
    shown: {
      some: names({}), failed: names({ which: "failed" }), all: names({ which: "all" }), text: names({ text: "R1" }),
    },
  };
}"""
CALL = """async ([name, ...given]) => {
  const told = (await import("/stacks/static/js/runs_model.js"))[name](...given);
  return told instanceof Map ? Object.fromEntries(told) : told;
}"""
#: The columns of a row, as the marks in it are named.
OUTCOMES = """(name) => [...document.querySelectorAll("#runs-rows .runs-row")]
  .find((row) => row.querySelector(".runs-name").textContent.replace(/^[▸▾] /, "") === name)
  ?.querySelectorAll("[data-run]").values().map((cell) => cell.ariaLabel.split(/[:,] /)[1]).toArray()"""


def answer(*operations: str, rows: dict[str, str], more: bool = False, trimmed: tuple[str, ...] = ()) -> Any:
    begun = [{"id": each, "begun_at": int(each[1:]), "ended_at": int(each[1:]) + 1} for each in operations]
    told: list[Any] = [[name, "Thing", None, letters, {}, {}] for name, letters in rows.items()]
    return {"operations": begun, "rows": told, "more": more, "trimmed": trimmed}


class Model:
    def __init__(self, page: Page) -> None:
        self._page = page

    def after(self, *answers: tuple[Any, bool]) -> Any:
        return self._page.evaluate(TAKE, answers)

    def call(self, name: str, *given: Any) -> Any:
        return self._page.evaluate(CALL, [name, *given])


@pytest.fixture(scope="module")
def model(browser: Browser, site: Site) -> Iterator[Model]:
    with visiting(browser, site) as seen:
        seen.open("/stacks")
        yield Model(seen.page)


def test_answers_about_newer_and_older_operations_are_put_together(model: Model) -> None:
    first = answer("t5", "t4", rows={"r1": "-c", "r2": "f-", "r10": "u-"}, more=True)
    older = answer("t3", "t2", rows={"r1": "cm", "r3": "dm"}, more=False)
    newer = answer("t6", "t5", rows={"r1": "c-", "r2": "mf"}, more=True)
    told = model.after((first, False), (older, True), (newer, False))
    assert told["operations"] == ["t2", "t3", "t4", "t5", "t6"]
    # Between its steps, a resource was left alone; behind its deletion there is none.
    assert told["rows"] == {"r1": "mccuc", "r2": "---fm", "r10": "uuuuu", "r3": "md---"}
    assert told["more"] is False
    assert told["joins"][2] is True
    assert told["shown"] == {
        "some": ["r1", "r2", "r3"],
        "failed": ["r2"],
        "all": ["r1", "r2", "r3", "r10"],
        "text": ["r1"],
    }


def test_an_operation_whose_steps_are_purged_says_nothing_of_a_resource(model: Model) -> None:
    told = model.after((answer("t3", "t2", "t1", rows={"r1": "c-m"}, trimmed=("t2",)), False))
    assert told["rows"] == {"r1": "m-c"}


def test_a_gap_between_what_is_known_and_what_is_new_is_noticed(model: Model) -> None:
    known, far = answer("t2", "t1", rows={}), answer("t9", "t8", rows={}, more=True)
    assert model.after((known, False), (far, False))["joins"] == [True, False]


def test_bars_are_as_high_as_operations_took_long(model: Model) -> None:
    assert model.call("barHeights", [10, 5, 0.001, 0], 48) == [48, 24, 2, 2]
    assert model.call("barHeights", [0, 0], 48) == [2, 2]
    assert model.call("barHeights", [], 48) == []


def test_an_operation_inside_belongs_to_the_one_in_whose_time_it_began(model: Model) -> None:
    outer = [{"id": "a", "begun_at": 1, "ended_at": 5}, {"id": "b", "begun_at": 6, "ended_at": None}]
    inner = [{"id": "x", "begun_at": 2}, {"id": "y", "begun_at": 4}, {"id": "z", "begun_at": 9}]
    assert model.call("withinEach", outer, inner) == {"a": "y", "b": "z"}
    assert model.call("withinEach", outer, []) == {}


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("ArrowUp", [1, 1]),
        ("ArrowDown", [3, 1]),
        ("ArrowLeft", [2, 0]),
        ("ArrowRight", [2, 2]),
        ("PageDown", [9, 1]),
        ("PageUp", [0, 1]),
        ("Home", [2, 0]),
        ("End", [2, 3]),
        ("Enter", None),
    ],
)
def test_keys_stay_in_the_grid(model: Model, key: str, place: list[int] | None) -> None:
    size = {"rows": 10, "columns": 4, "page": 20}
    told = model.call("moved", {"row": 2, "column": 1}, key, size)
    assert (told and [told["row"], told["column"]]) == place


def template(**resources: Any) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def test_runs_show_what_each_operation_did_and_lead_there(site: Site, visit: Visiting) -> None:
    def server(value: str) -> dict[str, Any]:
        return nothing(properties={"value": value, "update_replace": True})

    def group(count: int) -> dict[str, Any]:
        properties = {"count": count, "index_var": "%n%", "resource_def": nothing()}
        return {"type": "OS::Heat::ResourceGroup", "properties": properties}

    made = site.made("run-often", {"kept": nothing(), "server": server("a"), "group": group(1)})
    changed = {"kept": nothing(), "server": server("b"), "group": group(2)}
    for given in (changed, {**changed, "broken": nothing(properties={"fail": True})}):
        site.service.update(StackJob(name="run-often", template=template(**given)))
        site.ended(made.id)
    failed = site.service.history(made.id)[0]
    with visit() as seen:
        seen.open("/stack/run-often/runs")
        expect(seen.page.locator("#runs-rows .runs-row")).to_have_count(4)
        assert seen.page.evaluate(OUTCOMES, "server") == ["made", "replaced", "unchanged"]
        assert seen.page.evaluate(OUTCOMES, "kept") == ["made", "unchanged", "unchanged"]
        assert seen.page.evaluate(OUTCOMES, "broken") == ["not in it", "not in it", "failed"]
        # By keyboard alone: to the names of the rows, into a nested stack, and to the cell that failed.
        seen.page.locator('[data-place="0 0"]').focus()
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            seen.page.keyboard.press(key)
        expect(seen.page.locator('[data-place="2 0"]')).to_have_attribute("aria-expanded", "true")
        assert "open=group" in seen.page.url
        expect(seen.page.locator("#runs-rows .runs-row")).to_have_count(6)
        assert seen.page.evaluate(OUTCOMES, "1") == ["not in it", "made", "not in it"]
        for key in ("ArrowUp", "End"):
            seen.page.keyboard.press(key)
        expect(seen.page.locator("#runs-tip")).to_contain_text("broken: failed")
        expect(seen.page.locator("#runs-tip")).to_contain_text("as the property 'fail' asks")
        seen.page.keyboard.press("Enter")
        expect(seen.page.locator("#runs-chosen h2")).to_contain_text("broken")
        # What is chosen and what is opened is linked to.
        seen.page.reload()
        expect(seen.page.locator("#runs-chosen .trouble")).to_contain_text("as the property 'fail' asks")
        expect(seen.page.locator("#runs-rows .runs-row")).to_have_count(6)
        for theme in THEMES:
            seen.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            assert seen.findings() == []
        seen.page.locator("#runs-which").select_option("failed")
        expect(seen.page.locator("#runs-rows .runs-row")).to_have_count(1)
        seen.page.go_back()
        expect(seen.page.locator("#runs-rows .runs-row")).to_have_count(6)
        seen.page.locator("#runs-chosen a", has_text="Events").click()
        seen.page.wait_for_url(lambda url: "/events?" in url)
        assert f"traversal={failed.id}" in seen.page.url
        expect(seen.page.locator("#events-rows tr")).to_have_count(2)
