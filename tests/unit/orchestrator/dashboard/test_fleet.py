"""The pages about nodes, caches and workers tell what there is, from where, and how old it is."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.fleet import Fleet, heartbeats_of, workers_data
from orchestrator.nodes.admin import NodeAdmin
from orchestrator.nodes.inquiry import NodeInquiry
from orchestrator.nodes.statistics import NodeStatistics
from orchestrator.queries.observer import Observer
from orchestrator.store import tables
from orchestrator.store.store import Store
from orchestrator.views.operations import ProcessView
from tests.migrated import migrate
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.unit.orchestrator.fake_nodes import FakeNodes, instance

WORKS = (("web", "s1", "port", "CREATE", 990.0, 1050.0),)


def process(pid: int, celery: str = "worker@h", **more: Any) -> ProcessView:
    told: dict[str, Any] = {
        "name": f"worker@h:{pid}:1.00",
        "kind": "worker",
        "host": "h",
        "version": "0.1.0",
        "queues": ("checks",),
        "started_at": 900.0,
        "seen_at": 995.0,
        "seen_seconds": 5.0,
        "state": "present",
    }
    return ProcessView(pid=pid, celery_name=celery, **{**told, **more})


def beat(seen_seconds: float | None = 1.0, *, alive: bool = True) -> dict[str, Any]:
    return {"seen_seconds": seen_seconds, "alive": alive, "active": 2, "processed": 40}


def shape(told: Sequence[Any]) -> list[tuple[str, bool, list[int]]]:
    return [
        (each["name"], bool(each["heartbeat"]), [one["pid"] for one in each["processes"]]) for each in told
    ]


def test_processes_stand_with_the_worker_that_they_belong_to() -> None:
    processes = [process(3), process(1), process(2, "coordinator@h", kind="coordinator")]
    told = workers_data(processes, {"worker@h": beat(), "coordinator@h": beat()})
    assert shape(told) == [("coordinator@h", True, [2]), ("worker@h", True, [1, 3])]


def test_what_only_one_of_the_two_knows_is_told_all_the_same() -> None:
    told = workers_data([process(1), process(2, "", kind="embedded")], {"stranger@h": beat()})
    assert shape(told) == [("stranger@h", True, []), ("worker@h", False, [1]), ("", False, [2])]


def test_an_agent_is_known_by_its_name_and_leads_to_its_node() -> None:
    told = workers_data([process(1, "agent-odd@h")], {"agent-host1@h": beat(), "agent-@h": beat()})
    assert {each["name"]: each["node"] for each in told} == {
        "agent-host1@h": "host1",
        "agent-@h": "",
        "agent-odd@h": "",
    }


def test_those_who_are_there_come_first_and_those_who_said_good_bye_last() -> None:
    processes = [process(1, state="stopped"), process(2, state="silent"), process(3)]
    [told] = workers_data(processes, {})
    assert [each["state"] for each in told["processes"]] == ["present", "silent", "stopped"]


def test_of_those_that_have_stopped_the_latest_are_told_and_the_others_counted() -> None:
    gone = [process(pid, "", kind="embedded", state="stopped", seen_at=float(pid)) for pid in range(40)]
    [told] = workers_data([*gone, process(99, "", kind="embedded")], {})
    assert [each["pid"] for each in told["processes"]] == [99, 39, 38, 37, 36, 35]
    assert told["not_shown"] == 35


def test_what_a_process_works_on_is_told_with_the_end_of_its_lease() -> None:
    [told] = workers_data([process(1, works_on=WORKS)], {})
    assert told["processes"][0]["works_on"] == [
        {
            "stack": "web",
            "stack_id": "s1",
            "resource": "port",
            "action": "CREATE",
            "since": "1970-01-01T00:16:30.000000Z",
            "lease_until": "1970-01-01T00:17:30.000000Z",
        }
    ]


def test_a_heartbeat_tells_how_long_ago_it_was_and_nothing_once_the_worker_has_left() -> None:
    here = SimpleNamespace(heartbeats=[80.0, 97.5], alive=True, active=1, processed=9)
    left = SimpleNamespace(heartbeats=[], alive=False, active=None, processed=None)
    assert heartbeats_of({"here@h": here, "left@h": left}, now=100.0) == {
        "here@h": {"seen_seconds": 2.5, "alive": True, "active": 1, "processed": 9},
        "left@h": {"seen_seconds": None, "alive": False, "active": None, "processed": None},
    }


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    directory: Path = tmp_path_factory.mktemp("fleet")
    settings = Settings(state_directory=directory)
    migrate(settings.effective_database_url)
    with served(settings, Store.of(settings)) as made:
        yield made


@pytest.fixture
def browser(dashboard: Dashboard) -> Iterator[httpx.Client]:
    with client(dashboard) as made:
        yield made


@pytest.mark.parametrize("page", ["nodes", "nodes/local", "nodes/%64ata", "cache", "workers"])
def test_a_page_says_of_what_it_is_and_runs_no_script_of_its_own(browser: httpx.Client, page: str) -> None:
    answer = browser.get(f"/stacks/{page}")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert 'id="as-of"' in answer.text
    # It may be loaded for what other scripts use of it; none of the page opens a stream by itself.
    assert 'src="/stacks/static/js/stream.js"' not in answer.text
    assert "onclick" not in answer.text


def test_the_nodes_are_those_of_the_command_with_the_age_of_what_they_said(browser: httpx.Client) -> None:
    told = browser.get("/stacks/nodes/data").json()
    assert [(node["name"], node["states"]) for node in told["nodes"]] == [("local", "up")]
    assert told["counts"] == {"up": 1}
    assert told["trouble"] == ""
    assert told["now"] >= told["as_of"]
    assert told["nodes"][0]["memory_mib"] > 0


def test_that_nodes_are_asked_to_be_shown_is_not_counted(browser: httpx.Client) -> None:
    assert browser.get("/stacks/nodes/data").json()["nodes"]
    told = browser.get("/stacks/cache/data").json()["node_states"]
    assert (told["hits"], told["misses"], told["asked"]) == (0, {}, 0)


def test_a_node_tells_all_that_is_on_it(browser: httpx.Client) -> None:
    told = browser.get("/stacks/nodes/local/data").json()
    assert told["node"]["is_up"]
    assert {section["kind"] for section in told["sections"]} == {"hypervisor", "storage"}
    assert told["instances"]["instances"] == []
    assert told["residents"] == []


@pytest.mark.parametrize("project", ["ours", "theirs"])
def test_node_shows_what_is_of_the_project_and_amounts_of_others(tmp_path: Path, project: str) -> None:
    settings = Settings(state_directory=tmp_path, project=project)
    migrate(settings.effective_database_url)
    with closing(Store.of(settings)) as store:
        for each in ("ours", "theirs"):
            put_server_on(store, "n1", each)
        nodes = FakeNodes()
        # One of each project, and one that belongs to no stack: whose it was is not known.
        nodes.add("n1", {name: instance() for name in ("ours-server", "theirs-server", "stray-server")})
        admin = NodeAdmin(
            NodeInquiry(nodes, timeout_seconds=10),
            store.machines,
            lambda _: {("n1", "vcpus"): 4},
            NodeStatistics(lambda: nodes.cache, store.node_counters),
        )
        service: Any = SimpleNamespace(nodes=admin, settings=settings)
        fleet = Fleet(service, Observer(settings, store), store.observations.moment)
        with closing(fleet):
            told = fleet._one_node("n1")
    assert [each["stack"] for each in told["residents"]] == [f"{project}-stack"]
    instances = told["instances"]["instances"]
    assert [(each["name"], each["resource"]) for each in instances] == [(f"{project}-server", "server")]
    assert (told["node"]["instances"], told["node"]["promised"]) == (3, {"vcpus": 4})
    other = "theirs" if project == "ours" else "ours"
    assert other not in json.dumps(told)
    assert "stray" not in json.dumps(told)


def put_server_on(store: Store, node: str, project: str) -> None:
    """A stack of a project, whose server is on the node."""
    known = {"template_id": "t", "action": "CREATE", "created_at": 1.0, "updated_at": 1.0}
    stack_id = f"{project}-id"
    stack = {"id": stack_id, "name": f"{project}-stack", "project": project, "root_id": stack_id}
    more = {"status": "COMPLETE", "traversal_id": f"{project}-t1", "timeout_minutes": 1.0}
    row = {"id": f"{project}-server", "stack_id": stack_id, "name": "server", "on_node": node}
    kind = {"type": "Isotherm::Node::Instance", "physical_id": f"{node}/{project}-server"}
    with store.database.write() as connection:
        connection.execute(tables.stack.insert().values({**stack, **more, **known}))
        connection.execute(tables.resource.insert().values({**row, **kind, **known}))


def test_of_a_node_that_there_is_not_the_nearest_is_named(browser: httpx.Client) -> None:
    answer = browser.get("/stacks/nodes/locla/data")
    assert answer.status_code == 404
    assert answer.json() == {"error": "there is no node 'locla'; did you mean 'local'?"}


def test_every_client_has_its_cache_told_and_nodes_their_states(browser: httpx.Client) -> None:
    told = browser.get("/stacks/cache/data").json()
    assert {"http", "nodes"} <= {cache["client"] for cache in told["caches"]}
    assert all(cache["hit_rate"] is None for cache in told["caches"])
    assert "hits" in told["node_states"]


def test_workers_of_celery_are_told_though_the_database_knows_none(
    dashboard: Dashboard, browser: httpx.Client
) -> None:
    celery = dashboard.events.state.workers
    celery["stranger@h"] = SimpleNamespace(heartbeats=[], alive=False, active=None, processed=None)
    try:
        told = browser.get("/stacks/workers/data").json()
    finally:
        celery.pop("stranger@h")
    assert shape(told["workers"]) == [("stranger@h", True, [])]
    assert told["stuck"] == []
