"""What the errors of a cloud mean, made as the libraries make them of answers that real services give."""

import json
from typing import Any

import pytest
import requests
from keystoneauth1 import exceptions as keystoneauth
from openstack import exceptions as sdk

from orchestrator.plugins.asking import EntityNotFound
from tests.unit.workers.clients.openstack import Hasty, client_of
from workers.clients.openstack import OpenStack


def answer(status: int, body: Any = None, **headers: str) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response.url = "http://cloud/v2.1/servers"
    response.request = requests.Request("POST", response.url).prepare()
    response.headers.update({"Content-Type": "application/json", **headers})
    response._content = b"" if body is None else json.dumps(body).encode()
    return response


def of_sdk(response: requests.Response) -> Exception:
    with pytest.raises(sdk.HttpException) as caught:
        sdk.raise_from_response(response)
    return caught.value


def of_keystoneauth(response: requests.Response) -> Exception:
    return keystoneauth.from_response(response, "POST", response.url)


def of_requests(response: requests.Response) -> Exception:
    with pytest.raises(requests.HTTPError) as caught:
        response.raise_for_status()
    return caught.value


LIBRARIES = [of_sdk, of_keystoneauth, of_requests]


def nova(status: int, kind: str, message: str) -> requests.Response:
    return answer(status, {kind: {"code": status, "message": message}})


#: What services of release 2026.2 answered, and what each predicate is to say of it: not found, conflict, over limit,
#: retryable.
ANSWERS = {
    "no such flavor": (nova(404, "itemNotFound", "Flavor nope could not be found."), "not found"),
    "no such network": (
        answer(404, {"NeutronError": {"type": "NetworkNotFound", "message": "...", "detail": ""}}),
        "not found",
    ),
    "key pair exists": (nova(409, "conflictingRequest", "Key pair 'q' already exists."), "conflict"),
    "project exists": (
        answer(409, {"error": {"code": 409, "message": "Conflict occurred attempting to store project"}}),
        "conflict",
    ),
    "busy": (nova(409, "conflictingRequest", "Cannot 'stop' instance while it is in task_state"), "conflict"),
    "quota of Neutron": (
        answer(
            409,
            {
                "NeutronError": {
                    "type": "OverQuota",
                    "message": "Quota exceeded for resources: ['network'].",
                    "detail": "",
                }
            },
        ),
        "over limit",
    ),
    "quota of Nova": (nova(403, "forbidden", "Quota exceeded, too many key pairs."), "over limit"),
    "quota of servers": (
        nova(403, "forbidden", "Quota exceeded for instances: Requested 1, but already used 10 of 10"),
        "over limit",
    ),
    # It says 0 whatever the moment: a quota does not pass by itself.
    "quota of Cinder": (
        answer(
            413,
            {"overLimit": {"code": 413, "message": "Maximum number of volumes allowed (0) exceeded"}},
            **{"Retry-After": "0"},
        ),
        "over limit",
    ),
    "not allowed": (nova(403, "forbidden", "Policy doesn't allow os_compute_api:x"), ""),
    "too often": (answer(429, None, **{"Retry-After": "2"}), "over limit, retryable"),
    "who are you": (answer(401, {"error": {"code": 401, "message": "..."}}), ""),
    "bad request": (nova(400, "badRequest", "Invalid input"), ""),
    "timed out": (answer(408), "retryable"),
    "gone": (answer(410), ""),
    "broken": (nova(500, "computeFault", "Unexpected API Error"), "retryable"),
    "not implemented": (answer(501), ""),
    "bad gateway": (answer(502), "retryable"),
    "unavailable": (answer(503), "retryable"),
    "gateway timed out": (answer(504), "retryable"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> OpenStack:
    path = tmp_path_factory.mktemp("cloud") / "clouds.yaml"
    auth = {"auth_url": "http://cloud/v3", "username": "max", "password": "secret", "project_name": "web"}
    path.write_text(json.dumps({"clouds": {"cloud": {"auth": auth}}}))
    return client_of(Hasty, {"cloud": "cloud", "config_file": str(path)})


def verdict(client: OpenStack, error: Exception) -> str:
    said = {
        "not found": client.is_not_found(error),
        "conflict": client.is_conflict(error),
        "over limit": client.is_over_limit(error),
        "retryable": client.is_retryable(error),
    }
    return ", ".join(word for word, so in said.items() if so)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_means_the_same_whichever_library_tells_of_it(
    name: str, library: Any, client: OpenStack
) -> None:
    response, meant = ANSWERS[name]
    assert verdict(client, library(response)) == meant


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        pytest.param(sdk.NotFoundException("No Flavor found for small"), "not found", id="found none"),
        pytest.param(EntityNotFound("flavor", "small"), "not found", id="ours"),
        pytest.param(sdk.DuplicateResource("More than one Flavor exists"), "", id="several"),
        pytest.param(sdk.ConfigException("Cloud x was not found."), "", id="settings"),
        pytest.param(sdk.ServiceDisabledException("not in the catalog"), "", id="no such service"),
        pytest.param(sdk.NotSupported("does not have any supported versions"), "retryable", id="no versions"),
        pytest.param(keystoneauth.DiscoveryFailure("could not find versions"), "retryable", id="discovery"),
        pytest.param(keystoneauth.ConnectFailure("refused"), "retryable", id="refused"),
        pytest.param(keystoneauth.ConnectTimeout("timed out"), "retryable", id="timed out"),
        pytest.param(keystoneauth.SSLError("self-signed certificate"), "", id="certificate"),
        pytest.param(keystoneauth.EndpointNotFound("no endpoint in region"), "", id="no endpoint"),
        pytest.param(keystoneauth.MissingRequiredOptions([]), "", id="options"),
        pytest.param(requests.ConnectionError("reset"), "retryable", id="reset"),
        pytest.param(requests.ReadTimeout("read"), "retryable", id="read"),
        pytest.param(requests.exceptions.ChunkedEncodingError("broken"), "retryable", id="half an answer"),
        pytest.param(requests.TooManyRedirects("30"), "", id="redirects"),
        pytest.param(ValueError("anything"), "", id="anything"),
    ],
)
def test_errors_without_an_answer_have_a_meaning_too(error: Exception, meant: str, client: OpenStack) -> None:
    assert verdict(client, error) == meant


def test_errors_of_other_systems_are_not_judged(client: OpenStack) -> None:
    class FromElsewhere(Exception):
        status_code = 503
        response = answer(503)

    assert verdict(client, FromElsewhere()) == ""
    assert verdict(client, TimeoutError()) == ""


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("header", ["X-Openstack-Request-Id", "X-Compute-Request-Id"])
def test_a_failed_request_is_known_by_the_id_that_the_service_gave_it(
    header: str, library: Any, client: OpenStack
) -> None:
    assert client.request_id_of(library(answer(500, **{header: "req-1f"}))) == "req-1f"


@pytest.mark.parametrize("given", ["", "req-", "1f", "req-1 f", "req-<b>", f"req-{'1' * 65}"])
def test_no_other_text_of_an_answer_is_taken_for_an_id(given: str, client: OpenStack) -> None:
    assert client.request_id_of(of_sdk(answer(500, **{"X-Openstack-Request-Id": given}))) == ""


def test_errors_without_an_answer_have_no_request(client: OpenStack) -> None:
    assert client.request_id_of(requests.ConnectionError("no")) == ""
    assert client.request_id_of(ValueError("no")) == ""
