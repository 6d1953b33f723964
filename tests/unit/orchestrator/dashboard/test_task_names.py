"""Flower's pages show names of the dashboard's project alone."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.task_names import DiscreetInspector, TaskNames
from orchestrator.errors import Unavailable
from orchestrator.model.check_batch import summary
from orchestrator.model.messages import CheckOrder
from orchestrator.store import tables
from orchestrator.store.store import Store
from tests.migrated import migrate
from tests.unit.orchestrator.dashboard.serving import served
from tests.waiting import until


class Stacks:
    """The projects of stacks, by name, and how often they were looked up."""

    def __init__(self) -> None:
        self.projects: dict[str, set[str]] = {"web": {"ours"}, "bank": {"theirs"}, "db": {"ours", "theirs"}}
        self.looks = 0
        self.away = False

    def projects_of(self, name: str) -> Collection[str]:
        self.looks += 1
        if self.away:
            raise Unavailable("the database does not answer")
        return self.projects.get(name, set())


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stacks() -> Stacks:
    return Stacks()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def names(stacks: Stacks, clock: Clock) -> TaskNames:
    return TaskNames(stacks.projects_of, "ours", clock=clock)


def received(stack: str, task_id: str = "1") -> dict[str, Any]:
    order = CheckOrder(stack_id="s", traversal_id="t", no=1, key="secret-resource", stack=stack)
    return {"type": "task-received", "uuid": task_id, "args": "()", "kwargs": summary((order,))}


def ended(task_id: str = "1") -> dict[str, Any]:
    return {
        "type": "task-failed",
        "uuid": task_id,
        "exception": "Conflict('stack bank')",
        "traceback": "... stack bank",
    }


def test_task_of_the_project_is_shown_as_it_is(names: TaskNames) -> None:
    assert names.shown(received("web")) == received("web")
    assert names.shown(ended()) == ended()


@pytest.mark.parametrize("stack", ["bank", "db", "unknown"])
def test_task_of_another_project_is_shown_without_names(names: TaskNames, stack: str) -> None:
    shown = names.shown(received(stack))
    assert (shown["uuid"], shown["args"], shown["kwargs"]) == ("1", "()", "{}")
    assert names.shown(ended()) == {**ended(), "exception": "Conflict", "traceback": ""}


def test_end_of_a_task_that_was_not_seen_before_is_shown_without_names(names: TaskNames) -> None:
    assert names.shown({"type": "task-succeeded", "uuid": "2", "result": "bank"})["result"] == ""


@pytest.mark.parametrize("kwargs", ["{}", "{'node': 'n1', 'rpc': 'instance_start'}"])
def test_task_about_no_stack_keeps_its_arguments(names: TaskNames, kwargs: str) -> None:
    event = {"type": "task-received", "uuid": "1", "args": "()", "kwargs": kwargs}
    assert names.shown(event) == event


@pytest.mark.parametrize("kwargs", ["{'stack': ", "['bank']", "{'resource': 'bank'}", "bank"])
def test_arguments_that_cannot_be_read_are_not_shown(names: TaskNames, kwargs: str) -> None:
    event = {"type": "task-sent", "uuid": "1", "args": "()", "kwargs": kwargs}
    assert names.shown(event)["kwargs"] == "{}"


def test_event_of_a_worker_is_shown_as_it_is(names: TaskNames, stacks: Stacks) -> None:
    event: Mapping[str, Any] = {"type": "worker-heartbeat", "hostname": "worker@h", "active": 1}
    assert names.shown(event) is event
    assert stacks.looks == 0


def test_projects_are_looked_up_once_in_a_while(names: TaskNames, stacks: Stacks, clock: Clock) -> None:
    for _ in range(100):
        names.shown(received("web"))
    assert stacks.looks == 1
    stacks.projects["web"].add("theirs")
    clock.now += 10
    assert names.shown(received("web", "2"))["kwargs"] == "{}"
    assert stacks.looks == 2


def test_checks_of_a_stack_that_has_just_been_created_are_shown(names: TaskNames, stacks: Stacks) -> None:
    event = {"type": "task-received", "uuid": "1", "kwargs": "{'stack': 'new', 'resource': 'a'}"}
    assert names.shown(event) != event
    stacks.projects["new"] = {"ours"}
    assert names.shown(event) == event


def test_without_the_database_no_name_is_shown(names: TaskNames, stacks: Stacks) -> None:
    stacks.away = True
    assert names.shown(received("web"))["kwargs"] == "{}"
    stacks.away = False
    assert names.shown(received("web")) == received("web")


@pytest.mark.parametrize("method", ["active", "reserved"])
def test_report_of_a_worker_has_no_arguments(method: str) -> None:
    inspector = DiscreetInspector(None, None, 1.0)
    task = {"id": "1", "name": "stack.create", "args": [], "kwargs": {"job": {"template": "secret"}}}
    inspector._on_update("worker@h", method, [task])
    assert inspector.workers["worker@h"][method] == [{**task, "args": "()", "kwargs": "{}"}]


def test_scheduled_task_of_a_worker_has_no_arguments() -> None:
    inspector = DiscreetInspector(None, None, 1.0)
    request = {"id": "1", "args": [], "kwargs": {"job": {"template": "secret"}}}
    inspector._on_update("worker@h", "scheduled", [{"eta": 1, "request": request}])
    assert "secret" not in repr(inspector.workers["worker@h"])


def test_other_reports_of_a_worker_stay_as_they_are() -> None:
    inspector = DiscreetInspector(None, None, 1.0)
    inspector._on_update("worker@h", "registered", ["stack.create"])
    assert inspector.workers["worker@h"]["registered"] == ["stack.create"]


def test_dashboard_gives_flower_what_may_be_shown(tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path, project="ours")
    migrate(settings.effective_database_url)
    store = Store.of(settings)
    for name, project in (("web", "ours"), ("bank", "theirs")):
        known = {"template_id": "t", "action": "CREATE", "status": "COMPLETE", "traversal_id": "t"}
        times = {"created_at": 1.0, "updated_at": 1.0, "timeout_minutes": 1.0}
        stack = {"id": f"{name}-id", "name": name, "project": project}
        with store.database.write() as connection:
            connection.execute(tables.stack.insert().values({**stack, **known, **times}))
    with served(settings, store) as dashboard:
        state = dashboard.events.state
        given: list[Mapping[str, Any]] = []
        state.event = given.append
        for stack_name in ("web", "bank"):
            dashboard.events.on_event({**received(stack_name), "hostname": "worker@h"})
        until(lambda: len(given) == 2)
        assert isinstance(dashboard.inspector, DiscreetInspector)
    assert [event["kwargs"] for event in given] == [received("web")["kwargs"], "{}"]
