"""How long an operation usually takes, in words, and on the pages about one that is under way."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.model.messages import EnvironmentSource, StackJob
from tests.browser.conftest import Visiting
from tests.browser.site import Site, nothing
from tests.browser.visit import visiting

CALL = "async ([name, ...given]) => (await import('/stacks/static/js/usual.js'))[name](...given)"
STEADY = {"seconds": 120, "low_seconds": 110, "high_seconds": 130, "samples": 9, "is_steady": True}
VARIED = {"seconds": 60, "low_seconds": 8, "high_seconds": 300, "samples": 9, "is_steady": False}


@pytest.fixture(scope="module")
def page(browser: Browser, site: Site) -> Any:
    with visiting(browser, site) as seen:
        seen.open("/stacks")
        yield seen.page


def test_durations_are_told_roughly(page: Page) -> None:
    told = [page.evaluate(CALL, ["roughly", each]) for each in (0.2, 7.4, 43, 58, 128, 295, 715, 3930, 7300)]
    words = [
        "less than a second",
        "7 s",
        "45 s",
        "1 min",
        "2 min 10 s",
        "5 min",
        "12 min",
        "1 h 05 min",
        "2 h",
    ]
    assert told == words


@pytest.mark.parametrize(
    ("usual", "elapsed", "standing", "words"),
    [
        (STEADY, 80, False, "Usually takes 2 min; about 40 s left"),
        (STEADY, 117, False, "Usually takes 2 min; a few seconds left"),
        # About to end, or a little late: no countdown below nothing.
        (STEADY, 120, False, "Usually takes 2 min"),
        (STEADY, 149, False, "Usually takes 2 min"),
        (STEADY, 151, False, "Longer than usual: 2 min"),
        # Nobody knows when it goes on.
        (STEADY, 80, True, "Usually takes 2 min"),
        # They were too different from each other.
        (VARIED, 5, False, "Usually takes 8 s to 5 min"),
        (VARIED, 301, False, "Longer than usual: 8 s to 5 min"),
        # What takes no time is not late after a blink.
        (
            {**STEADY, "seconds": 0.1, "low_seconds": 0.1, "high_seconds": 0.1},
            2,
            False,
            "Usually takes less than a second",
        ),
        (None, 80, False, None),
    ],
)
def test_what_is_said_depends_on_what_is_known(
    page: Page, usual: Any, elapsed: float, standing: bool, words: str | None
) -> None:
    told = page.evaluate(CALL, ["usualWords", usual, elapsed, {"isStanding": standing}])
    assert (told and f"{told['word']} {told['value']}") == words


def test_an_operation_under_way_says_how_long_it_usually_takes(site: Site, visit: Visiting) -> None:
    def given(value: int, *, held: bool = False) -> StackJob:
        template = {
            "heat_template_version": "2021-04-16",
            "resources": {"one": nothing(properties={"value": str(value)})},
        }
        hooks = {"resource_registry": {"resources": {"one": {"hooks": ["pre-update"]}}}}
        source = (EnvironmentSource(file="environment", source=json.dumps(hooks)),) if held else ()
        return StackJob(name="usual", template=json.dumps(template), environments=source)

    made = site.service.create(given(0))
    site.ended(made.id)
    for value in (1, 2, 3):
        site.service.update(given(value))
        site.ended(made.id)
    site.service.update(given(4, held=True))
    next(progress for progress in site.service.watch(made.id) if progress.hooks)
    with visit() as seen:
        seen.open("/stack/usual/timeline")
        fact = seen.page.locator(".stack-usual")
        expect(fact).to_be_visible()
        assert "left" not in fact.inner_text()
        for path, facts in (("resource/one", "#resource-facts"), ("graph?resource=one", ".vertex-facts")):
            seen.open(f"/stack/usual/{path}")
            usual = seen.page.locator(f"{facts} div", has_text="Usually takes")
            expect(usual).to_have_text(re.compile("Usually takes ?(less than a second|\\d+ s)"))
        seen.open("/stacks?search=usual")
        expect(seen.page.locator("#stacks-rows .took-usual")).to_contain_text("usually")
        assert site.service.clear_hooks(made.id, "one")
        expect(seen.page.locator("#stacks-rows .took-usual")).to_be_hidden()
        seen.open("/stack/usual/timeline")
        seen.until_stack("UPDATE_COMPLETE")
        expect(fact).to_be_hidden()


@pytest.mark.parametrize(
    ("state", "begun", "words"),
    [
        ("running", 20, "Usually takes 2 min; about 40 s left"),
        ("waiting", 20, "Usually takes 2 min; about 40 s left"),
        ("running", -100, "Longer than usual: 2 min"),
        # It is over, or has not begun.
        ("done", 20, "Usually takes 2 min"),
        ("blocked", None, "Usually takes 2 min"),
    ],
)
def test_an_action_on_a_resource_counts_down_while_it_is_under_way(
    page: Page, state: str, begun: float | None, words: str
) -> None:
    spans = [{"attempt": 0, "start": -900}, *([{"attempt": 1, "start": begun}] if begun is not None else [])]
    details = {"usual": STEADY, "vertex": {"state": state}, "spans": spans}
    told = page.evaluate(CALL, ["usualOfResource", details, 100])
    assert f"{told['word']} {told['value']}" == words
