"""What the graph's page works out by itself: states from events, what a layout comes to, and where its links lead."""

from collections.abc import Iterator
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

#: Two resources that a third requires, which is replaced; and one that is deleted when it is.
VERTICES = (
    {"no": 0, "name": "net", "resource_id": "n", "state": "running"},
    {"no": 1, "name": "disk", "resource_id": "d", "state": "ready"},
    {"no": 3, "name": "server", "resource_id": "new", "action": "CREATE", "state": "blocked"},
    {
        "no": 4,
        "name": "server",
        "resource_id": "old",
        "action": "DELETE",
        "phase": "cleanup",
        "replaced_by": 3,
        "state": "blocked",
    },
    {
        "no": 5,
        "name": "spare",
        "resource_id": "s",
        "action": "DELETE",
        "phase": "cleanup",
        "state": "blocked",
    },
)
EDGES = ((3, 0), (3, 1), (5, 3))

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
#: What becomes of a layout: of one that is asked for, or of two at once; `program` is what the worker runs.
LAYOUT = """async ({ program, longest, times }) => {
  const { Layouts } = await import("/stacks/static/js/graph_layout.js");
  const url = program ? `/stacks/static/${program}` : undefined;
  const layouts = new Layouts({ url, longest });
  const boxes = ["a", "b", "c"].map((id) => ({ id, width: 100, height: 40 }));
  const pairs = [["a", "b"], ["b", "c"], ["a", "c"]];
  const arrows = pairs.map(([source, target]) => ({ id: source + target, source, target }));
  const answers = await Promise.allSettled(Array.from({ length: times }, () => layouts.of(boxes, arrows, 1.6)));
  layouts.end();
  const told = ({ value, reason }) => value ? [...value.courses.keys()].sort() : `${reason.name}: ${reason.message}`;
  return answers.map(told);
}"""
#: The text of a tooltip of something without a reason, and of something that is replaced.
TIPS = """async (answer) => {
  const [{ Drawing }, { Picture }] = await Promise.all(
    ["graph_drawing", "graph_model"].map((name) => import(`/stacks/static/js/${name}.js`)));
  const frame = document.createElement("div");
  frame.style = "position: absolute; width: 800px; height: 600px";
  document.getElementById("stacks-page").append(frame);
  const drawing = new Drawing(frame, { chosen() {}, focus() {} });
  await drawing.show(new Picture(answer));
  const told = drawing.cy.nodes().map((node) => {
    drawing.showTip(node);
    return [...drawing.tip.childNodes].map((each) => each.textContent).join("\\n");
  });
  const labels = drawing.cy.nodes().map((node) => node.data("label").split("\\n").at(-1));
  drawing.layouts.end();
  frame.remove();
  return { told, labels };
}"""


def answer(vertices: Any = VERTICES, **fields: Any) -> dict[str, Any]:
    common = {
        "type": "Cloud::Thing",
        "phase": "converge",
        "replaced_by": None,
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
        "total": 5,
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


class Model:
    def __init__(self, page: Page) -> None:
        self._page = page

    def after(self, *steps: tuple[str, Any]) -> Any:
        return self._page.evaluate(MODEL, {"answer": answer(), "steps": steps})

    def tasks_url(self, stack: str, name: str) -> str:
        url: str = self._page.evaluate(TASKS, {"stack": stack, "name": name})
        return url

    def layouts(self, program: str | None = None, *, longest: int = 300_000, times: int = 1) -> Any:
        return self._page.evaluate(LAYOUT, {"program": program, "longest": longest, "times": times})

    def tips(self) -> Any:
        return self._page.evaluate(TIPS, answer())


@pytest.fixture(scope="module")
def model(browser: Browser, site: Site) -> Iterator[Model]:
    with visiting(browser, site) as seen:
        seen.open("/stacks")
        yield Model(seen.page)


def test_a_layout_has_a_course_for_each_arrow_and_gives_way_to_a_later_one(model: Model) -> None:
    arrows = ["ab", "ac", "bc"]
    assert model.layouts() == [arrows]
    assert model.layouts(times=2) == ["AbortError: another picture is laid out", arrows]


def test_a_layout_that_takes_too_long_or_cannot_be_loaded_is_given_up(model: Model) -> None:
    # This runs in a worker, too, and never answers.
    assert model.layouts("js/times.js", longest=5) == ["Error: it took longer than 0.005 seconds"]
    (told,) = model.layouts("js/no-such.js")
    assert told.startswith("Error: ")


def test_a_tooltip_says_what_there_is_and_nothing_else(model: Model) -> None:
    seen = model.tips()
    assert seen["told"][0] == "net\nCloud::Thing · running"
    assert "Replaced: a new one is made" in seen["told"][2]
    assert not [told for told in seen["told"] if "null" in told or "false" in told or "undefined" in told]
    assert seen["labels"] == ["create · Thing", "create · Thing", "old one: deleted last", "delete · Thing"]


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
    assert told["states"] == {"0": "done", "1": "done", "3": "ready", "4": "blocked", "5": "blocked"}


def test_what_is_deleted_waits_for_the_deletion_of_what_is_replaced(model: Model) -> None:
    made = event(13, "server", "CREATE_COMPLETE", "new")
    assert model.after(("apply", [made]))["states"]["5"] == "blocked"
    deleted = event(14, "server", "DELETE_COMPLETE", "old")
    assert model.after(("apply", [made, deleted]))["states"]["5"] == "ready"


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
    old = answer([{"no": vertex["no"], "state": "running"} for vertex in VERTICES], cursor=14)
    told = model.after(("apply", [done]), ("merge", old))
    assert (told["changed"][1], told["states"]["0"], told["states"]["1"]) == (True, "done", "running")
    new = {**old, "cursor": 15}
    told = model.after(("apply", [done]), ("merge", new))
    assert (told["changed"][1], told["states"]["0"]) == (False, "running")
