"""Requests that are refused, whatever they are about: every address, every caller."""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

import falcon
import pytest
from falcon import testing

from orchestrator.api.application import make_application
from orchestrator.api.door import Door
from orchestrator.api.routes import routes
from orchestrator.model.identity import Caller
from orchestrator.service import Service
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Let(Exception):
    """A request was let through; what it would do is not done."""


def addresses(door: Door) -> dict[str, list[str]]:
    """Return the methods of each address below a project."""
    return {
        path: [each for each in METHODS if getattr(face, f"on_{each.lower()}", None)]
        for path, face in routes(door)
        if not getattr(face, "is_open", False)
    }


def filled(path: str) -> str:
    """Return an address with something in the place of each of its names, below the project."""
    return re.sub(r"\{\w+\}", "x", path.removeprefix("/v1/{project}"))


def test_every_address_refuses_every_other_method(client: Client, door: Door) -> None:
    for path, methods in addresses(door).items():
        assert methods
        for method in set(METHODS) - set(methods):
            answer = client.ask(method, filled(path))
            assert answer.status == falcon.HTTP_METHOD_NOT_ALLOWED, (method, path)
            assert set(answer.headers["allow"].split(", ")) >= set(methods)
            assert answer.json["code"] == 405


def test_no_address_answers_without_a_caller(clients: Mapping[str, Client], door: Door) -> None:
    for path, methods in addresses(door).items():
        for method in methods:
            answer = clients[""].ask(method, filled(path), json={})
            assert answer.status == falcon.HTTP_UNAUTHORIZED, (method, path)


def test_no_address_answers_who_has_no_role_in_the_project(clients: Mapping[str, Client], door: Door) -> None:
    for path, methods in addresses(door).items():
        for method in methods:
            answer = clients["otto"].ask(method, filled(path), json={})
            assert (answer.status, answer.json["error"]["type"]) == (falcon.HTTP_FORBIDDEN, "Forbidden"), path


def test_a_reader_changes_nothing(
    clients: Mapping[str, Client], door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which addresses ask for an operation that a reader may not do is in the list, and no other is let through."""
    asked: list[str] = []

    def require(self: Door, request: falcon.Request, operation: str, *, rule: str = "") -> None:
        caller: Caller = request.context.caller
        asked.append(operation)
        self._policy.require(caller.identity, operation, request.context.project)
        raise Let

    monkeypatch.setattr(Door, "require", require)
    # That something unexpected happened is what the document does not promise.
    monkeypatch.setattr(clients["rita"], "conformance", None)
    let_through: set[str] = set()
    refused: set[str] = set()
    for path, methods in addresses(door).items():
        for method in methods:
            answer = clients["rita"].ask(method, filled(path), json={"suspend": None})
            is_refused = answer.status == falcon.HTTP_FORBIDDEN
            (refused if is_refused else let_through).add(f"{method} {path.removeprefix('/v1/{project}')}")
    of_stack = "/stacks/{name}/{stack_id}"
    assert refused == {
        "POST /stacks",
        "GET /services",
        *(f"{method} {of_stack}" for method in ("PUT", "PATCH", "DELETE")),
        f"POST {of_stack}/import",
        f"POST {of_stack}/import/preview",
        f"DELETE {of_stack}/abandon",
        f"GET {of_stack}/export",
        f"GET {of_stack}/environment",
        f"GET {of_stack}/files",
        f"POST {of_stack}/actions",
        f"POST {of_stack}/snapshots",
        f"DELETE {of_stack}/snapshots/{{snapshot_id}}",
        f"POST {of_stack}/snapshots/{{snapshot_id}}/restore",
        f"PATCH {of_stack}/resources/{{resource}}",
        f"POST {of_stack}/resources/{{resource}}/signal",
        "POST /software_configs",
        *(f"{method} /software_configs/{{config_id}}" for method in ("GET", "DELETE")),
        *(f"{method} /software_deployments" for method in ("GET", "POST")),
        *(f"{method} /software_deployments/{{deployment_id}}" for method in ("GET", "PUT", "DELETE")),
        "GET /software_deployments/metadata/{server_id}",
    }
    assert asked


def test_all_projects_are_none_in_an_address(clients: Mapping[str, Client], client: Client) -> None:
    for each in (clients["root"], client):
        everywhere = Client(each._client.app, project="*", token=each.token)
        assert everywhere.ask("GET", "/stacks").status == falcon.HTTP_FORBIDDEN


def test_nobody_is_let_in_while_callers_cannot_be_identified(door: Door) -> None:
    def fail(_: falcon.Request) -> None:
        raise OSError("/etc/secret/tokens.json")

    answer = Client(make_application(door, fail)).ask("GET", "/stacks")
    assert answer.status == falcon.HTTP_SERVICE_UNAVAILABLE
    assert answer.json["error"]["message"] == "callers cannot be identified at present"


def test_stack_of_another_project_is_not_there(clients: Mapping[str, Client], client: Client) -> None:
    path = client.create("ours")
    name, stack_id = path.split("/")[2:]
    theirs = Client(clients["otto"]._client.app, project="beta", token=clients["otto"].token)
    for address in (
        path,
        f"/stacks/{name}",
        f"/stacks/{stack_id}",
        f"{path}/resources/text",
        f"{path}/template",
    ):
        assert theirs.ask("GET", address).status == falcon.HTTP_NOT_FOUND
    assert theirs.ask("DELETE", path).status == falcon.HTTP_NOT_FOUND
    assert theirs.get("/stacks") == {"stacks": []}
    assert theirs.ask("GET", "/stacks", params={"global_tenant": "true"}).status == falcon.HTTP_FORBIDDEN
    assert clients["root"].get("/stacks", params={"global_tenant": "true"})["stacks"]


@pytest.mark.parametrize("header", ["X-Auth-Token", "X-Auth-Key", "bearer", "basic"])
def test_token_is_in_any_of_its_places(clients: Mapping[str, Client], header: str) -> None:
    token = clients["rita"].token
    basic = b64encode(f"rita:{token}".encode()).decode()
    headers = {
        "bearer": {"Authorization": f"Bearer {token}"},
        "basic": {"Authorization": f"Basic {basic}"},
    }.get(header, {header: token})
    bare = Client(clients["rita"]._client.app)
    assert bare.ask("GET", "/stacks", headers={"X-Auth-Token": "", **headers}).status == falcon.HTTP_OK
    wrong = {name: value[:-2] for name, value in headers.items()}
    assert (
        bare.ask("GET", "/stacks", headers={"X-Auth-Token": "", **wrong}).status == falcon.HTTP_UNAUTHORIZED
    )


BAD: Final[Mapping[str, tuple[dict[str, Any], str]]] = {
    "no JSON": ({"body": "{"}, "no JSON"),
    "no UTF-8": ({"body": b'{"stack_name": "\xff"}'}, "no JSON"),
    "no number of JSON": ({"body": '{"timeout_mins": NaN}'}, "NaN"),
    "too deep": ({"body": "[" * 100_000}, "nested too deep"),
    "no map": ({"body": "[]"}, "a map of JSON"),
    "another type": ({"body": "<a/>", "content_type": "text/xml"}, "application/json"),
    "no name": ({"json": {"template": TEMPLATE}}, "stack_name"),
    "a wrong name": ({"json": {"stack_name": "1", "template": TEMPLATE}}, "stack name"),
    "no text as a name": ({"json": {"stack_name": 1, "template": TEMPLATE}}, "a text as stack_name"),
    "no template": ({"json": {"stack_name": "a"}}, "template_url"),
    "a list as a template": ({"json": {"stack_name": "a", "template": [1]}}, "as template"),
    "a file of the server": (
        {"json": {"stack_name": "a", "template_url": "file:///etc/passwd"}},
        "an address with http",
    ),
    "an environment that is not sent": (
        {"json": {"stack_name": "a", "template": TEMPLATE, "environment_files": ["x"]}},
        "'x' among files",
    ),
    "no minutes": ({"json": {"stack_name": "a", "template": TEMPLATE, "timeout_mins": "soon"}}, "minutes"),
    "no flag": (
        {"json": {"stack_name": "a", "template": TEMPLATE, "disable_rollback": "x"}},
        "true or false",
    ),
    "a wrong tag": ({"json": {"stack_name": "a", "template": TEMPLATE, "tags": "x" * 81}}, "tags"),
    "a container": (
        {"json": {"stack_name": "a", "template": TEMPLATE, "files_container": "c"}},
        "files_container",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_malformed_body_is_a_bad_request(client: Client, what: str) -> None:
    given, words = BAD[what]
    given = {"headers": {"Content-Type": given.get("content_type", "application/json")}, **given}
    answer = client.ask(
        "POST", "/stacks", **{name: each for name, each in given.items() if name != "content_type"}
    )
    assert answer.status == falcon.HTTP_BAD_REQUEST, answer.text
    assert words in answer.json["error"]["message"]
    assert answer.json["code"] == 400
    assert answer.json["title"] == "Bad Request"


def test_body_that_is_too_large_is_refused(client: Client, door: Door) -> None:
    body = "x" * (4 * door.settings.max_template_bytes + 1)
    answer = client.ask("POST", "/stacks", body=body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["error"]["type"]) == (falcon.HTTP_BAD_REQUEST, "RequestLimitExceeded")


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=x",
        "sort_keys=colour",
        "sort_dir=up",
        "show_nested=maybe",
        "colour=red",
        "username=ann",
        "marker=nothing",
        f"limit={'9' * 400}",
    ],
)
def test_wrong_query_of_a_list_is_refused(client: Client, query: str) -> None:
    answer = client.ask("GET", "/stacks", query_string=query)
    assert answer.status in (falcon.HTTP_BAD_REQUEST, falcon.HTTP_NOT_FOUND)
    assert answer.json["error"]["message"]


def test_unknown_addresses_have_the_shape_of_every_fault(client: Client) -> None:
    for path in ("/stack", "/stacks/a/b/c/d/e/f", "/stacks/../../x"):
        answer = client.ask("GET", path)
        assert answer.status == falcon.HTTP_NOT_FOUND
        assert answer.json["error"]["type"] in ("HTTPNotFound", "EntityNotFound")


def test_version_may_be_in_the_accepted_type(client: Client) -> None:
    bare = testing.TestClient(client._client.app)
    accepted = {"Accept": "application/vnd.openstack.orchestration-v1+json, application/json"}
    assert bare.simulate_get("/acme/stacks").status == falcon.HTTP_NOT_FOUND
    assert "stacks" in bare.simulate_get("/acme/stacks", headers=accepted).json
    assert "stacks" in bare.simulate_get("/v1/acme/stacks", headers=accepted).json
    assert "versions" in bare.simulate_get("/", headers=accepted).json


def test_every_answer_has_an_id_of_its_own(client: Client) -> None:
    ids = {
        client.ask("GET", path).headers["x-openstack-request-id"]
        for path in ("/stacks", "/none", "/stacks/x")
    }
    assert len(ids) == 3
    assert all(re.fullmatch(r"req-[0-9a-f-]{36}", each) for each in ids)


def test_nothing_is_told_of_an_error_that_nobody_expected(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Service, "listed", fail)
    monkeypatch.setattr(client, "conformance", None)
    answer = client.ask("GET", "/stacks")
    assert answer.status == falcon.HTTP_INTERNAL_SERVER_ERROR
    assert answer.json["error"] == {"type": "RuntimeError", "traceback": None}
    assert "secret" not in answer.text


def test_versions_and_health_need_no_caller(clients: Mapping[str, Client]) -> None:
    bare = testing.TestClient(clients[""]._client.app)
    for path in ("/", "/versions", "/v1", "/v1/", "/v1/acme"):
        answer = bare.simulate_get(path)
        assert answer.status == falcon.HTTP_MULTIPLE_CHOICES
        assert answer.json["versions"][0]["id"] == "v1.0"
    assert bare.simulate_get("/healthcheck").text == "OK"


def test_build_and_services_are_shown(client: Client) -> None:
    assert client.get("/build_info")["engine"]["revision"]
    (service,) = client.get("/services")["services"]
    assert (service["status"], service["binary"]) == ("up", "isotherm-embedded")
