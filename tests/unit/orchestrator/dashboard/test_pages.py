"""What the pages about stacks are told, asked of a dashboard that serves them."""

import gzip
from base64 import b64encode
from collections.abc import Iterator
from threading import current_thread
from typing import Any

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.handlers.stack import TABS
from orchestrator.dashboard.modules import STATIC
from orchestrator.dashboard.static_files import _compressed
from orchestrator.errors import Unavailable
from orchestrator.model.messages import StackJob
from orchestrator.queries.stacks import StackQueries
from orchestrator.service import Service
from orchestrator.store.store import Store
from orchestrator.views.stacks import EventView
from tests.unit.orchestrator.dashboard.conftest import TEMPLATE
from tests.unit.orchestrator.dashboard.serving import client, served

#: The value of the parameter ``word`` of the stack ``web``.
VALUE = "told-to-nobody"
ANN = {"Authorization": f"Basic {b64encode(b'ann:secret').decode()}"}


@pytest.fixture(scope="session")
def changed(service: Service) -> str:
    """The stack ``pair``: made, and then given a second resource and another value."""
    made = service.create(StackJob(name="pair", template=TEMPLATE))
    assert list(service.watch(made.id))[-1].stack.status == "COMPLETE"
    more = TEMPLATE.replace("outputs:", "  two: {type: OS::Heat::TestResource}\noutputs:")
    given = service.update(StackJob(name="pair", template=more, parameters={"word": "another"}))
    assert list(service.watch(given.id))[-1].stack.status == "COMPLETE"
    return "pair"


@pytest.fixture(scope="module")
def asked(settings: Settings, changed: str) -> Iterator[httpx.Client]:
    """A client of a dashboard without authentication."""
    assert changed
    with served(settings, Store.of(settings)) as dashboard, client(dashboard) as made:
        yield made


@pytest.fixture(scope="module")
def known(settings: Settings, changed: str) -> Iterator[httpx.Client]:
    """A client of a dashboard with authentication, who has logged in."""
    assert changed
    store = Store.of(settings)
    with (
        served(settings, store, basic_auth=["ann:secret"]) as dashboard,
        client(dashboard, headers=ANN) as made,
    ):
        yield made


def told(client: httpx.Client, path: str, status: int = 200) -> Any:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.parametrize("tab", [tab for tab, _ in TABS])
def test_each_tab_is_a_page_with_the_others_beside_it(asked: httpx.Client, tab: str) -> None:
    page = asked.get(f"/stack/web/{tab}")
    assert page.status_code == 200
    for other, word in TABS:
        assert f'href="/stack/web/{other}"' in page.text
        assert word in page.text
    assert page.text.count('class="tab"') == len(TABS)
    # What the policy of our pages forbids would do nothing.
    assert "style=" not in page.text.split("<main")[1]
    assert "onclick" not in page.text


def test_a_stack_leads_to_its_graph_and_keeps_what_was_asked(asked: httpx.Client) -> None:
    assert asked.get("/").headers["Location"] == "/stacks"
    assert asked.get("/stack/web").headers["Location"] == "/stack/web/graph"
    assert asked.get("/stack/web?traversal=x").headers["Location"] == "/stack/web/graph?traversal=x"


def test_a_page_of_no_stack_names_the_nearest(asked: httpx.Client) -> None:
    page = asked.get("/stack/wen/timeline")
    assert page.status_code == 404
    assert "did you mean &#x27;web&#x27;?" in page.text
    assert "did you mean 'web'?" in told(asked, "/stack/wen/head.json", 404)["error"]


def test_a_page_of_the_past_keeps_to_its_operation(asked: httpx.Client) -> None:
    newest, oldest = told(asked, "/stack/pair/history.json")["operations"]
    page = asked.get(f"/stack/pair/timeline?traversal={oldest['id']}").text
    assert f'href="/stack/pair/events?traversal={oldest["id"]}"' in page
    assert 'id="stack-past">A past operation.' in page
    # What tells of the stack as it is now keeps to none.
    assert 'href="/stack/pair/resources"' in page
    for tab in ("resources", "outputs", "history"):
        assert 'id="stack-past" hidden>' in asked.get(f"/stack/pair/{tab}?traversal={oldest['id']}").text
    assert 'data-current="false"' in page
    assert 'data-current="true"' in asked.get(f"/stack/pair/timeline?traversal={newest['id']}").text


def test_the_title_of_a_stacks_page_says_its_state(asked: httpx.Client) -> None:
    assert "<title>web · CREATE_COMPLETE · Events · Isotherm</title>" in asked.get("/stack/web/events").text


def test_the_page_of_a_stack_says_whether_it_is_protected(asked: httpx.Client, service: Service) -> None:
    badge = '<span class="tag" id="stack-protected"{}>protected</span>'
    assert badge.format(" hidden") in asked.get("/stack/web/events").text
    service.protect("web")
    try:
        assert badge.format("") in asked.get("/stack/web/events").text
        assert told(asked, "/stack/web/head.json")["protected"] is True
    finally:
        service.protect("web", protected=False)


def test_a_head_says_how_far_the_operation_is_and_what_the_visitor_may_do(asked: httpx.Client) -> None:
    head = told(asked, "/stack/pair/head.json")
    assert (head["operation"]["action"], head["operation"]["status"]) == ("UPDATE", "COMPLETE")
    # What would clean up after ``one`` had it been replaced is no work on a resource.
    assert (head["total"], head["done"], head["counts"]) == (2, 2, {"done": 2})
    assert head["may"]["role"] == "viewer"
    assert head["cursor"] > 0


def test_the_list_of_stacks_is_searched_and_cut_into_pages(asked: httpx.Client) -> None:
    everything = told(asked, "/stacks/data?sort=name&descending=0")
    names = [row["name"] for row in everything["rows"]]
    assert names == sorted(names)
    assert {"web", "pair"} <= set(names)
    second = told(asked, "/stacks/data?sort=name&descending=0&offset=1&limit=1")
    assert [row["name"] for row in second["rows"]] == names[1:2]
    assert second["total"] == len(names)
    assert [row["name"] for row in told(asked, "/stacks/data?search=pai")["rows"]] == ["pair"]
    assert told(asked, "/stacks/data?states=CREATE_FAILED")["rows"] == []


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/stacks/data?limit=0", "limit: expected a whole number from 1 to 500, found '0'"),
        ("/stacks/data?offset=x", "offset: expected a whole number"),
        ("/stacks/data?sort=nane", "found 'nane' (did you mean 'name'?)"),
        ("/stacks/data?nested=perhaps", "nested: expected 1 or 0, found 'perhaps'"),
        ("/stack/web/events.json?before=-1", "before: expected a whole number"),
        ("/stack/web/events.json?limit=9999", "limit: expected a whole number from 1 to 500"),
        (f"/stack/web/events-file.json?resource={'x' * 300}", "resource: expected at most 255 characters"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    asked: httpx.Client, path: str, sentence: str
) -> None:
    assert sentence in told(asked, path, 400)["error"]


def test_events_are_told_newest_first_page_by_page(asked: httpx.Client) -> None:
    everything = told(asked, "/stack/pair/events.json")
    ids = [event["id"] for event in everything["events"]]
    assert ids == sorted(ids, reverse=True)
    assert not everything["more"]
    assert everything["cursor"] >= ids[0]
    first = told(asked, "/stack/pair/events.json?limit=3")
    assert first["more"]
    rest = told(asked, f"/stack/pair/events.json?before={ids[2]}")
    assert [event["id"] for event in (*first["events"], *rest["events"])] == ids
    newer = told(asked, f"/stack/pair/events.json?after={ids[2]}")
    assert [event["id"] for event in newer["events"]] == ids[:2]


def test_events_are_filtered_by_resource_status_and_operation(asked: httpx.Client) -> None:
    def names(query: str) -> list[tuple[str, str]]:
        events = told(asked, f"/stack/pair/events.json?{query}")["events"]
        return [(event["resource"], event["state"]) for event in reversed(events)]

    assert names("resource=tw") == [("two", "CREATE_IN_PROGRESS"), ("two", "CREATE_COMPLETE")]
    assert names("resource=t?o&status=COMPLETE") == [("two", "CREATE_COMPLETE")]
    assert names("resource=t?") == []
    oldest = told(asked, "/stack/pair/history.json")["operations"][-1]["id"]
    assert ("two", "CREATE_COMPLETE") not in names(f"traversal={oldest}")
    assert ("one", "CREATE_COMPLETE") in names(f"traversal={oldest}")


def test_events_are_saved_whole_and_oldest_first(asked: httpx.Client) -> None:
    saved = asked.get("/stack/pair/events-file.json")
    assert "attachment" in saved.headers["Content-Disposition"]
    shown = told(asked, "/stack/pair/events.json")["events"]
    assert saved.json() == list(reversed(shown))
    assert asked.get("/stack/pair/events-file.json?resource=nothing").json() == []


def test_a_file_that_cannot_be_ended_is_seen_to_be_incomplete(
    asked: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.dashboard.handlers.stack_data._SAVED_AT_ONCE", 2)
    read = StackQueries.events

    def fails_later(self: StackQueries, name: str, *, after: int = 0, **more: Any) -> list[EventView]:
        if after:
            raise Unavailable("the database is away")
        return read(self, name, after=after, **more)

    monkeypatch.setattr(StackQueries, "events", fails_later)
    with asked.stream("GET", "/stack/pair/events-file.json") as saved:
        assert saved.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            saved.read()


def test_resources_are_told_without_any_value_of_theirs(asked: httpx.Client) -> None:
    answer = asked.get("/stack/web/resources.json")
    (one,) = answer.json()["resources"]
    assert (one["name"], one["state"], one["requires"]) == ("one", "CREATE_COMPLETE", [])
    assert not {"attributes", "metadata", "annotations"} & set(one)
    assert VALUE not in answer.text


def test_an_operations_changes_are_told(known: httpx.Client) -> None:
    newest, oldest = told(known, "/stack/pair/history.json")["operations"]
    changes = told(known, f"/stack/pair/changes.json?traversal={newest['id']}")
    assert changes["added"] == ["two"]
    assert ["word", VALUE, "another"] in changes["parameters"]
    assert any(line.startswith("+  two:") for line in changes["template"])
    assert told(known, f"/stack/pair/changes.json?traversal={oldest['id']}")["before_id"] is None
    told(known, "/stack/pair/changes.json?traversal=none", 404)


@pytest.mark.parametrize("path", ["template.json", "outputs.json", "changes.json?traversal={}"])
def test_values_are_shown_to_those_alone_who_are_known(
    asked: httpx.Client, known: httpx.Client, path: str
) -> None:
    newest = told(asked, "/stack/pair/history.json")["operations"][0]["id"]
    to_all, to_known = (each.get(f"/stack/pair/{path.format(newest)}") for each in (asked, known))
    assert (to_all.status_code, to_known.status_code) == (200, 200)
    assert "word" in to_all.text
    assert "another" not in to_all.text
    assert VALUE not in to_all.text
    assert "another" in to_known.text


def test_a_past_operation_has_the_definition_that_it_gave(known: httpx.Client) -> None:
    newest, oldest = told(known, "/stack/pair/history.json")["operations"]
    sources = [
        told(known, f"/stack/pair/template.json?traversal={each['id']}")["source"]
        for each in (newest, oldest)
    ]
    assert "  two:" in sources[0]
    assert "  two:" not in sources[1]


def test_browsers_ask_whether_a_script_is_still_the_one_there_is(asked: httpx.Client) -> None:
    first = asked.get("/stacks/static/js/states.js")
    assert first.headers["Cache-Control"] == "no-cache"
    again = asked.get("/stacks/static/js/states.js", headers={"If-None-Match": first.headers["Etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["/stacks/static/js/stream.js", "/stacks/static/css/stacks.css", "/stack/pair/graph"]
)
def test_scripts_styles_and_pages_are_sent_compressed(asked: httpx.Client, path: str) -> None:
    packed = asked.get(path, headers={"Accept-Encoding": "gzip"})
    plain = asked.get(path, headers={"Accept-Encoding": "identity"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.text == plain.text
    assert "Accept-Encoding" in plain.headers["Vary"]


def test_a_part_of_a_file_is_sent_as_it_is(asked: httpx.Client) -> None:
    answer = asked.get(
        "/stacks/static/js/stream.js", headers={"Accept-Encoding": "gzip", "Range": "bytes=0-1999"}
    )
    assert answer.status_code == 206
    assert "Content-Encoding" not in answer.headers
    assert len(answer.content) == 2000


def test_a_script_is_compressed_once_for_all_browsers_and_beside_the_loop(
    asked: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, pack = [], gzip.compress

    def packing(*arguments: Any, **options: Any) -> bytes:
        threads.append(current_thread())
        return pack(*arguments, **options)

    monkeypatch.setattr(gzip, "compress", packing)
    _compressed.cache_clear()
    address = "/stacks/static/js/stream.js"
    first = asked.get(address, headers={"Accept-Encoding": "gzip"})
    again = asked.get(address, headers={"Accept-Encoding": "gzip"})
    # The loop runs in the thread of this name.
    assert [thread.name == "dashboard" for thread in threads] == [False]
    assert first.headers["Content-Encoding"] == "gzip"
    assert first.text == again.text == (STATIC / "js" / "stream.js").read_text()
    kept = asked.get(address, headers={"Accept-Encoding": "gzip", "If-None-Match": first.headers["ETag"]})
    assert (kept.status_code, kept.content) == (304, b"")


@pytest.mark.parametrize("path", ["graph.json", "timeline.json", "events.json"])
def test_long_answers_are_written_and_packed_where_the_store_is_read(
    asked: httpx.Client, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    threads, pack = [], gzip.compress

    def packing(*arguments: Any) -> bytes:
        threads.append(current_thread().name)
        return pack(*arguments)

    monkeypatch.setattr(gzip, "compress", packing)
    answer = asked.get(f"/stack/pair/{path}", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.json()["cursor"]
    assert [name.partition("_")[0] for name in threads] == ["reading"]
