"""The API as a process over a queue: openstacksdk, callers who want the same at once, and ends."""

import json
import os
import signal
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import pytest
from openstack.connection import Connection
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.store import migrations
from tests.services.api_process import serving
from tests.services.certificates import write_certificate
from tests.services.engine import running
from tests.services.servers import PostgresServer, RedisServer
from tests.unit.docs.pages import Session
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "parameters": {"length": {"type": "number", "default": 8}},
    "resources": {
        "text": {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "length"}}},
        "copy": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["text", "value"]}}},
    },
    "outputs": {"word": {"value": {"get_attr": ["copy", "value"]}}},
}
#: Requests that wait for an answer as long as it takes.
get = partial(httpx.get, trust_env=False, timeout=PATIENCE_SECONDS)
post = partial(httpx.post, trust_env=False, timeout=PATIENCE_SECONDS)
#: How many clients want the same at once.
CLIENTS = 50


@pytest.fixture(scope="module")
def api(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_server: RedisServer
) -> Iterator[str]:
    """The address of the API of an installation with a coordinator and a worker."""
    directory = tmp_path_factory.mktemp("api")
    database = postgres_server.create_database()
    migrations.upgrade(database)
    environment = {"ISOTHERM_BROKER_URL": redis_server.empty_database(), "ISOTHERM_DATABASE_URL": database}
    session = Session(directory)
    session.environment |= environment
    processes = [session.start_quickly("isotherm coordinator"), session.start_quickly("isotherm worker")]
    with (
        running(processes),
        serving(directory, "--auth none --metrics --processes 2 --threads 16", environment=environment) as (
            url,
            _,
        ),
    ):
        yield url


def at_once(ask: Any, count: int = CLIENTS) -> Counter[int]:
    """Return the status codes that so many clients get who all ask the same."""
    barrier, codes = threading.Barrier(count), Counter[int]()
    lock = threading.Lock()

    def one(number: int) -> None:
        with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as client:
            barrier.wait()
            code = ask(client, number).status_code
        with lock:
            codes[code] += 1

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return codes


def rested(url: str) -> dict[str, Any]:
    """Return a stack once nothing is in progress."""

    def look() -> dict[str, Any] | None:
        stack: dict[str, Any] = get(url).json()["stack"]
        return None if stack["stack_status"].endswith("IN_PROGRESS") else stack

    return until(look)


def test_openstacksdk_creates_updates_and_deletes(api: str) -> None:
    cloud = Connection(
        auth_type="none", endpoint=f"{api}/default", orchestration_endpoint_override=f"{api}/default"
    )
    heat = cloud.orchestration
    made = heat.create_stack(name="sdk", template=TEMPLATE, parameters={"length": 6})
    heat.wait_for_status(made, status="CREATE_COMPLETE", failures=["CREATE_FAILED"], interval=1, wait=300)
    found = heat.find_stack("sdk")
    assert found is not None
    assert (found.id, found.status) == (made.id, "CREATE_COMPLETE")
    assert len(heat.get_stack(made.id).outputs[0]["output_value"]) == 6
    assert {each.name for each in heat.resources(found)} == {"text", "copy"}
    assert next(iter(heat.stack_events(found))).resource_name == "sdk"
    heat.update_stack(found, template=TEMPLATE, parameters={"length": 9})
    heat.wait_for_status(found, status="UPDATE_COMPLETE", failures=["UPDATE_FAILED"], interval=1, wait=300)
    assert [each.name for each in heat.stacks()] == ["sdk"]
    heat.delete_stack(found)
    heat.wait_for_delete(found, interval=1, wait=300)
    assert heat.find_stack("sdk") is None


def test_one_of_many_creates_of_one_name_wins(api: str) -> None:
    body = {"stack_name": "wanted", "template": TEMPLATE}
    codes = at_once(lambda client, _: client.post(f"{api}/race/stacks", json=body))
    assert codes == {201: 1, 409: CLIENTS - 1}
    (listed,) = get(f"{api}/race/stacks").json()["stacks"]
    assert rested(listed["links"][0]["href"])["stack_status"] == "CREATE_COMPLETE"


def test_updates_at_once_leave_one_of_them(api: str) -> None:
    made = post(f"{api}/updates/stacks", json={"stack_name": "u", "template": TEMPLATE})
    address = made.headers["location"]
    codes = at_once(lambda client, number: client.patch(address, json={"parameters": {"length": 8 + number}}))
    assert set(codes) <= {202, 409}
    assert codes[202] > 0
    found = rested(address)
    assert found["stack_status"] == "UPDATE_COMPLETE", found["stack_status_reason"]
    assert len(found["outputs"][0]["output_value"]) == int(found["parameters"]["length"])


def test_deletes_during_a_create_leave_nothing(api: str) -> None:
    made = post(f"{api}/deletes/stacks", json={"stack_name": "d", "template": TEMPLATE})
    address = made.headers["location"]
    codes = at_once(lambda client, _: client.delete(address))
    assert set(codes) <= {204, 404}
    assert codes[204] > 0
    assert rested(address)["stack_status"] == "DELETE_COMPLETE"
    assert get(f"{api}/deletes/stacks").json() == {"stacks": []}


def test_metrics_are_those_of_all_processes(api: str) -> None:
    at_once(lambda client, _: client.get(f"{api}/counted/no/such/address"))
    page = get(api.removesuffix("/v1") + "/metrics")
    [count] = [
        sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
        if sample.name == "isotherm_api_requests_total" and sample.labels["route"] == "unknown"
    ]
    assert count == CLIENTS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_end_leaves_a_stack_that_another_process_completes(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path, "--auth none") as (url, process):
        made = post(f"{url}/default/stacks", json={"stack_name": "a", "template": TEMPLATE})
        assert made.status_code == 201
        os.kill(process.pid, number)
        process.wait(PATIENCE_SECONDS)
    with serving(tmp_path, "--auth none") as (url, _):
        (listed,) = get(f"{url}/default/stacks").json()["stacks"]
        assert rested(listed["links"][0]["href"])["stack_status"] == "CREATE_COMPLETE"


def test_other_machines_are_not_let_in_without_authentication(tmp_path: Path) -> None:
    session = Session(tmp_path)
    process = session.start("isotherm api --auth none --address 0.0.0.0 --port 0 --certificate none.pem")
    said, _ = process.communicate()
    assert process.returncode == 2
    assert "whoever reaches 0.0.0.0 could do anything" in said
    assert "none.pem cannot be read" in said
    assert "Traceback" not in said


def test_body_in_chunks_counts_like_any_other(api: str) -> None:
    """Without a length, as programs send what they make on the way."""

    def chunks(text: str) -> Iterator[bytes]:
        for start in range(0, len(text), 1000):
            yield text[start : start + 1000].encode()

    headers = {"Content-Type": "application/json"}
    body = json.dumps({"stack_name": "chunks", "template": TEMPLATE})
    stacks = f"{api}/default/stacks"
    with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS, headers=headers) as client:
        made = client.post(stacks, content=chunks(body))
        assert made.status_code == HTTPStatus.CREATED, made.text
        large = client.post(stacks, content=chunks(" " * 30_000_000))
        assert (large.status_code, large.json()["error"]["type"]) == (400, "RequestLimitExceeded")
        # A connection on which not all of a body was read serves no further request by what is left of it.
        assert client.get(stacks).status_code == HTTPStatus.OK


def test_api_is_served_over_tls(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "api.pem")
    trusted = ssl.create_default_context(cafile=str(certificate))
    with serving(tmp_path, f"--auth none --certificate {certificate}") as (url, _):
        assert url.startswith("https://127.0.0.1:")
        made = post(
            f"{url}/default/stacks",
            json={"stack_name": "t", "template": TEMPLATE},
            verify=trusted,
        )
        assert made.headers["location"].startswith(f"{url}/default/stacks/t/")
        with pytest.raises(httpx.HTTPError):
            get(f"{url.replace('https', 'http')}/default/stacks")


@pytest.mark.parametrize("option", ["", "--behind-proxy"])
def test_headers_of_a_proxy_are_believed_where_there_is_one(tmp_path: Path, option: str) -> None:
    said = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "heat.example.com"}
    with serving(tmp_path, f"--auth none {option}") as (url, _):
        found = get(url, headers=said).json()["versions"][0]["links"][0]["href"]
        assert found == ("https://heat.example.com/v1/" if option else f"{url}/")
        body = {"stack_name": "p", "template": TEMPLATE}
        made = post(f"{url}/default/stacks", json=body, headers=said)
        base = "https://heat.example.com/v1" if option else url
        assert made.headers["location"].startswith(f"{base}/default/stacks/p/")
