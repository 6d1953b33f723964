"""The page of what needs a person: whose findings it shows, to whom, and what it shows while the database is away."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.attention import Attention
from orchestrator.errors import Unavailable
from orchestrator.model.messages import StackJob
from orchestrator.queries.attention import of_project
from orchestrator.queries.findings import broker_finding, grouped
from orchestrator.service import Service
from orchestrator.store.store import Store
from orchestrator.views.attention import AttentionView, Finding
from orchestrator.views.caches import CacheView
from orchestrator.views.nodes import NodeView
from tests.migrated import migrate
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.waiting import PATIENCE_SECONDS

FAILING = """
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Heat::TestResource, properties: {fail: true}}
"""
OPERATOR = {"basic_auth": ["ann:secret", "bob:secret"], "stack_actions": True, "stack_operators": ["ann"]}


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of an installation in which a stack failed in each of two projects."""
    directory: Path = tmp_path_factory.mktemp("attention")
    settings = Settings(state_directory=directory)
    for project in ("default", "other"):
        with Service.open(settings.with_values(project=project)) as service:
            made = service.create(StackJob(name=f"web-{project}", template=FAILING, project=project))
            assert list(service.watch(made.id))[-1].stack.status == "FAILED"
    url = settings.effective_database_url
    return settings.with_values(broker_url="memory://", database_url=url)


@pytest.fixture(scope="module")
def clients(failed: Settings) -> Iterator[Callable[[str], httpx.Client]]:
    with (
        served(failed, Store.of(failed), **OPERATOR) as dashboard,
        client(dashboard, auth=("ann", "secret")) as ann,
        client(dashboard, auth=("bob", "secret")) as bob,
    ):
        yield {"ann": ann, "bob": bob}.__getitem__


def test_the_findings_of_the_project_are_shown_with_what_the_visitor_may_do(
    clients: Callable[[str], httpx.Client],
) -> None:
    told = clients("ann").get("/stacks/attention/data").json()
    assert [group["kind"] for group in told["groups"]] == ["process", "failed"]
    (finding,) = told["groups"][1]["findings"]
    assert (finding["subject"], finding["action"]) == ("web-default", "retry")
    assert finding["what"].startswith("CREATE_FAILED: ")
    assert (told["total"], told["trouble"]) == (2, "")
    assert "retry" in told["may"]
    assert "web-other" not in str(told)
    assert clients("bob").get("/stacks/attention/data").json()["may"] == []


def test_other_pages_show_the_number_that_was_found(clients: Callable[[str], httpx.Client]) -> None:
    assert clients("ann").get("/stacks/attention/data").json()["total"] == 2
    page = clients("ann").get("/stacks").text
    assert '<span class="section-number" >2</span>' in page
    assert (
        "section-number"
        not in httpx.get(
            str(clients("ann").base_url) + "/stacks", trust_env=False, timeout=PATIENCE_SECONDS
        ).text
    )


def data(attention: Attention, **more: Any) -> dict[str, Any]:
    asked = {"broker_away_since": None, "sees_fleet": True, **more}
    return asyncio.run(attention.data(**asked))


def shape(told: dict[str, Any]) -> dict[str, list[str]]:
    return {group["kind"]: [each["subject"] for each in group["findings"]] for group in told["groups"]}


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[tuple[Settings, Store]]:
    settings = Settings(state_directory=tmp_path)
    migrate(settings.effective_database_url)
    with closing(Store.of(settings)) as store:
        yield settings.with_values(broker_url="memory://"), store


def service(nodes: Callable[[], list[NodeView]] = list, caches: tuple[CacheView, ...] = ()) -> Any:
    return SimpleNamespace(nodes=SimpleNamespace(all=nodes), cache_faults=lambda: caches)


def test_what_needs_no_database_is_shown_without_it(
    stored: tuple[Settings, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, store = stored
    away = ConnectionError("host db.internal refused user admin")

    def fail() -> Any:
        raise Unavailable(f"the database does not answer: {away}") from away

    monkeypatch.setattr(store.observations, "moment", fail)
    caches = (CacheView(client="nova", state="unreachable"),)
    with closing(Attention(service(caches=caches), store, settings)) as attention:
        told = data(attention, broker_away_since=5.0)
    assert shape(told) == {"database": ["database"], "broker": ["broker"], "cache": ["nova"]}
    assert told["trouble"].startswith("the database does not answer: start it")
    assert told["as_of"] is None
    assert "db.internal" not in str(told)


def test_nodes_that_cannot_be_read_are_a_finding(stored: tuple[Settings, Store]) -> None:
    def fail() -> list[NodeView]:
        raise Unavailable("the machine-state store does not answer")

    settings, store = stored
    with closing(Attention(service(fail), store, settings)) as attention:
        told = data(attention)
    assert shape(told) == {"process": ["workers"], "machine": ["nodes"]}
    assert told["groups"][1]["findings"][0]["what"] == "unknown: the machine-state store does not answer"


def test_lost_nodes_are_shown_only_to_those_who_may_see_nodes(stored: tuple[Settings, Store]) -> None:
    settings, store = stored
    nodes = [NodeView(name="n1", state="unreachable")]
    with closing(Attention(service(lambda: nodes), store, settings)) as attention:
        assert shape(data(attention)) == {"process": ["workers"], "machine": ["n1"]}
        assert attention.total == 2
        assert shape(data(attention, sees_fleet=False)) == {}


def test_sinks_of_the_installation_are_left_out_for_those_who_see_only_the_project() -> None:
    sinks = [
        Finding(kind="sink", subject=name, what="", why="", stack_id=stack)
        for name, stack in (("a", ""), ("b", "i"))
    ]
    away = broker_finding(1.0)
    assert away is not None
    view = of_project(AttentionView(project="p", as_of=1.0, groups=grouped([away, *sinks], {"sink": 7})))
    (group,) = view.groups
    assert ([each.subject for each in group.findings], group.total) == (["b"], 6)
