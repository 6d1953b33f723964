"""The pages about nodes, caches and workers in a real browser: what they show, and what they do as it changes."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.errors import Unavailable
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store.store import Store
from orchestrator.views.operations import ProcessView, StuckView
from tests.browser.visit import PATIENCE
from tests.unit.orchestrator.dashboard.serving import served
from tests.waiting import until

HEAD = "heat_template_version: 2021-04-16\n"
#: A name that would do harm if it were taken for anything but text.
HOSTILE = "<img src=x onerror=alert(1)>"


def process(pid: int, now: float, **more: Any) -> ProcessView:
    told: dict[str, Any] = {
        "kind": "worker",
        "celery_name": "worker@h",
        "state": "present",
        "queues": ("checks",),
    }
    return ProcessView(
        name=f"worker@h:{pid}:1.00",
        host="h",
        pid=pid,
        version="0.1.0",
        started_at=now - 4000,
        seen_at=now - 5,
        seen_seconds=5.0,
        **{**told, **more},
    )


def write_file(settings: Settings, name: str) -> None:
    """Have a stack write a file on this machine."""
    path = settings.state_directory / "files" / name
    properties = f"{{path: {path}, content: it}}"
    template = f"{HEAD}resources: {{file: {{type: Isotherm::Node::File, properties: {properties}}}}}"
    with Service.open(settings) as service:
        service.create(StackJob(name="web", template=template, project=settings.project))
        until(lambda: service.stack("web").status == "COMPLETE")


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A dashboard without a broker: its one node is this machine, with files of two projects on it."""
    settings = Settings(state_directory=Path(tmp_path_factory.mktemp("fleet")))
    for project in ("default", "other"):
        write_file(settings.with_values(project=project), f"{project}.txt")
    with served(settings, Store.of(settings)) as made:
        yield made


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    tab = browser.new_page(bypass_csp=False)
    tab.set_default_timeout(PATIENCE)
    yield tab
    tab.close()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """A page; what went wrong on it fails the test."""
    errors: list[str] = []

    def hear(said: Any) -> None:
        if said.type == "error":
            errors.append(said.text)

    def fail(error: Any) -> None:
        errors.append(str(error))

    tab.on("console", hear)
    tab.on("pageerror", fail)
    tab.emulate_media(color_scheme="light")
    yield tab
    tab.remove_listener("console", hear)
    tab.remove_listener("pageerror", fail)
    assert errors == []


def findings(browser: Browser, url: str, theme: str) -> list[str]:
    """Return what Axe finds in our part of a page that is serious; it has to get past the policy of scripts."""
    page = browser.new_page(bypass_csp=True, color_scheme="dark" if theme == "dark" else "light")
    try:
        page.goto(url)
        page.wait_for_selector("#as-of[data-state=live]")
        violations = Axe().run(page, context="#stacks-page").response["violations"]
    finally:
        page.close()
    return [f"{each['id']}: {each['nodes'][0]['html'][:120]}" for each in violations if _is_serious(each)]


def _is_serious(finding: Any) -> bool:
    return finding["impact"] in {"serious", "critical"}


@pytest.fixture
def processes(dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ProcessView]]:
    """What the store tells of processes, and a worker that Celery alone has heard of."""
    told: list[ProcessView] = []
    stuck = StuckView(
        stack=HOSTILE, stack_id="s1", resource="port", action="CREATE", why="undelivered", seconds=65.0
    )
    monkeypatch.setattr(dashboard.observer, "processes", lambda: tuple(told))
    monkeypatch.setattr(dashboard.observer, "stuck", lambda: (stuck,) if told else ())
    celery = dashboard.events.state.workers
    celery["stranger@h"] = SimpleNamespace(heartbeats=[], alive=False, active=None, processed=None)
    yield told
    celery.pop("stranger@h")


def test_from_the_list_of_nodes_one_gets_to_all_that_is_on_one(dashboard: Dashboard, page: Page) -> None:
    page.goto(f"{dashboard.url}/stacks/nodes")
    row = page.locator("#nodes-rows tr")
    expect(row).to_have_count(1)
    expect(row.locator(".state")).to_have_text("up")
    expect(row).to_contain_text("of")
    row.get_by_role("link", name="local").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("local")
    expect(page.locator("#node-state")).to_have_text("up")
    expect(page.locator("#node-sections tr")).to_have_count(2)
    files = page.locator("#node-residents tr")
    # Of another project there is a file on it, too.
    expect(files).to_have_count(1)
    expect(files).to_contain_text("default.txt")
    expect(page.locator("body")).not_to_contain_text("other.txt")
    expect(page.locator("#as-of")).to_have_attribute("data-state", "live")
    files.get_by_role("link", name="web").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("web")


def test_nodes_are_searched_while_one_types_and_nothing_found_is_said(
    dashboard: Dashboard, page: Page
) -> None:
    page.goto(f"{dashboard.url}/stacks/nodes")
    search = page.get_by_role("searchbox", name="Search nodes by name or label")
    expect(page.locator("#nodes-rows tr")).to_have_count(1)
    search.press_sequentially("LOC")
    expect(page.locator("#nodes-rows tr")).to_have_count(1)
    search.press_sequentially("x")
    expect(page.locator("#nodes-none")).to_be_visible()
    expect(page.locator("#nodes-frame")).to_be_hidden()


def test_caches_are_told_with_words_for_what_was_never_counted(dashboard: Dashboard, page: Page) -> None:
    page.goto(f"{dashboard.url}/stacks/cache")
    expect(page.locator("#cache-rows tr").first).to_be_visible()
    http = page.get_by_role("row", name="http")
    expect(http.locator(".state")).to_have_text("ok")
    expect(http).to_contain_text("nothing counted yet")


def test_workers_are_told_as_they_come_and_the_focus_stays_where_it_was(
    dashboard: Dashboard, page: Page, processes: list[ProcessView]
) -> None:
    now = dashboard.store.observations.moment()[1]
    page.goto(f"{dashboard.url}/stacks/workers")
    stranger = page.get_by_role("link", name="stranger@h")
    expect(stranger).to_be_visible()
    expect(page.locator("#stuck-empty")).to_be_visible()
    stranger.focus()
    works = (("web", "s1", HOSTILE, "CREATE", now - 12, now + 48),)
    processes += [process(7, now, works_on=works), process(8, now, celery_name="", state="silent")]
    expect(page.get_by_role("rowheader", name="worker 7 h")).to_be_visible()
    told = page.locator("tr", has_text="worker 7")
    expect(told).to_contain_text(HOSTILE)
    expect(told).to_contain_text("lease ends in")
    expect(page.locator("tr", has_text="worker 8").locator(".state")).to_have_text("silent")
    expect(page.locator("#stuck-rows tr")).to_contain_text("no worker has taken it")
    error = f"2026-01-02T03:04:05Z 503 {HOSTILE} GET /v1/{{project}}/stacks req-1"
    address = "http://h:8004/v1"
    processes += [process(9, now, kind="api", celery_name="", address=address, errors=(error,))]
    serves = page.locator("tr", has_text="api 9").get_by_role("listitem")
    expect(serves).to_have_text([f"serves {address}", error])
    assert page.evaluate("() => document.activeElement.textContent") == "stranger@h"
    processes.clear()
    expect(told).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["nodes/local", "workers"])
def test_nobody_is_kept_out(
    dashboard: Dashboard, browser: Browser, processes: list[ProcessView], path: str, theme: str
) -> None:
    now = dashboard.store.observations.moment()[1]
    processes += [process(7, now), process(8, now, celery_name="", state="stopped")]
    assert findings(browser, f"{dashboard.url}/stacks/{path}", theme) == []


def test_what_was_known_is_shown_as_stale_while_nobody_can_be_asked(
    dashboard: Dashboard, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.goto(f"{dashboard.url}/stacks/workers")
    expect(page.locator("#as-of")).to_have_attribute("data-state", "live")
    # What was told to another test a moment ago is not it.
    expect(page.locator("#workers-frame")).to_contain_text("embedded")
    answers = dashboard.observer.processes

    def away() -> Any:
        raise Unavailable("the database does not answer")

    monkeypatch.setattr(dashboard.observer, "processes", away)
    expect(page.locator("#as-of")).to_have_attribute("data-state", "stale")
    expect(page.locator("#trouble")).to_have_text("The database does not answer.")
    expect(page.locator("#workers-frame")).to_contain_text("embedded")
    monkeypatch.setattr(dashboard.observer, "processes", answers)
    expect(page.locator("#as-of")).to_have_attribute("data-state", "live")
    expect(page.locator("#trouble")).to_be_hidden()
