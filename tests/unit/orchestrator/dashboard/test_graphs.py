"""The data of the graph's page: the whole picture at first, and what changes of it later."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.handlers.graphs import CHANGING, states, whole
from orchestrator.queries.graph import picture_of
from orchestrator.service import Service
from orchestrator.store.store import Store
from orchestrator.views.operations import GraphPicture
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.unit.orchestrator.queries.made import facts, join, node, wired


@pytest.fixture(scope="module")
def asked(settings: Settings, service: Service) -> Iterator[httpx.Client]:
    with served(settings, Store.of(settings)) as dashboard, client(dashboard) as made:
        yield made


def picture(**how: Any) -> GraphPicture:
    nodes = [node(0), node(1), join(2), node(3, state="running", worker="a")]
    return picture_of(facts(wired(nodes, {2: [0, 1], 3: [2]})), **how)


@pytest.mark.parametrize("part", ["all", "groups"])
def test_the_whole_picture_is_told_as_its_view_tells_it(part: str) -> None:
    drawn = picture(part=part)
    assert json.dumps(whole(drawn), sort_keys=True) == json.dumps(drawn.to_dict(), sort_keys=True)


def test_later_what_changes_is_told_alone() -> None:
    drawn = picture()
    all_of_it, changing = whole(drawn), states(drawn)
    assert all(set(vertex) == set(CHANGING) for vertex in changing["vertices"])
    assert [vertex["no"] for vertex in changing["vertices"]] == [0, 1, 3]
    assert changing["vertices"][2]["worker"] == "a"
    left_out = {"edges", "group_edges", "vertices"}
    assert {key: value for key, value in changing.items() if key not in left_out} == {
        key: value for key, value in all_of_it.items() if key not in left_out
    }
    assert not left_out - {"vertices"} & set(changing)


def test_what_never_changes_is_what_says_what_a_vertex_is() -> None:
    vertex = picture().vertices[0].to_dict()
    assert set(vertex) - set(CHANGING) == {"name", "type", "phase", "action", "layer", "replaced_by"}


def test_graph_of_a_stack_is_told_with_a_cursor(asked: httpx.Client) -> None:
    told = asked.get("/stack/web/graph.json").json()
    assert (told["part"], told["total"], told["counts"]["done"]) == ("all", 1, 1)
    assert [vertex["name"] for vertex in told["vertices"]] == ["one"]
    assert told["cursor"] > 0
    assert asked.get("/stack/web/graph.json?states=1").json()["vertices"][0]["state"] == "done"


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ("focus=oen", 404, "one"),
        ("depth=-1&focus=one", 400, "depth is to be a whole number, 0 or more; found '-1'"),
        ("depth=many", 400, "found 'many'"),
        ("part=half", 400, "expected all or groups, found 'half'"),
        ("traversal=no-such", 404, "no-such"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_sentence(
    asked: httpx.Client, query: str, status: int, word: str
) -> None:
    answer = asked.get(f"/stack/web/graph.json?{query}")
    assert answer.status_code == status
    assert word in answer.json()["error"]


def test_one_resource_is_told_by_its_number(asked: httpx.Client) -> None:
    (vertex,) = asked.get("/stack/web/graph.json").json()["vertices"]
    told = asked.get(f"/stack/web/vertex/{vertex['no']}.json").json()
    assert told["vertex"]["name"] == "one"
    assert told["properties"] == {"value": {"get_param": "word"}}
    assert [state for _, _, state, _ in told["events"]] == ["CREATE_COMPLETE", "CREATE_IN_PROGRESS"]
    missing = asked.get("/stack/web/vertex/77.json")
    assert (missing.status_code, "77" in missing.json()["error"]) == (404, True)


def test_what_failed_is_told_and_nothing_where_nothing_did(asked: httpx.Client) -> None:
    told = asked.get("/stack/web/failure.json").json()
    assert (told["roots"], told["unreached"], told["operation"]["status"]) == ([], 0, "COMPLETE")
    assert 'id="failure"' in asked.get("/stack/web/failure").text


def test_page_of_the_graph_brings_no_script_but_files(asked: httpx.Client) -> None:
    answer = asked.get("/stack/web/graph")
    assert answer.status_code == 200
    assert 'id="graph-frame"' in answer.text
    assert asked.get("/stacks/static/js/graph.js").status_code == 200
