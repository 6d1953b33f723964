"""The HTTP API that tests ask counts what it is asked, keeps tenants apart, and fails as it is told."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.services.http_api import Fault, How, HttpApi
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def client(http_api: HttpApi) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=http_api.url, timeout=PATIENCE_SECONDS) as client:
        yield client


def test_objects_are_made_found_changed_and_deleted(http_api: HttpApi, client: httpx.Client) -> None:
    made = client.post("/networks", json={"name": "a"})
    assert (made.status_code, made.headers["location"]) == (201, "/networks/1")
    assert client.get("/networks/1").json() == {"id": "1", "name": "a", "status": "ready"}
    assert client.get("/networks", params={"name": "b"}).json() == {"items": []}
    assert client.patch("/networks/1", json={"name": "b"}).json()["name"] == "b"
    assert [each["id"] for each in client.get("/networks", params={"name": "b"}).json()["items"]] == ["1"]
    assert client.put("/networks/own", json={"name": "c"}).status_code == 201
    assert client.post("/networks/own/ports", json={}).headers["location"] == "/networks/own/ports/2"
    assert [client.delete("/networks/1").status_code for _ in range(2)] == [204, 404]
    assert http_api.objects("/networks") == {"own": {"id": "own", "name": "c"}}
    assert http_api.count("POST") == 2
    assert http_api.counts()["DELETE", "/networks/1"] == 2


def test_a_known_idempotency_key_makes_nothing(http_api: HttpApi, client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    assert [client.post("/disks", json={}, headers=headers).status_code for _ in range(2)] == [201, 200]
    assert http_api.made == 1


def test_building_and_deleting_take_looks(http_api: HttpApi, client: httpx.Client) -> None:
    http_api.polls_to_build, http_api.polls_to_delete, http_api.ends_as = 1, 1, "error"
    assert client.post("/disks", json={}).json()["status"] == "building"
    seen = [client.get("/disks/1").json()["status"] for _ in range(2)]
    assert seen == ["building", "error"]
    assert client.delete("/disks/1").status_code == 202
    assert client.get("/disks/1").json()["status"] == "deleting"
    assert client.get("/disks/1").status_code == 404


@pytest.mark.parametrize(
    "credentials",
    [
        {"headers": {"Authorization": "Bearer u:p"}},
        {"headers": {"X-Auth-Token": "u:p"}},
        {"auth": ("u", "p")},
    ],
    ids=["bearer", "header", "basic"],
)
def test_tenants_have_objects_of_their_own(credentials: Any) -> None:
    with (
        HttpApi(tokens={"u:p": "one", "other": "two"}) as api,
        httpx.Client(base_url=api.url, timeout=PATIENCE_SECONDS) as client,
    ):
        api.put("/images/a", {"size": 1}, tenant="one")
        assert client.get("/images/a", **credentials).json()["size"] == 1
        assert client.get("/images/a", headers={"X-Auth-Token": "other"}).status_code == 404
        assert client.get("/images/a").status_code == 401
        assert [api.count(tenant=tenant) for tenant in ("one", "two", "*")] == [1, 1, 3]


def test_faults_hit_what_they_are_set_for(http_api: HttpApi, client: httpx.Client) -> None:
    http_api.fail(Fault(status=429, headers={"Retry-After": "1"}), method="POST", path="/d*", times=2)
    assert client.get("/disks").status_code == 200
    assert [client.post("/disks", json={}).status_code for _ in range(3)] == [429, 429, 201]
    http_api.fail(Fault(how=How.CLOSE, has_effect=True), method="POST")
    with pytest.raises(httpx.RemoteProtocolError):
        client.post("/disks", json={})
    assert http_api.made == 2
    http_api.fail(Fault(how=How.CLOSE_HALF_WAY))
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("/disks")
    http_api.fail(Fault(how=How.ENDLESS))
    with client.stream("GET", "/disks") as answer:
        assert len(next(answer.iter_bytes())) > 0


def test_what_hangs_answers_when_it_is_let_go(http_api: HttpApi, client: httpx.Client) -> None:
    http_api.fail(Fault(how=How.HANG))
    with ThreadPoolExecutor(1) as thread:
        hanging = thread.submit(client.get, "/disks")
        http_api.wait_for("GET", "/disks")
        assert not hanging.done()
        http_api.heal()
        with pytest.raises(httpx.RemoteProtocolError):
            hanging.result()


def test_it_comes_back_on_its_port_with_its_objects(http_api: HttpApi, client: httpx.Client) -> None:
    client.post("/disks", json={})
    http_api.close()
    with pytest.raises(httpx.TransportError):
        client.get("/disks/1")
    http_api.launch()
    assert client.get("/disks/1").status_code == 200
