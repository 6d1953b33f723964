"""Objects that are taken into a stack by the API: previewed, refused before anything is touched, and imported."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import falcon
import pytest

from orchestrator.config.settings import Settings
from tests.unit.orchestrator.api.conftest import Client

FIRST: Mapping[str, Any] = {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "word"}}}
TEMPLATE: Mapping[str, Any] = {
    "heat_template_version": "2021-04-16",
    "parameters": {"word": {"type": "string", "default": "hello"}},
    "resources": {"first": FIRST},
}


def with_file(name: str) -> dict[str, Any]:
    page = {"type": "Isotherm::Node::File", "properties": {"path": name, "content": "welcome"}}
    return {**TEMPLATE, "resources": {"first": FIRST, "page": page}}


@pytest.fixture
def by_hand(settings: Settings, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file that no stack made, under the name of the test."""
    path = Path(settings.state_directory) / "files" / f"{request.node.name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("by hand")
    yield path
    assert path.read_text() == "by hand", "an import touched the object"


def test_objects_are_taken_in_as_they_are_and_the_rest_of_the_definition_is_kept(
    client: Client, by_hand: Path
) -> None:
    path = client.create("imports", template=TEMPLATE, parameters={"word": "hi"}, tags="red")
    body = {"template": with_file(by_hand.name), "resources": {"page": str(by_hand)}}
    previewed = client.ask("POST", f"{path}/import/preview", json=body)
    assert previewed.status == falcon.HTTP_OK, previewed.text
    changes = previewed.json["resource_changes"]
    assert {kind: [each["resource_name"] for each in some] for kind, some in changes.items()} == {
        "imported": ["page"],
        "unchanged": ["first"],
    }
    assert str(by_hand) in changes["imported"][0]["resource_status_reason"]
    assert client.get(path)["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert [each["resource_name"] for each in client.get(f"{path}/resources")["resources"]] == ["first"]

    headers = {"X-Isotherm-Comment": "ticket 4711"}
    answer = client.ask("POST", f"{path}/import", json=body, headers=headers)
    assert answer.status == falcon.HTTP_ACCEPTED, answer.text
    stack = client.wait(path, "ADOPT_COMPLETE")
    assert (stack["parameters"]["word"], stack["tags"]) == ("hi", ["red"])
    page = client.get(f"{path}/resources/page")["resource"]
    assert (page["physical_resource_id"], page["resource_status"]) == (str(by_hand), "ADOPT_COMPLETE")
    # What differs from the template, the next update changes: an import does not.
    changes = client.ask("PATCH", f"{path}/preview", json={}).json["resource_changes"]
    assert [each["resource_name"] for each in changes["updated"]] == ["page"]

    again = client.ask("POST", f"{path}/import", json=body)
    assert (again.status, again.json["error"]["type"]) == (falcon.HTTP_BAD_REQUEST, "StackValidationFailed")
    assert "the stack has the resource already" in again.json["error"]["message"]
    other = client.create("imports-too", template=TEMPLATE)
    owned = client.ask("POST", f"{other}/import", json=body)
    assert owned.status == falcon.HTTP_BAD_REQUEST
    assert (
        "the object belongs to the stack 'imports', as the resource 'page'" in owned.json["error"]["message"]
    )
    assert client.get(other)["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_an_entry_may_be_as_in_an_adopt_document(client: Client, by_hand: Path) -> None:
    path = client.create("imports-entry", template=TEMPLATE)
    entry = {"resource_id": str(by_hand), "metadata": {"owner": "ann"}}
    body = {"template": with_file(by_hand.name), "resources": {"page": entry}}
    assert client.ask("POST", f"{path}/import", json=body).status == falcon.HTTP_ACCEPTED
    client.wait(path, "ADOPT_COMPLETE")
    assert client.get(f"{path}/resources/page/metadata")["metadata"] == {"owner": "ann"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "resources: expected at least one resource, found none"),
        ({"resources": {"paeg": "x"}}, "did you mean 'page'?"),
        ({"resources": {"page": ""}}, "expected the id of the object that is there, a text, found nothing"),
        ({"resources": {"page": ["x"]}}, "the entry of the adopt file is no map"),
        ({"resources": {"first": "x"}}, "OS::Heat::Value has no object outside of its stack"),
        ({"parameters": {"word": "bye"}}, "an update by this definition would visit the resource"),
    ],
)
@pytest.mark.parametrize("where", ["import", "import/preview"])
def test_what_is_wrong_is_refused_before_anything_is_touched(
    where: str, given: Mapping[str, Any], problem: str, client: Client, by_hand: Path
) -> None:
    path = client.create("imports-wrong", template=TEMPLATE)
    try:
        resources = given.get("resources", {"page": str(by_hand)} if given else {})
        body = {"template": with_file(by_hand.name), **given, "resources": resources}
        answer = client.ask("POST", f"{path}/{where}", json=body)
        assert answer.status == falcon.HTTP_BAD_REQUEST
        assert problem in answer.json["error"]["message"]
        assert client.get(path)["stack"]["stack_status"] == "CREATE_COMPLETE"
        assert len(client.get(f"{path}/events")["events"]) == 4
    finally:
        client.ask("DELETE", path)
        client.wait(path, "DELETE_COMPLETE")


def test_an_import_and_its_preview_need_an_operator(clients: Mapping[str, Client], by_hand: Path) -> None:
    path = clients["olga"].create("imports-roles", template=TEMPLATE)
    body = {"template": with_file(by_hand.name), "resources": {"page": str(by_hand)}}
    for who, status in (("rita", falcon.HTTP_FORBIDDEN), ("otto", falcon.HTTP_FORBIDDEN)):
        for where in ("import", "import/preview"):
            assert clients[who].ask("POST", f"{path}/{where}", json=body).status == status
    assert clients["olga"].ask("POST", f"{path}/import/preview", json=body).status == falcon.HTTP_OK
    assert clients["olga"].ask("POST", f"{path}/import", json=body).status == falcon.HTTP_ACCEPTED
    clients["olga"].wait(path, "ADOPT_COMPLETE")
