"""The OpenAPI document: it is served, and describes every method of every address; what checks by it can fail."""

import json
from collections.abc import Mapping

import pytest
from falcon import testing

from orchestrator.api.described import description_of
from orchestrator.api.door import Door
from orchestrator.api.openapi import METHODS
from orchestrator.api.routes import routes
from tests.unit.orchestrator.api.conforming import Conformance
from tests.unit.orchestrator.api.conftest import Client


def test_document_is_served_to_everybody(clients: Mapping[str, Client], conformance: Conformance) -> None:
    answer = testing.TestClient(clients[""]._client.app).simulate_get("/openapi.json")
    assert answer.json == conformance.document
    assert answer.json["openapi"] == "3.1.0"


def test_every_method_is_described_with_a_policy(door: Door) -> None:
    for path, face in routes(door):
        for method in METHODS:
            if getattr(face, f"on_{method.lower()}", None) is None:
                continue
            description = description_of(face, method)
            assert description is not None, (method, path)
            assert bool(description.rule) != getattr(face, "is_open", False), (method, path)


def test_what_changes_something_takes_a_comment(conformance: Conformance) -> None:
    stack = conformance.document["paths"]["/v1/{project}/stacks"]
    taken = {
        method: [each["name"] for each in stack[method].get("parameters", ())] for method in ("get", "post")
    }
    assert "X-Isotherm-Comment" in taken["post"]
    assert "X-Isotherm-Comment" not in taken["get"]


def test_names_of_operations_are_all_different(conformance: Conformance) -> None:
    names = [
        operation["operationId"]
        for path in conformance.document["paths"].values()
        for method, operation in path.items()
        if method != "parameters"
    ]
    assert len(set(names)) == len(names) > 50


@pytest.mark.parametrize(
    "body", [{}, {"stacks": [{"id": "1"}]}, {"stacks": [], "more": 1}, {"stacks": [], "count": "1"}]
)
def test_another_answer_than_described_is_noticed(conformance: Conformance, body: object) -> None:
    def application(_environ: object, start_response: object) -> list[bytes]:
        assert callable(start_response)
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(body).encode()]

    answer = testing.TestClient(application).simulate_get("/")
    with pytest.raises(AssertionError):
        conformance.check("GET", "/v1/acme/stacks", answer)
