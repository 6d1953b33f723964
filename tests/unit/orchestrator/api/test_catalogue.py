"""What templates can use, and validation, by the API."""

import falcon
import pytest

from orchestrator.api.catalogue import _pattern
from orchestrator.api.faults import Refused
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client


def test_types_are_listed_by_their_names(client: Client) -> None:
    names = client.get("/resource_types")["resource_types"]
    assert names == sorted(names)
    assert "OS::Heat::RandomString" in names
    found = client.get("/resource_types", params={"name": "OS::Heat::Random.*", "with_description": "true"})
    assert [each["resource_type"] for each in found["resource_types"]] == ["OS::Heat::RandomString"]
    assert found["resource_types"][0]["description"]
    assert client.get("/resource_types", params={"support_status": "UNSUPPORTED"}) == {"resource_types": []}


def test_type_has_its_schema(client: Client) -> None:
    found = client.get("/resource_types/OS::Heat::RandomString")
    length = found["properties"]["length"]
    assert (length["type"], length["required"], length["constraints"]) == (
        "integer",
        False,
        [{"range": {"min": 1, "max": 512}}],
    )
    assert found["support_status"]["status"] == "SUPPORTED"
    assert "value" in found["attributes"]
    answer = client.ask("GET", "/resource_types/OS::Heat::RandomStrin")
    assert answer.status == falcon.HTTP_NOT_FOUND
    assert "OS::Heat::RandomString" in answer.json["error"]["message"]


@pytest.mark.parametrize("kind", ["cfn", "hot"])
def test_template_of_a_type_is_valid(client: Client, kind: str) -> None:
    template = client.get("/resource_types/OS::Heat::TestResource/template", params={"template_type": kind})
    answer = client.ask("POST", "/validate", json={"template": template})
    assert answer.status == falcon.HTTP_OK, answer.text
    assert answer.json["Parameters"]


def test_language_has_versions_and_functions(client: Client) -> None:
    versions = client.get("/template_versions")["template_versions"]
    rocky = next(each for each in versions if each["version"] == "heat_template_version.2018-08-31")
    assert (rocky["type"], rocky["aliases"]) == ("hot", ["heat_template_version.rocky"])
    assert {each["type"] for each in versions} == {"hot", "cfn"}
    for each in (*versions, *({"version": alias} for alias in rocky["aliases"])):
        assert client.get(f"/template_versions/{each['version']}/functions")["template_functions"]
    path = f"/template_versions/{rocky['version']}/functions"
    both = client.get(path, params={"with_condition_func": "true"})["template_functions"]
    assert {"equals", "get_attr"} <= {each["functions"] for each in both}
    assert client.ask("GET", "/template_versions/rock/functions").status == falcon.HTTP_NOT_FOUND


def test_validation_declares_parameters_as_heat_does(client: Client) -> None:
    found = client.ask("POST", "/validate", json={"template": TEMPLATE, "parameters": {"length": 9}}).json
    assert found["Description"] == TEMPLATE["description"]
    assert found["Parameters"]["length"] == {
        "Type": "Number",
        "Description": "",
        "NoEcho": "false",
        "Label": "length",
        "Default": 8,
        "Value": "9",
        "MinValue": 4,
        "MaxValue": 64,
    }
    secret = found["Parameters"]["secret"]
    assert (secret["NoEcho"], secret["Default"], secret["Value"]) == ("true", "******", "******")


def test_validation_shows_nested_parameters(client: Client) -> None:
    inner = "heat_template_version: 2018-08-31\nparameters: {p: {type: json, default: {}}}"
    template = {"heat_template_version": "2018-08-31", "resources": {"outer": {"type": "inner.yaml"}}}
    body = {"template": template, "files": {"inner.yaml": inner}}
    found = client.ask("POST", "/validate", json=body, params={"show_nested": "true"}).json
    assert found["NestedParameters"]["outer"]["Parameters"]["p"]["Type"] == "Json"


def test_what_is_not_valid_is_a_bad_request(client: Client) -> None:
    template = {"heat_template_version": "2018-08-31", "resources": {"a": {"type": "OS::Nova::Serve"}}}
    answer = client.ask("POST", "/validate", json={"template": template})
    assert (answer.status, answer.json["error"]["type"]) == (falcon.HTTP_BAD_REQUEST, "HTTPBadRequest")
    assert "resources.a" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("pattern", "fits", "others"),
    [
        ("OS::Heat", ["OS::Heat::None"], ["AWS::OS::Heat"]),
        ("^OS::.*None$", ["OS::Heat::None"], ["OS::Heat::NoneAtAll"]),
        ("(a+)+$", ["(a+)+"], ["aaaa"]),
    ],
)
def test_pattern_of_a_name_is_what_it_looks_like(pattern: str, fits: list[str], others: list[str]) -> None:
    found = _pattern(pattern)
    assert found is not None
    assert all(found.match(each) for each in fits)
    assert not any(found.match(each) for each in others)


@pytest.mark.parametrize("pattern", ["x" * 201, ".*a.*b.*c.*d"])
def test_pattern_that_takes_long_is_refused(pattern: str) -> None:
    with pytest.raises(Refused):
        _pattern(pattern)
