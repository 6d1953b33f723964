"""Every route of the document: what is not there, malformed, too large, wrong in the query, and redirected."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import falcon
import pytest

from orchestrator.api.lookups import REDIRECTED
from orchestrator.api.schemas import NUMBER, SAID_FLAG
from orchestrator.config.settings import Settings
from tests.unit.orchestrator.api.conforming import Conformance
from tests.unit.orchestrator.api.conftest import Client

#: What is sent so that a request is about what is not there, and about nothing else.
BODIES: Final[Mapping[str, Any]] = {
    "/actions": {"check": None},
    "/resources/{resource}": {"mark_unhealthy": True},
    "/preview": {"template": {"heat_template_version": "2018-08-31"}},
}
#: A server is known by its deployments alone: one without any has none to apply.
ALWAYS_THERE: Final = ("/software_deployments/metadata/{server_id}",)


class Route(NamedTuple):
    method: str
    path: str
    operation: Mapping[str, Any]

    def filled(self, **names: str) -> str:
        """Return the address with these names, and others that there are not."""
        return re.sub(r"{(\w+)}", lambda found: names.get(found[1], "none"), self.path)

    @property
    def body(self) -> Any:
        return next((body for end, body in BODIES.items() if self.path.endswith(end)), {})


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    directory = tmp_path_factory.mktemp("routes")
    return Settings(
        state_directory=directory, project="acme", max_template_bytes=20_000, max_value_bytes=80_000
    )


@pytest.fixture(scope="module")
def routes(conformance: Conformance) -> list[Route]:
    """Every method of every address below a project."""

    def found() -> Iterator[Route]:
        for path, operations in conformance.document["paths"].items():
            below = path.removeprefix("/v1/{project}")
            for method, operation in operations.items():
                if below not in (path, "") and method != "parameters":
                    yield Route(method.upper(), below, operation)

    return list(found())


@pytest.fixture(scope="module")
def names(client: Client) -> dict[str, str]:
    """The names of what there is."""
    _, _, name, stack_id = client.create("there").split("/")
    deployed = client.ask("POST", "/software_configs", json={}).json["software_config"]["id"]
    given = {"config_id": deployed, "server_id": "s"}
    deployment = client.ask("POST", "/software_deployments", json=given).json["software_deployment"]["id"]
    return {"name": name, "stack_id": stack_id, "resource": "text", "deployment_id": deployment}


def test_what_is_not_there_is_not_found(client: Client, routes: list[Route], names: dict[str, str]) -> None:
    seen = 0
    for route in routes:
        if "{" not in route.path or route.path in ALWAYS_THERE:
            continue
        # Without its stack, and without itself where that is a part of one.
        places = {route.filled(), route.filled(stack_id=names["stack_id"])}
        *parents, own = re.findall(r"{(\w+)}", route.path)
        if own != "stack_id":
            places.add(route.filled(**{each: names[each] for each in parents}))
        for place in places:
            answer = client.ask(route.method, place, json=route.body)
            assert answer.status == falcon.HTTP_NOT_FOUND, (route.method, place, answer.text)
            seen += 1
    assert seen > 80


def test_malformed_bodies_are_bad_requests(
    client: Client, routes: list[Route], names: dict[str, str], settings: Settings
) -> None:
    large = b" " * (settings.max_value_bytes + 1)
    wrong: list[tuple[bytes, str, str]] = [
        (b"{", "application/json", "HTTPBadRequest"),
        (b"[" * 10_000, "application/json", "HTTPBadRequest"),
        (b"[1]", "application/json", "HTTPBadRequest"),
        (b'"text"', "application/json", "HTTPBadRequest"),
        (b"{}", "text/xml", "HTTPBadRequest"),
        (b'{"\xff": 1}', "application/json", "HTTPBadRequest"),
        (large, "application/json", "RequestLimitExceeded"),
    ]
    routes = [each for each in routes if "requestBody" in each.operation]
    assert len(routes) > 12
    for route in routes:
        for body, kind, fault in wrong:
            answer = client.ask(
                route.method, route.filled(**names), body=body, headers={"Content-Type": kind}
            )
            found = (answer.status, answer.json["error"]["type"])
            assert found == (falcon.HTTP_BAD_REQUEST, fault), (route, body[:20])


def test_wrong_queries_are_bad_requests(client: Client, routes: list[Route], names: dict[str, str]) -> None:
    known = names | {"type_name": "OS::Heat::None", "version": "heat_template_version.rocky"}
    seen = 0
    for route in routes:
        for parameter in route.operation.get("parameters", ()):
            schema = parameter["schema"]
            if schema not in (NUMBER, SAID_FLAG) and "enum" not in schema:
                continue
            sent: dict[str, Any] = {"params": {parameter["name"]: "-x"}}
            if "requestBody" in route.operation:
                sent["json"] = {"template": {"heat_template_version": "2018-08-31"}}
            answer = client.ask(route.method, route.filled(**known), **sent)
            assert answer.status == falcon.HTTP_BAD_REQUEST, (route.method, route.path, parameter)
            seen += 1
    assert seen > 20


def test_stacks_by_their_names_or_ids_are_redirected(client: Client, names: dict[str, str]) -> None:
    for part, methods in REDIRECTED.items():
        below = f"/{part}" if part else ""
        for method in methods:
            for known in (names["name"], names["stack_id"]):
                answer = client.ask(method, f"/stacks/{known}{below}", query_string="a=b&a=c")
                assert answer.status == falcon.HTTP_FOUND
                expected = f"/v1/acme/stacks/{names['name']}/{names['stack_id']}{below}?a=b&a=c"
                assert answer.headers["location"].endswith(expected)
