"""What the graph's page works out by itself: states from events, where boxes stand, and where its links lead."""

import itertools
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flower.utils.search import TaskSearchEngine
from playwright.sync_api import Browser, Page

from orchestrator.model.check_batch import summary
from orchestrator.model.messages import CheckOrder
from tests.browser.site import Site
from tests.browser.visit import visiting

pytestmark = pytest.mark.slow

#: Two resources that a third requires, through a point where edges meet; and one that is replaced.
VERTICES = (
    {"no": 0, "name": "net", "resource_id": "n", "state": "running"},
    {"no": 1, "name": "disk", "resource_id": "d", "state": "ready"},
    {"no": 2, "name": "", "kind": "join", "resource_id": None, "state": "blocked"},
    {"no": 3, "name": "server", "resource_id": "new", "action": "CREATE", "state": "blocked"},
    {
        "no": 4,
        "name": "server",
        "resource_id": "old",
        "action": "DELETE",
        "phase": "cleanup",
        "state": "blocked",
    },
)
EDGES = ((2, 0), (2, 1), (3, 2), (4, 3))

#: Makes a picture, lets a test do something with it, and tells what came of it.
MODEL = """async ({ answer, steps }) => {
  const { Picture } = await import("/stacks/static/js/graph_model.js");
  const picture = new Picture(answer);
  const changed = [];
  for (const [how, what] of steps) {
    if (how === "apply") changed.push(picture.apply(what).map((vertex) => vertex.no).sort());
    else changed.push(picture.merge(what).ahead);
  }
  const states = Object.fromEntries([...picture.vertices.values()].map(({ no, state }) => [no, state]));
  return { changed, states, retries: [...picture.vertices.values()].map((vertex) => vertex.retries) };
}"""

TASKS = """async ({ stack, name }) => {
  document.getElementById("stacks-page").dataset.stackName = stack;
  return (await import("/stacks/static/js/panel.js")).tasksUrl({ name });
}"""
PLACES = """async ({ items, unit, room }) =>
  (await import("/stacks/static/js/graph_places.js")).placesOf(items, unit, room)
"""


def answer(vertices: Any = VERTICES, **fields: Any) -> dict[str, Any]:
    common = {
        "kind": "resource",
        "phase": "converge",
        "action": "CREATE",
        "reason": "",
        "retries": 0,
        "layer": 0,
    }
    return {
        "part": "all",
        "operation": {"traversal_id": "t", "action": "UPDATE"},
        "vertices": [{**common, **vertex} for vertex in vertices],
        "edges": EDGES,
        "groups": [],
        "group_edges": [],
        "total": 4,
        "counts": {},
        "cursor": 10,
        **fields,
    }


def event(
    no: int, resource: str, state: str, resource_id: str | None = None, **fields: Any
) -> dict[str, Any]:
    action, _, status = state.partition("_")
    told = {"action": action, "status": status, "resource_id": resource_id, "traversal_id": "t"}
    return {"id": no, "resource": resource, "reason": "", "cause": "", "worker": "", **told, **fields}


def spread(wide: int, deep: int) -> list[tuple[float, float]]:
    """Where so many boxes of each step are if nothing is folded."""
    return [
        (round(1.25 * across * 168, 6), round(2.4 * down * 46, 6))
        for down in range(deep)
        for across in range(wide)
    ]


def fitting(places: Sequence[tuple[float, float]]) -> float:
    """Return in which size all of it is seen."""
    across, down = ([place[axis] for place in places] for axis in (0, 1))
    return min(
        ROOM["x"] / (max(across) - min(across) + UNIT["width"]),
        ROOM["y"] / (max(down) - min(down) + UNIT["height"]),
    )


class Model:
    def __init__(self, page: Page) -> None:
        self._page = page

    def after(self, *steps: tuple[str, Any]) -> Any:
        return self._page.evaluate(MODEL, {"answer": answer(), "steps": steps})

    def tasks_url(self, stack: str, name: str) -> str:
        url: str = self._page.evaluate(TASKS, {"stack": stack, "name": name})
        return url

    def places(self, wide: int, deep: int) -> list[tuple[float, float]]:
        items = [{"x": 1.25 * across, "y": 2.4 * down} for down in range(deep) for across in range(wide)]
        told = self._page.evaluate(PLACES, {"items": items, "unit": UNIT, "room": ROOM})
        return [(round(place["x"], 6), round(place["y"], 6)) for place in told]


@pytest.fixture(scope="module")
def model(browser: Browser, site: Site) -> Iterator[Model]:
    with visiting(browser, site) as seen:
        seen.open("/stacks")
        yield Model(seen.page)


#: As graph_style.js has it, and the room of a frame.
UNIT = {"across": 168, "down": 46, "width": 168, "height": 46}
ROOM = {"x": 1200, "y": 700}


@pytest.mark.parametrize(("wide", "deep"), [(1, 60), (3, 40), (2, 300)], ids=str)
def test_what_is_far_too_tall_is_folded_and_seen_larger(model: Model, wide: int, deep: int) -> None:
    places = model.places(wide, deep)
    assert fitting(places) > 1.25 * fitting(spread(wide, deep))
    boxes = sorted(places)
    # No box is upon another, and those of one step stay side by side.
    for (x, y), (other_x, other_y) in itertools.combinations(boxes, 2):
        assert abs(x - other_x) >= UNIT["width"] or abs(y - other_y) >= UNIT["height"]
    for step in range(deep):
        (one, *others) = places[step * wide : (step + 1) * wide]
        assert all(each == (one[0] + 1.25 * 168 * index, one[1]) for index, each in enumerate(others, 1))


@pytest.mark.parametrize(("wide", "deep"), [(1, 1), (5, 4), (40, 10), (1, 6)], ids=str)
def test_what_can_be_seen_is_left_as_it_is(model: Model, wide: int, deep: int) -> None:
    assert model.places(wide, deep) == spread(wide, deep)


@pytest.mark.parametrize(
    "name", ["net", "a b", 'the "first"', "back\\slash", "x=1) OR y", "naïve"], ids=ascii
)
def test_flower_finds_the_tasks_of_a_resource_by_our_link(model: Model, name: str) -> None:
    order = CheckOrder(
        stack_id="s", traversal_id="t", no=0, key=name, phase="converge", stack="web", action="CREATE"
    )
    task = SimpleNamespace(uuid="id", name="resource.check", kwargs=summary((order,)))
    engine = TaskSearchEngine()
    engine.upsert(task)
    link = urlsplit(model.tasks_url("web", name))
    # As Flower's script reads it: what stands in `name` is put behind its word.
    query = f"name:{parse_qs(link.query)['name'][0]}"
    assert link.path == "/tasks"
    assert engine.matching_ids(query) == {"id"}
    assert engine.matching_ids(query.replace("=web", "=other")) == set()


def test_what_is_done_makes_ready_what_waited_for_nothing_else(model: Model) -> None:
    first = model.after(("apply", [event(11, "net", "CREATE_COMPLETE", "n")]))
    assert (first["changed"], first["states"]["3"]) == ([[0]], "blocked")
    both = [event(11, "net", "CREATE_COMPLETE", "n"), event(12, "disk", "CREATE_COMPLETE", "d")]
    told = model.after(("apply", both))
    assert told["states"] == {"0": "done", "1": "done", "2": "done", "3": "ready", "4": "blocked"}


def test_events_told_twice_change_nothing(model: Model) -> None:
    twice = [
        event(11, "net", "CREATE_IN_PROGRESS", "n", cause="retry"),
        event(12, "net", "CREATE_COMPLETE", "n"),
    ]
    once, again = model.after(("apply", twice)), model.after(("apply", twice), ("apply", twice))
    assert again["changed"] == [[0], []]
    assert again["states"] == once["states"]
    assert again["retries"] == once["retries"] == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("cause", "state"), [("retry", "retrying"), ("lost", "ready"), ("", "running")], ids=str
)
def test_a_cause_says_what_an_attempt_has_come_to(model: Model, cause: str, state: str) -> None:
    told = model.after(("apply", [event(11, "net", "CREATE_IN_PROGRESS", "n", cause=cause)]))
    assert told["states"]["0"] == state


def test_of_one_name_the_incarnation_is_meant_that_the_event_names(model: Model) -> None:
    told = model.after(("apply", [event(11, "server", "DELETE_IN_PROGRESS", "old")]))
    assert (told["states"]["4"], told["states"]["3"]) == ("running", "blocked")
    # One that is not known yet by its id is told by what is done to it.
    told = model.after(("apply", [event(11, "server", "CREATE_IN_PROGRESS", "newer")]))
    assert (told["states"]["4"], told["states"]["3"]) == ("blocked", "running")


def test_other_operations_and_the_stack_itself_change_no_resource(model: Model) -> None:
    others = [event(11, "net", "CREATE_FAILED", "n", traversal_id="u"), event(12, "", "UPDATE_FAILED")]
    assert model.after(("apply", others))["changed"] == [[]]


def test_an_older_answer_does_not_undo_what_an_event_told(model: Model) -> None:
    done = event(15, "net", "CREATE_COMPLETE", "n")
    old = answer([{"no": no, "state": "running"} for no in range(5)], cursor=14)
    told = model.after(("apply", [done]), ("merge", old))
    assert (told["changed"][1], told["states"]["0"], told["states"]["1"]) == (True, "done", "running")
    new = {**old, "cursor": 15}
    told = model.after(("apply", [done]), ("merge", new))
    assert (told["changed"][1], told["states"]["0"]) == (False, "running")
