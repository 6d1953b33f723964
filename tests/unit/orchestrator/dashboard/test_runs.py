"""The data of the page Runs, which shows a stack's operations side by side."""

from collections.abc import Iterator

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  kept: {type: OS::Heat::TestResource}
  server: {type: OS::Heat::TestResource, properties: {value: %s, update_replace: true}}
  volume: {type: OS::Heat::TestResource, properties: {value: %s, fail: %s}}
"""
RUNS = (("create", "a", "a", "false"), ("update", "b", "b", "false"), ("update", "b", "c", "true"))


@pytest.fixture(scope="module")
def asked(settings: Settings, service: Service) -> Iterator[httpx.Client]:
    """A client of a dashboard; ``ran`` was made, had a resource replaced and one changed, and failed."""
    for how, *values in RUNS:
        made = getattr(service, how)(StackJob(name="ran", template=TEMPLATE % tuple(values)))
        ended = list(service.watch(made.id))[-1].stack
    assert ended.status == "FAILED"
    with served(settings, Store.of(settings)) as dashboard, client(dashboard) as made:
        yield made


def test_each_resource_has_a_cell_for_each_operation_newest_first(asked: httpx.Client) -> None:
    answer = asked.get("/stack/ran/runs.json").json()
    assert [each["state"] for each in answer["operations"]] == [
        "UPDATE_FAILED",
        "UPDATE_COMPLETE",
        "CREATE_COMPLETE",
    ]
    cells = {name: letters for name, _, _, letters, _, _ in answer["rows"]}
    # What an update leaves alone has no step in it.
    assert cells == {"kept": "--m", "server": "-rm", "volume": "fcm"}
    (volume,) = (row for row in answer["rows"] if row[0] == "volume")
    assert volume[1] == "OS::Heat::TestResource"
    assert set(volume[4]) == {"0", "1", "2"}
    assert volume[5] == {"0": "update failed, as the property 'fail' asks"}
    assert (answer["more"], answer["trimmed"]) == (False, [])
    assert "cursor" in answer
    assert "value" not in str(answer["rows"])


def test_older_operations_come_on_demand(asked: httpx.Client) -> None:
    newest = asked.get("/stack/ran/runs.json", params={"limit": 1}).json()
    assert (len(newest["operations"]), newest["more"]) == (1, True)
    older = asked.get("/stack/ran/runs.json", params={"after": newest["operations"][0]["id"]}).json()
    assert ([each["action"] for each in older["operations"]], older["more"]) == (["UPDATE", "CREATE"], False)
    assert asked.get("/stack/ran/runs.json", params={"limit": 51}).status_code == 400
    assert asked.get("/stack/ran/runs.json", params={"after": "no-such"}).status_code == 404


def test_two_operations_are_compared_with_what_changed_between_them(asked: httpx.Client) -> None:
    newest, middle, first = (each["id"] for each in asked.get("/stack/ran/history.json").json()["operations"])
    answer = asked.get("/stack/ran/compare.json", params={"a": first, "b": newest}).json()
    assert (answer["a"]["action"], answer["b"]["status"]) == ("CREATE", "FAILED")
    assert {row["name"] for row in answer["rows"]} == {"kept", "server", "volume"}
    assert answer["changes"]["changed"] == ["server", "volume"]
    assert len(answer["seconds"]) == 2
    # By default the last one, and the one before that.
    usual = asked.get("/stack/ran/compare.json").json()
    assert (usual["a"]["traversal_id"], usual["b"]["traversal_id"]) == (middle, newest)
    assert usual["changes"]["before_id"] == middle
    for wrong in ({"b": first}, {"a": "no-such"}, {"b": "no-such"}):
        refused = asked.get("/stack/ran/compare.json", params=wrong)
        assert (refused.status_code, bool(refused.json()["error"])) == (404, True)
    page = asked.get("/stack/ran/compare", params={"a": first, "b": newest})
    assert page.status_code == 200
    assert 'aria-current="page">Runs</a>' in page.text
