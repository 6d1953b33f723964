"""Processes that need no broker: one question for all who ask the same, and in words that nobody can tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.services.asking import CACHE, PATIENT, Asking
from tests.services.demanding import path_of, template
from tests.services.http_api import Fault, How, HttpApi
from tests.waiting import PATIENCE_SECONDS

RESOURCES = 40
#: Options of the client ``http``: a command reports the first failure, without retries.
CLIENT = {**PATIENT, "retries": 0}


@pytest.fixture
def asking(tmp_path: Path, http_api: HttpApi) -> Asking:
    http_api.put(path_of("cirros"))
    options: dict[str, Any] = {"base_url": http_api.url, **CLIENT}
    asking = Asking(tmp_path / "asking", clients={"http": options}, log_level="WARNING")
    asking.write("many.yaml", template(RESOURCES, ["cirros"]))
    return asking


def test_all_who_name_one_image_cost_one_request(asking: Asking, http_api: HttpApi) -> None:
    done = asking.run("stack", "create", "many", "-t", "many.yaml")
    assert done.returncode == 0, done.stderr
    assert http_api.counts() == {("GET", path_of("cirros")): 1}


def test_where_nobody_can_tell_nothing_is_begun(asking: Asking, http_api: HttpApi) -> None:
    faults = [
        (Fault(status=500), "it answered 500"),
        (Fault(status=429, headers={"Retry-After": "3600"}), "it answered 429"),
        (Fault(how=How.HANG), "no whole answer came in time"),
    ]
    for fault, said in faults:
        http_api.fail(fault, times=-1)
        options = {"base_url": http_api.url, **CLIENT}
        if fault.how is How.HANG:
            options["read_seconds"] = 0.5
        clients = json.dumps({"http": options})
        done = asking.run("stack", "create", "many", "-t", "many.yaml", ISOTHERM_CLIENTS=clients)
        http_api.heal()
        assert (done.returncode, done.stdout) == (3, ""), done
        sentence = "resources.r0.properties.image: cannot check whether the path '/images/cirros' exists"
        assert f"many.yaml:3:46: {sentence}" in done.stderr
        assert said in done.stderr
    assert json.loads(asking.run("stack", "list", "-f", "json").stdout) == []
    assert asking.run("stack", "create", "many", "-t", "many.yaml").returncode == 0


@pytest.mark.parametrize("backend", ["redis", "memcached", "file"])
def test_two_hundred_in_two_processes_who_ask_the_same_at_once_cost_one_request(
    backend: str, tmp_path: Path, http_api: HttpApi, request: pytest.FixtureRequest
) -> None:
    http_api.put(path_of("cirros"))
    # Whoever comes while the first one asks finds nothing in the cache yet.
    http_api.latency_seconds = 0.5
    url = str(tmp_path / "answers") if backend == "file" else request.getfixturevalue(f"{backend}_server").url
    options = {"base_url": http_api.url, **PATIENT}
    given = {"cache_backend": backend, "cache_url": url, "constraint_cache": CACHE}
    asking = Asking(tmp_path / "asking", clients={"http": options}, **given)
    with asking.start_asker(100) as one, asking.start_asker(100) as two:
        for each in (one, two):
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in (one, two):
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        told = [each.communicate(timeout=PATIENCE_SECONDS)[0].splitlines()[-1] for each in (one, two)]
    assert told == ["100", "100"]
    assert http_api.count() == 1
