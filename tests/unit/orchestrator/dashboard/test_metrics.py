"""Numbers for Prometheus: right, of few labels, and never those of a past that nobody has looked after."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from flower.events import get_prometheus_metrics
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from cache.constraints.counters import Counts
from orchestrator.config.settings import Settings
from orchestrator.dashboard import tally as subject
from orchestrator.dashboard.figures import Figures
from orchestrator.dashboard.hub import Hub
from orchestrator.dashboard.metrics import Known, Metrics, known_of, missing_of
from orchestrator.dashboard.sse import event_text
from orchestrator.dashboard.tally import OUTCOMES, RESOURCE_ACTIONS, Tally
from orchestrator.errors import Unavailable
from orchestrator.store.history.census import Count
from orchestrator.store.installation.cache_counters import NodeTotals
from orchestrator.store.store import Store
from orchestrator.store.tables import metadata
from orchestrator.views.nodes import NodeView
from orchestrator.views.operations import ProcessView
from tests.unit.orchestrator.dashboard.listening import Log, happened
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.unit.orchestrator.queries.test_standstill import process
from tests.waiting import PATIENCE_SECONDS

DOCS = Path(__file__).parents[4] / "docs"
DASHBOARD, PAGE = DOCS / "grafana.json", DOCS / "dashboard.md"
#: What Prometheus adds to what it is told.
ADDED = frozenset({"job", "instance"})


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture
def counted(tally: Tally) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(tally)
    return registry


def test_an_action_takes_from_its_first_attempt_to_its_end(tally: Tally, counted: CollectorRegistry) -> None:
    tally.add(
        [
            happened(1, status="IN_PROGRESS", at=100.0),
            happened(2, status="IN_PROGRESS", cause="retry", reason="503", at=101.0),
            happened(3, status="IN_PROGRESS", cause="lost", at=102.0),
            happened(4, status="IN_PROGRESS", at=103.0),
            happened(5, status="COMPLETE", at=107.0),
            # Of a stack itself, and of one that began before the dashboard did.
            happened(6, resource="", resource_id=None, status="COMPLETE"),
            happened(7, resource_id="other", status="FAILED"),
        ]
    )
    labels = {"action": "CREATE", "outcome": "COMPLETE"}
    assert value(counted, "isotherm_action_seconds_sum", **labels) == 7.0
    assert value(counted, "isotherm_action_seconds_count", **labels) == 1.0
    assert value(counted, "isotherm_action_seconds_count", action="CREATE", outcome="FAILED") == 0.0
    assert value(counted, "isotherm_retries_total", action="CREATE") == 1.0
    assert value(counted, "isotherm_leases_lost_total") == 1.0


def test_what_is_replaced_is_deleted_from_when_its_deletion_began(
    tally: Tally, counted: CollectorRegistry
) -> None:
    tally.add(
        [
            happened(1, action="UPDATE", status="IN_PROGRESS", at=100.0),
            happened(2, action="REPLACE", status="IN_PROGRESS", at=101.0),
            happened(3, action="DELETE", status="IN_PROGRESS", at=150.0),
            happened(4, action="DELETE", status="COMPLETE", at=152.0),
        ]
    )
    assert value(counted, "isotherm_action_seconds_sum", action="DELETE", outcome="COMPLETE") == 2.0


def test_hooks_and_signals_are_no_actions_of_workers(tally: Tally, counted: CollectorRegistry) -> None:
    tally.add(
        [
            happened(1, action="HOOK", status="IN_PROGRESS", at=10.0),
            happened(2, action="HOOK", status="COMPLETE", at=100.0),
            happened(3, status="IN_PROGRESS", at=100.0),
            # A resource may wait for signals.
            happened(4, action="SIGNAL", status="COMPLETE", at=101.0),
            happened(5, status="COMPLETE", at=103.0),
        ]
    )
    assert value(counted, "isotherm_action_seconds_sum", action="CREATE", outcome="COMPLETE") == 3.0
    for action in ("HOOK", "SIGNAL"):
        assert value(counted, "isotherm_action_seconds_count", action=action, outcome="COMPLETE") is None


@pytest.mark.parametrize("action", RESOURCE_ACTIONS)
def test_what_will_be_counted_is_told_before_it_happens(action: str, counted: CollectorRegistry) -> None:
    """A counter that begins at 1 has not risen: Prometheus sees no rate in it."""
    assert value(counted, "isotherm_retries_total", action=action) == 0.0
    for outcome in OUTCOMES:
        assert value(counted, "isotherm_action_seconds_count", action=action, outcome=outcome) == 0.0


def test_an_event_is_as_late_as_it_was_read_after_it_was_written(
    tally: Tally, counted: CollectorRegistry
) -> None:
    tally.add([happened(1, at=100.0, read_at=100.5), happened(2, at=100.0, read_at=99.9)])
    assert value(counted, "isotherm_dashboard_event_delay_seconds_sum") == 0.5
    assert value(counted, "isotherm_dashboard_event_delay_seconds_count") == 2.0


def test_actions_that_never_end_are_forgotten(tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_BEGUN", 3)
    tally.add([happened(number, status="IN_PROGRESS", resource_id=str(number)) for number in range(1, 9)])
    assert len(tally._begun) == 3


class Told:
    """Stands in for what is read in the background."""

    def __init__(self, answer: Any, trouble: str = "", *, age_seconds: float = 0.0) -> None:
        self.answer, self.trouble, self.age_seconds = answer, trouble, age_seconds


KNOWN = Known(
    count=Count(
        at=1.0,
        stacks={("CREATE", "COMPLETE"): 2, ("UPDATE", "FAILED"): 1},
        nodes={"running": 3, "blocked": 7},
        queue_age_seconds=4.5,
        overdue=1,
        machines=2,
    ),
    caches={"nova": Counts(hits=9, misses=3, generated=2, refused=1, errors=4, garbage=5, evicted=6)},
    nodes=NodeTotals(amounts={"hits": 8.0, "misses:expired": 1.0, "misses:void": 1.0}),
    processes={("worker", "present"): 2, ("worker", "silent"): 1},
    missing={"worker": 1},
    sinks={("settings", "audit"): 70.0},
    refused={"wrong signature": 3},
)
MACHINES = (NodeView(name="n1", state="up", age_seconds=3.0), NodeView(name="n2", state="unreachable"))


def made(tally: Tally, known: Any, nodes: Any = ()) -> Metrics:
    store = Store("sqlite://")
    metrics = Metrics(Hub(Log()), tally, store, service=None)  # type: ignore[arg-type]
    metrics.stop()
    metrics._known, metrics._nodes = known, nodes
    return metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in metrics.collect()
        for sample in family.samples
    }


def test_what_there_is_is_told_as_it_was_read(tally: Tally) -> None:
    told = samples(made(tally, Told(KNOWN), Told(MACHINES, age_seconds=20.0)))
    assert told["isotherm_stacks", ("CREATE", "COMPLETE")] == 2
    assert told["isotherm_stacks", ("UPDATE", "FAILED")] == 1
    assert told["isotherm_operation_nodes", ("running",)] == 3
    # A state in which there is none is told as well: a line that ends is no line at zero, and alarms nobody.
    assert told["isotherm_operation_nodes", ("failed",)] == 0
    assert told["isotherm_stacks", ("CREATE", "FAILED")] == 0
    assert told["isotherm_processes", ("coordinator", "present")] == 0
    assert told["isotherm_queue_age_seconds", ()] == 4.5
    assert told["isotherm_overdue_checks", ()] == 1
    assert told["isotherm_cache_lookups_total", ("nova", "hit")] == 9
    assert told["isotherm_cache_answers_total", ("nova", "no")] == 1
    assert told["isotherm_cache_faults_total", ("nova", "garbage")] == 5
    assert told["isotherm_cache_evictions_total", ("nova",)] == 6
    assert told["isotherm_node_state_lookups_total", ("miss",)] == 2
    assert told["isotherm_processes", ("worker", "silent")] == 1
    assert told["isotherm_missing_processes", ("worker",)] == 1
    assert told["isotherm_missing_processes", ("coordinator",)] == 0
    assert told["isotherm_event_sink_delay_seconds", ("settings", "audit")] == 70
    assert told["isotherm_refused_messages_total", ("wrong signature",)] == 3
    assert told["isotherm_refused_messages_total", ("too large",)] == 0
    assert told["isotherm_machines", ("up",)] == told["isotherm_machines", ("unreachable",)] == 1
    # They were that old when they were looked at.
    assert told["isotherm_node_state_age_seconds", ("oldest",)] == 23.0
    assert told["isotherm_store_up", ()] == 1


def test_a_cache_is_told_of_before_anything_was_counted_of_it(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'isotherm.db'}")
    with store.database.write() as connection:
        metadata.create_all(connection)
    store.cache_counters.add({"http": Counts(hits=2), "gone": Counts(misses=1)})
    known = known_of(store, ["http", "nova"])
    assert known.caches == {"http": Counts(hits=2), "nova": Counts(), "gone": Counts(misses=1)}


def test_messages_are_counted_by_reason_whatever_refused_them(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'isotherm.db'}")
    with store.database.write() as connection:
        metadata.create_all(connection)
    store.refused_messages.add(
        {("checks", "late"): 2, ("stacks", "late"): 3, ("stacks", "unknown key"): 1}, []
    )
    assert known_of(store).refused == {"late": 5, "unknown key": 1}


def test_a_process_that_fell_silent_is_missing_until_another_of_its_kind_has_started() -> None:
    def seen(kind: str, state: str, *, started: float, seen: float, now: float = 10_000.0) -> ProcessView:
        known = process(kind, state=state)
        return replace(known, started_at=started, seen_at=seen, seen_seconds=now - seen)

    silent = seen("worker", "silent", started=1000, seen=9000)
    other = seen("worker", "silent", started=1000, seen=9100)
    # One that ran already does not replace it, nor does one of another kind.
    present = [
        seen("worker", "present", started=2000, seen=9999),
        seen("coordinator", "present", started=9200, seen=9999),
    ]
    later = seen("worker", "present", started=9200, seen=9999)
    assert missing_of([silent, *present]) == {"worker": 1}
    assert missing_of([silent, *present, later]) == {}
    # Each replaces one.
    assert missing_of([silent, other, *present, later]) == {"worker": 1}
    between = seen("worker", "present", started=9050, seen=9999)
    assert missing_of([silent, other, later, between]) == {}
    # After an hour it is forgotten; one that ended in good order was never missing.
    assert missing_of([seen("worker", "silent", started=1000, seen=6399)]) == {}
    assert missing_of([seen("worker", "stopped", started=1000, seen=9000)]) == {}


def test_while_the_database_is_away_only_that_is_told_and_no_number_of_the_past(tally: Tally) -> None:
    told = samples(made(tally, Told(None, "away"), Told(None)))
    assert told["isotherm_store_up", ()] == 0
    assert not [name for name, _ in told if name.startswith(("isotherm_stacks", "isotherm_queue"))]


def test_figures_are_asked_again_after_a_failure_and_told_only_while_they_are_young() -> None:
    answers: Iterator[Any] = iter([1, Unavailable("away"), RuntimeError("a mistake"), 2, 3, 4, 5, 6])

    def ask() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    async def story() -> None:
        figures = Figures("figures", ask, every=0.01)
        seen = {(figures.answer, "")}
        figures.start()
        while (told := figures.answer) != 2:
            seen.add((told, figures.trouble))
            await asyncio.sleep(0.0005)
        figures.stop()
        assert {(None, ""), (None, "away")} <= seen
        assert (None, "see the dashboard's log") in seen
        figures._answered_at -= 1
        assert figures.answer is None

    asyncio.run(asyncio.wait_for(story(), PATIENCE_SECONDS))


def test_flower_tells_them_with_its_own(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'isotherm.db'}")
    with store.database.write() as connection:
        metadata.create_all(connection)
    with served(Settings(state_directory=tmp_path), store) as dashboard, client(dashboard) as http:
        text = http.get("/metrics").text
    told = {family.name for family in text_string_to_metric_families(text)}
    assert {"isotherm_store_up", "isotherm_dashboard_streams", "flower_events"} <= told
    # Whoever asks after it has ended is told no more of it.
    assert value(REGISTRY, "isotherm_store_up") is None


# -- docs/grafana.json -------------------------------------------------------------------------------------------------


def known_samples() -> dict[str, set[str]]:
    """Return the labels of every sample that the dashboard tells of, by name."""
    tally = Tally()
    under_way = {"status": "IN_PROGRESS"}
    tally.add([happened(1, **under_way), happened(2), happened(3, **under_way, cause="retry")])
    labels: dict[str, set[str]] = {}
    for family in made(tally, Told(KNOWN), Told(MACHINES)).collect():
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    for each in vars(get_prometheus_metrics()).values():
        for described in each.describe():
            suffix = "_total" if described.type == "counter" else ""
            labels[described.name + suffix] = set(each._labelnames)
    return labels


def panels() -> Iterator[Mapping[str, Any]]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        yield from panel.get("panels", [])
        if panel["type"] != "row":
            yield panel


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def selectors(expression: str) -> list[tuple[str, set[str]]]:
    """Return every metric that an expression names, with the labels that it is chosen by."""
    parsed = promql_parser.parse(expression.replace("$__rate_interval", "5m"))
    found: list[tuple[str, set[str]]] = []

    def note(node: promql_parser.Expr) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            found.append((str(node.name), {matcher.name for matcher in node.matchers.matchers}))
        return True

    promql_parser.walk(parsed, note)
    return found


@pytest.mark.parametrize("expression", expressions())
def test_every_expression_of_the_grafana_dashboard_names_what_there_is(expression: str) -> None:
    known = known_samples()
    chosen = selectors(expression)
    assert chosen
    for name, labels in chosen:
        assert name in known, f"{name} is told by nobody"
        assert labels - ADDED <= known[name], f"{name} has no label {labels - ADDED - known[name]}"
    grouped = {
        label.strip()
        for labels in re.findall(r"\bby\s*\(([^)]*)\)", expression)
        for label in labels.split(",")
    }
    everywhere = set.intersection(*(known[name] for name, _ in chosen))
    assert grouped - ADDED <= everywhere, f"{expression} groups by {grouped - ADDED - everywhere}"


@pytest.mark.parametrize("expression", expressions())
def test_what_several_dashboards_tell_of_one_installation_is_shown_once(expression: str) -> None:
    assert all("job" in labels for _, labels in selectors(expression))
    assert re.match(r"(60 \* )?(min|max|histogram_quantile)\b", expression) or is_their_own(expression)


def is_their_own(expression: str) -> bool:
    """Whether an expression sums what each dashboard has of its own, or shows a part of what they all tell."""
    own = {"isotherm_dashboard_streams", "isotherm_dashboard_resyncs_total"}
    return {name for name, _ in selectors(expression)} <= own or " / " in expression


def by_metric() -> dict[str, set[str]]:
    """Return the labels of every metric of ours, by its name."""
    labels: dict[str, set[str]] = {}
    for name, found in known_samples().items():
        if name.startswith("isotherm_") and not name.endswith("_created"):
            labels.setdefault(metric_of(name), set()).update(found - {"le"})
    return labels


def metric_of(sample: str) -> str:
    return re.sub(r"_(bucket|count|sum)$", "", sample)


def test_the_grafana_dashboard_shows_every_metric_of_ours() -> None:
    shown = {metric_of(name) for expression in expressions() for name, _ in selectors(expression)}
    assert set(by_metric()) <= shown


def test_the_page_about_the_dashboard_names_every_metric_and_its_labels() -> None:
    told = re.findall(r"^\| `(isotherm_\w+)` \| \w+ \| (.*?) ?\|", PAGE.read_text(), re.MULTILINE)
    assert {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in told} == by_metric()


def test_the_page_about_the_dashboard_names_what_streams_tell() -> None:
    (told,) = re.findall(r"^\| `events` \| a list of `\{(.*?)\}`", PAGE.read_text(), re.MULTILINE)
    assert told.split(", ") == list(json.loads(event_text(happened(1))))


def test_the_grafana_dashboard_can_be_imported_as_it_is() -> None:
    board = json.loads(DASHBOARD.read_text())
    assert board["uid"] == "isotherm"
    assert [(each["name"], each["type"]) for each in board["templating"]["list"]] == [
        ("datasource", "datasource"),
        ("job", "query"),
    ]
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids))
    for panel in panels():
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_no_label_is_of_a_stack_or_a_resource() -> None:
    told = [
        sample for family in made(Tally(), Told(KNOWN), Told(MACHINES)).collect() for sample in family.samples
    ]
    assert {label for sample in told for label in labels_of(sample)} <= {
        *("action", "outcome", "status", "state", "client", "result", "answer", "kind", "which", "le"),
        *("named_by", "sink", "reason", "standing"),
    }


def labels_of(sample: Sample) -> set[str]:
    return set(sample.labels)
