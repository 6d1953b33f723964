"""Stacks by the API: what clients of Heat send, and what they find in the answers."""

import json
from typing import Any

import falcon
import pytest

from orchestrator.api.door import Door
from orchestrator.model.messages import StackJob
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client


def test_create_answers_with_the_address_of_the_stack(client: Client) -> None:
    answer = client.ask("POST", "/stacks", json={"stack_name": "made", "template": TEMPLATE})
    assert answer.status == falcon.HTTP_CREATED
    (link,) = answer.json["stack"]["links"]
    assert link == {"rel": "self", "href": answer.headers["location"]}
    path = f"/stacks/made/{answer.json['stack']['id']}"
    assert link["href"].endswith(f"/v1/acme{path}")
    client.wait(path, "CREATE_COMPLETE")


def test_show_has_parameters_as_text_and_outputs_as_they_are(client: Client) -> None:
    path = client.create(
        "shown", parameters={"length": 6}, tags="a,b", timeout_mins=7, disable_rollback=False
    )
    found = client.get(path)["stack"]
    assert found["parameters"] == {
        "length": "6",
        "secret": "******",
        "OS::stack_id": path.rpartition("/")[2],
        "OS::stack_name": "shown",
        "OS::project_id": "acme",
    }
    (output,) = found["outputs"]
    assert (output["output_key"], output["description"], len(output["output_value"])) == (
        "word",
        "the text",
        6,
    )
    assert (found["tags"], found["timeout_mins"], found["disable_rollback"]) == (["a", "b"], 7, False)
    assert (found["description"], found["updated_time"], found["deletion_time"]) == (
        "a text and a copy of it",
        None,
        None,
    )
    assert "outputs" not in client.get(path, params={"resolve_outputs": "False"})["stack"]


def test_put_gives_another_definition_and_forgets_what_it_does_not_have(client: Client) -> None:
    path = client.create("put", parameters={"length": 6}, tags="a", timeout_mins=7, disable_rollback=False)
    answer = client.ask("PUT", path, json={"template": TEMPLATE})
    assert (answer.status, answer.text) == (falcon.HTTP_ACCEPTED, "")
    found = client.wait(path, "UPDATE_COMPLETE")
    assert (found["parameters"]["length"], found["tags"]) == ("8", None)
    assert (found["timeout_mins"], found["disable_rollback"]) == (7, False)
    assert found["updated_time"] is not None


def test_patch_keeps_what_it_does_not_have(client: Client) -> None:
    path = client.create("patched", parameters={"length": 6, "secret": "x"}, tags="a")
    answer = client.ask(
        "PATCH", path, json={"template": None, "parameters": {"secret": "y"}, "environment": {}}
    )
    assert answer.status == falcon.HTTP_ACCEPTED, answer.text
    found = client.wait(path, "UPDATE_COMPLETE")
    assert (found["parameters"]["length"], found["tags"]) == ("6", ["a"])
    assert client.get(f"{path}/environment")["parameters"] == {"length": 6, "secret": "y"}
    client.ask("PATCH", path, json={"clear_parameters": ["length"]})
    assert client.wait(path, "UPDATE_COMPLETE")["parameters"]["length"] == "8"


def test_previews_change_nothing(client: Client) -> None:
    path = client.create("previewed")
    before = client.get(path)
    other = {
        **TEMPLATE,
        "resources": {"text": TEMPLATE["resources"]["text"], "new": {"type": "OS::Heat::None"}},
    }
    other = {name: each for name, each in other.items() if name != "outputs"}
    changes = client.ask("PUT", f"{path}/preview", json={"template": other}).json["resource_changes"]
    names = {kind: [each["resource_name"] for each in found] for kind, found in changes.items()}
    assert names == {
        "unchanged": ["text"],
        "updated": [],
        "replaced": [],
        "added": ["new"],
        "deleted": ["copy"],
    }
    kept = client.ask("PATCH", f"{path}/preview", json={}).json["resource_changes"]
    assert {each["resource_name"] for each in kept["unchanged"]} == {"text", "copy"}
    assert client.get(path) == before
    answer = client.ask("POST", "/stacks/preview", json={"stack_name": "never", "template": TEMPLATE})
    assert {each["resource_name"] for each in answer.json["stack"]["resources"]} == {"text", "copy"}
    assert client.ask("GET", "/stacks/never").status == falcon.HTTP_NOT_FOUND


def test_deleted_stack_is_shown_by_its_id_and_nothing_else_is_done_to_it(client: Client) -> None:
    path = client.create("gone")
    assert client.ask("DELETE", path).status == falcon.HTTP_NO_CONTENT
    found = client.wait(path, "DELETE_COMPLETE")
    assert found["deletion_time"] is not None
    assert "outputs" not in found
    for method, part in (("DELETE", ""), ("PATCH", ""), ("GET", "/template"), ("GET", "/outputs")):
        assert client.ask(method, f"{path}{part}", json={}).status == falcon.HTTP_NOT_FOUND
    assert client.ask("GET", "/stacks/gone").status == falcon.HTTP_NOT_FOUND
    by_id = client.ask("GET", f"/stacks/{path.rpartition('/')[2]}")
    assert (by_id.status, by_id.headers["location"].endswith(path)) == (falcon.HTTP_FOUND, True)


def test_what_is_abandoned_can_be_adopted_again(client: Client) -> None:
    path = client.create("left")
    value = client.get(f"{path}/outputs/word")["output"]["output_value"]
    document = client.ask("DELETE", f"{path}/abandon").json
    client.wait(path, "DELETE_COMPLETE")
    answer = client.ask(
        "POST", "/stacks", json={"stack_name": "taken", "adopt_stack_data": json.dumps(document)}
    )
    assert answer.status == falcon.HTTP_CREATED, answer.text
    adopted = f"/stacks/taken/{answer.json['stack']['id']}"
    client.wait(adopted, "ADOPT_COMPLETE")
    assert client.get(f"{adopted}/outputs/word")["output"]["output_value"] == value


@pytest.mark.parametrize(
    "part", ["", "/resources", "/events", "/template", "/actions", "/environment", "/files"]
)
def test_name_alone_is_redirected_with_its_query(client: Client, part: str) -> None:
    path = client.create(f"found{part.strip('/')}")
    name, stack_id = path.split("/")[2:]
    for known in (name, stack_id):
        answer = client.ask("GET", f"/stacks/{known}{part}", query_string="a=b&c=d")
        assert answer.status == falcon.HTTP_FOUND
        assert answer.headers["location"].endswith(f"/v1/acme{path}{part}?a=b&c=d")
    arn = client.ask("GET", f"/stacks/arn:openstack:heat::acme:stacks/{name}/{stack_id}{part}")
    assert arn.headers["location"] == f"/v1/acme{path}{part}"


def test_lists_are_filtered_sorted_and_paged(client: Client) -> None:
    beta = Client(client._client.app, project="lists")
    paths = {
        name: beta.create(name, template={"heat_template_version": "2018-08-31"}, tags=tags)
        for name, tags in (("b1", "red,big"), ("a1", "red"), ("c1", "blue"))
    }

    def names(**query: Any) -> list[str]:
        return [each["stack_name"] for each in beta.get("/stacks", params=query)["stacks"]]

    assert names() == ["c1", "a1", "b1"]
    assert names(sort_keys="stack_name", sort_dir="asc") == ["a1", "b1", "c1"]
    assert beta.get("/stacks/detail") == beta.get("/stacks")
    assert names(stack_name="a1") == names(id=paths["a1"].rpartition("/")[2]) == ["a1"]
    assert names(stack_name=["a1", "b1"]) == ["a1", "b1"]
    assert names(tags="red") == ["a1", "b1"]
    assert names(tags="red,big") == ["b1"]
    assert names(tags_any="big,blue") == ["c1", "b1"]
    assert names(not_tags="red,big") == ["c1", "a1"]
    assert names(not_tags_any="big,blue") == ["a1"]
    assert names(stack_status="CREATE_COMPLETE", action="CREATE") == ["c1", "a1", "b1"]
    assert names(status="FAILED") == []
    first = beta.get("/stacks", params={"limit": 2, "with_count": "true"})
    assert ([each["stack_name"] for each in first["stacks"]], first["count"]) == (["c1", "a1"], 3)
    (following,) = first["links"]
    rest = beta.get("/stacks", query_string=following["href"].partition("?")[2])
    assert [each["stack_name"] for each in rest["stacks"]] == ["b1"]
    assert "links" not in rest
    beta.create("h1", template={"heat_template_version": "2018-08-31"}, tags="red,hidden")
    assert names(tags="red") == ["a1", "b1"]
    assert names(tags="red", show_hidden="true") == ["h1", "a1", "b1"]
    assert names(tags="red", show_hidden="true", not_tags_any="hidden") == ["a1", "b1"]
    beta.ask("DELETE", paths["b1"])
    beta.wait(paths["b1"], "DELETE_COMPLETE")
    assert names() == ["c1", "a1"]
    assert names(show_deleted="true") == ["c1", "a1", "b1"]
    everywhere = beta.get("/stacks", params={"global_tenant": "true"})["stacks"]
    assert {each["project"] for each in everywhere} >= {"lists", "acme"}
    assert names(global_tenant="true", tenant="lists") == names(tenant="lists") == ["c1", "a1"]
    assert names(tenant="acme") == []


def test_stack_that_was_updated_in_part_says_what_is_left_until_it_is_whole(
    client: Client, door: Door
) -> None:
    def text(value: str) -> dict[str, Any]:
        return {"type": "OS::Heat::Value", "properties": {"value": value}}

    def template(value: str) -> dict[str, Any]:
        return {
            "heat_template_version": "2018-08-31",
            "resources": {name: text(value) for name in ("one", "two", "three")},
        }

    def listed() -> dict[str, list[str]]:
        query = {"partial": "true"}
        found = client.get("/stacks", params=query)["stacks"]
        return {each["stack_name"]: each["partial"] for each in found}

    path = client.create("in-part", template=template("a"))
    assert client.get(path)["stack"]["partial"] == []
    assert listed() == {}
    name, stack_id = path.split("/")[2:]
    service = door._whole.of_project("acme")
    changed = json.dumps(template("b"))
    service.update(StackJob(name=name, project="acme", template=changed, targets=("one", "three")))
    assert client.wait(path, "UPDATE_COMPLETE")["partial"] == ["two"]
    assert listed() == {"in-part": ["two"]}
    assert service.stack(stack_id).partial == ("two",)
    assert client.ask("PUT", path, json={"template": template("b")}).status == falcon.HTTP_ACCEPTED
    assert client.wait(path, "UPDATE_COMPLETE")["partial"] == []
    assert listed() == {}


def test_environment_files_take_the_place_of_the_environment(client: Client) -> None:
    path = client.create(
        "environments",
        environment={"parameters": {"length": 20}},
        environment_files=["one.yaml", "two.yaml"],
        files={"one.yaml": "parameters: {length: 5, secret: s}", "two.yaml": {"parameters": {"length": 9}}},
    )
    found = client.get(f"{path}/environment")
    assert found["parameters"] == {"length": 9, "secret": "s"}
    assert set(client.get(f"{path}/files")) == {"one.yaml", "two.yaml"}


def test_invalid_definition_is_refused_with_all_its_problems(client: Client) -> None:
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {"a": {"type": "OS::Heat::RandomStrin"}, "b": {"type": "OS::Heat::Value"}},
    }
    answer = client.ask("POST", "/stacks", json={"stack_name": "wrong", "template": template})
    assert answer.status == falcon.HTTP_BAD_REQUEST
    assert answer.json["error"]["type"] == "StackValidationFailed"
    first, second = answer.json["error"]["message"].splitlines()
    assert "resources.a" in first
    assert "OS::Heat::RandomString" in first
    assert "resources.b" in second
    assert client.ask("GET", "/stacks/wrong").status == falcon.HTTP_NOT_FOUND


def test_name_that_is_taken_is_refused(client: Client) -> None:
    client.create("twice")
    answer = client.ask("POST", "/stacks", json={"stack_name": "twice", "template": TEMPLATE})
    assert (answer.status, answer.json["error"]["type"]) == (falcon.HTTP_CONFLICT, "StackExists")
