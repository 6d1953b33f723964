"""What a page does with what it is told: it shows nothing twice, misses nothing, and says how current it all is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from orchestrator.config.settings import Settings
from orchestrator.store.store import Store
from orchestrator.store.tables import metadata
from tests.unit.orchestrator.dashboard.serving import served

#: A stream that says what the test has it say, and the places in which a page tells how current it is.
PREPARED = """async () => {
  window.sources = [];
  window.EventSource = class {
    static CONNECTING = 0; static OPEN = 1; static CLOSED = 2;
    constructor(url) { Object.assign(this, { url, readyState: 1, heard: {} }); window.sources.push(this); }
    addEventListener(name, heard) { (this.heard[name] ??= []).push(heard); }
    close() { this.readyState = 2; }
    say(name, data, id = "") {
      for (const each of this.heard[name]) each({ data: JSON.stringify(data), lastEventId: String(id) });
    }
    happens(...ids) { this.say("events", ids.map((id) => ({ id })), ids.at(-1)); }
    breaks() { this.readyState = 2; this.onerror(); }
  };
  document.body.innerHTML = `<p id="as-of"><span id="as-of-word"></span><time id="as-of-time"></time></p>
    <p id="trouble" hidden></p>`;
  const { follow } = await import("/stacks/static/js/stream.js");
  // A follower whose loads the test ends, each with where it was then.
  window.followed = (url = "/nowhere/stream", more = {}) => {
    const follower = { applied: [], loads: [] };
    const load = () => new Promise((done, fail) => follower.loads.push({ done, fail }));
    const apply = (events) => follower.applied.push(...events.map((event) => event.id));
    follower.of = follow(url, { load, apply, every: 0, ...more });
    follower.at = async (cursor) => {
      follower.loads.at(-1).done({ cursor, as_of: 1000 + cursor });
      await settled();
    };
    return follower;
  };
  window.settled = () => new Promise((done) => setTimeout(done, 30));
  window.state = () => document.getElementById("as-of").dataset.state;
  window.trouble = () => document.getElementById("trouble").textContent;
}"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = Path(tmp_path_factory.mktemp("following"))
    store = Store(f"sqlite:///{directory / 'isotherm.db'}")
    with store.database.write() as connection:
        metadata.create_all(connection)
    with served(Settings(state_directory=directory), store) as dashboard:
        yield dashboard.url


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    tab = browser.new_page()
    yield tab
    tab.close()


@pytest.fixture
def page(tab: Page, url: str) -> Page:
    """A page with nothing on it, at the address of the dashboard."""
    tab.goto(f"{url}/stacks/static/js/stream.js")
    tab.evaluate(PREPARED)
    return tab


def came_of(page: Page, story: str) -> Any:
    return page.evaluate(f"async () => {{ {story} }}")


def test_nothing_is_missed_between_what_was_loaded_and_the_stream(page: Page) -> None:
    assert came_of(
        page,
        """
        const page = followed();
        const before = sources.length;
        await page.at(7);
        sources[0].happens(6, 7);
        sources[0].happens(8, 9);
        await settled();
        return [before, sources.map((each) => each.url), page.applied];
        """,
    ) == [0, ["/nowhere/stream?since=7"], [8, 9]]


def test_what_happens_while_it_is_loaded_anew_is_applied_to_what_was_loaded(page: Page) -> None:
    assert came_of(
        page,
        """
        const page = followed();
        await page.at(7);
        sources[0].say("resync", {}, 20);
        sources[0].happens(21, 22, 23);
        await settled();
        const meanwhile = [...page.applied];
        await page.at(22);
        return [meanwhile, page.loads.length, page.applied];
        """,
    ) == [[], 2, [23]]


def test_all_that_follows_on_a_page_shares_a_stream_that_begins_where_the_oldest_is(page: Page) -> None:
    assert came_of(
        page,
        """
        const [head, graph] = [followed(), followed()];
        await graph.at(9);
        await head.at(7);
        sources[0].happens(8, 9, 10);
        await settled();
        return [sources.map((each) => each.url), head.applied, graph.applied];
        """,
    ) == [["/nowhere/stream?since=7"], [8, 9, 10], [10]]


def test_what_cannot_be_applied_is_loaded_anew(page: Page) -> None:
    assert (
        came_of(
            page,
            """
        console.error = () => {};
        const page = followed("/nowhere/stream", { apply: () => { throw new Error("a mistake"); } });
        await page.at(7);
        sources[0].happens(8);
        await settled();
        return page.loads.length;
        """,
        )
        == 2
    )


def test_so_many_events_that_loading_is_less_work_are_not_applied(page: Page) -> None:
    assert came_of(
        page,
        """
        const page = followed("/nowhere/stream", { every: 60_000 });
        await page.at(0);
        sources[0].happens(1);
        await settled();
        sources[0].happens(...Array.from({ length: 5001 }, (_, number) => number + 2));
        await page.at(5002);
        return [page.loads.length, page.applied];
        """,
    ) == [2, [1]]


def test_a_page_says_what_is_wrong_and_when_it_is_over(page: Page) -> None:
    assert came_of(
        page,
        """
        const page = followed();
        const told = [[state(), trouble()]];
        await page.at(7);
        sources[0].onopen();
        told.push([state(), trouble()]);
        sources[0].say("trouble", { error: "the database does not answer" });
        told.push([state(), trouble()]);
        sources[0].say("tick", { as_of: 1010 }, 7);
        told.push([state(), trouble()]);
        return told;
        """,
    ) == [
        ["connecting", ""],
        ["live", ""],
        ["reconnecting", "The database does not answer."],
        ["live", ""],
    ]


def test_a_page_that_could_not_be_loaded_is_loaded_again_and_then_follows(page: Page) -> None:
    assert came_of(
        page,
        """
        const { Refused } = await import("/stacks/static/js/stream.js");
        const page = followed();
        page.loads[0].fail(new Refused("the database does not answer", 503));
        await settled();
        const told = [state(), trouble(), sources.map((each) => each.url)];
        // It opened without knowing from where: what is older than its first word is loaded anew.
        while (page.loads.length < 2) await settled();
        await page.at(3);
        sources[0].say("tick", { as_of: 1005 }, 5);
        await settled();
        return [...told, page.loads.length];
        """,
    ) == ["reconnecting", "The database does not answer.", ["/nowhere/stream"], 3]


def test_a_stream_that_is_refused_for_good_is_not_asked_for_again(page: Page) -> None:
    assert came_of(
        page,
        """
        const page = followed("/stack/none/stream");
        await page.at(7);
        sources[0].breaks();
        while (!trouble()) await settled();
        return [state(), trouble().includes("none"), sources.length];
        """,
    ) == ["stale", True, 1]


def test_a_stream_that_breaks_is_opened_again_where_it_was(page: Page) -> None:
    assert came_of(
        page,
        """
        const page = followed("/stacks/stream");
        await page.at(7);
        sources[0].happens(8);
        sources[0].breaks();
        while (sources.length < 2) await settled();
        sources[1].happens(8, 9);
        await settled();
        return [sources[1].url, page.applied];
        """,
    ) == ["/stacks/stream?since=8", [8, 9]]


def test_what_is_past_is_loaded_and_not_followed(page: Page) -> None:
    assert came_of(
        page, "const page = followed(null); await page.at(7); return [sources.length, state()];"
    ) == [0, "past"]
