"""A stack as a document, and a document as a stack."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.queries.stack_document import definition_in, document_of, read_stack_document
from orchestrator.store.stacks.stacks import ResourceRow, StackRow

TEMPLATE = """
# A comment.
heat_template_version: 2021-04-16
parameters: {p: {type: string}}
resources: {a: {type: Cloud::Object, properties: {value: {get_param: p}}}}
"""

STACK = StackRow(
    id="1",
    name="web",
    project="default",
    action="UPDATE",
    status="FAILED",
    reason="",
    traversal_id="t",
    template_id="d",
    parent_id=None,
    parent_resource=None,
    root_id="1",
    depth=0,
    completed_template_id=None,
    timeout_minutes=60,
    rollback=False,
    created_at=0.0,
    updated_at=0.0,
    deleted_at=None,
)


def row(name: str, number: int, **more: Any) -> ResourceRow:
    given: dict[str, Any] = {
        "id": f"row-{number}",
        "stack_id": "1",
        "name": name,
        "type": "Cloud::Object",
        "action": "CREATE",
        "status": "COMPLETE",
        "reason": "",
        "physical_id": f"physical-{number}",
        "reference_id": None,
        "properties": {},
        "definition_hash": None,
        "attributes": (),
        "requires": (),
        "replaced_by": None,
        "metadata": {"m": number},
        "metadata_version": 0,
        "metadata_hash": None,
        "data": {"d": number},
        "unhealthy": False,
        "template_id": "d",
        "lock_traversal": None,
        "created_at": float(number),
        "updated_at": float(number),
    }
    return ResourceRow(**{**given, **more})


def job(*environments: str, **more: Any) -> StackJob:
    sources = tuple(
        EnvironmentSource(file=f"{number}.yaml", source=text) for number, text in enumerate(environments)
    )
    return StackJob(name="web", template=TEMPLATE, template_file="web.yaml", environments=sources, **more)


def document(definition: StackJob, *rows: ResourceRow) -> dict[str, Any]:
    # What is written to a file is what comes back from it.
    made: dict[str, Any] = json.loads(json.dumps(document_of(STACK, definition, {STACK.id: rows}, Limits())))
    return made


def problems(act: Any) -> Mapping[str, str]:
    with pytest.raises(InvalidInput) as refused:
        act()
    return {problem.path: str(problem) for problem in refused.value.problems}


def test_a_document_has_everything_that_a_stack_is() -> None:
    made = document(job(files={"f": "text"}, parameters={"p": "secret"}), row("a", 1))
    assert made["name"] == "web"
    assert (made["id"], made["project"], made["action"], made["status"]) == (
        "1",
        "default",
        "UPDATE",
        "FAILED",
    )
    assert made["template"]["heat_template_version"] == "2021-04-16"
    assert made["template"]["resources"]["a"]["properties"] == {"value": {"get_param": "p"}}
    assert (made["files"], made["parameters"], made["environment"]) == ({"f": "text"}, {"p": "secret"}, {})
    assert made["resources"] == {
        "a": {
            "name": "a",
            "resource_id": "physical-1",
            "type": "Cloud::Object",
            "action": "CREATE",
            "status": "COMPLETE",
            "metadata": {"m": 1},
            "resource_data": {"d": 1},
        }
    }


@pytest.mark.parametrize("turned", [False, True])
def test_of_a_resource_that_is_being_replaced_the_object_in_force_is_told(*, turned: bool) -> None:
    old, new = row("a", 1, replaced_by="row-2"), row("a", 2, action="INIT", physical_id=None)
    rows = (new, old) if turned else (old, new)
    assert document(job(), *rows)["resources"]["a"]["resource_id"] == "physical-1"
    made = row("a", 2)
    rows = (made, old) if turned else (old, made)
    assert document(job(), *rows)["resources"]["a"]["resource_id"] == "physical-2"


@pytest.mark.parametrize(
    "environments",
    [(), ("parameters: {p: x}",), ("parameters: {p: x}", "", "resource_registry: {A: lib/b.yaml}")],
)
def test_a_document_gives_back_the_definition_that_it_was_made_of(environments: tuple[str, ...]) -> None:
    definition = job(*environments, files={"lib/b.yaml": "text"}, parameters={"p": "x"})
    again = definition_in(document(definition), "other", file="web.json")
    assert again.name == "other"
    assert (again.template_file, again.files, again.parameters) == ("web.yaml", definition.files, {"p": "x"})
    assert document(again) == document(definition)
    assert [each.file for each in again.environments] == [each.file for each in definition.environments]


def test_an_environment_as_heat_writes_it_is_read() -> None:
    heat = {"template": {"resources": {}}, "environment": {"parameters": {"p": 1}}, "resources": {}}
    (environment,) = definition_in(heat, "web", file="heat.json").environments
    assert json.loads(environment.source) == {"parameters": {"p": 1}}


def test_everything_that_is_wrong_with_a_definition_is_told_at_once() -> None:
    wrong = {
        "template": "text",
        "template_file": 1,
        "files": {"f": 2},
        "environment": [{}, "x"],
        "parameters": [],
        "resources": {},
    }
    told = problems(lambda: definition_in(wrong, "web", file="web.json"))
    assert sorted(told) == ["environment.1", "files.f", "parameters", "template", "template_file"]
    assert all("web.json" in sentence for sentence in told.values())


def test_a_document_without_a_template_says_what_to_do() -> None:
    told = problems(lambda: definition_in({"resources": {}}, "web", file="web.json"))
    assert "give the template with -t" in told["template"]


@pytest.mark.parametrize("text", ['{"resources": {"a": {}}}', "resources: {a: {}}"])
def test_a_document_is_json_or_yaml(text: str) -> None:
    assert read_stack_document(text, file="web", limits=Limits()) == {"resources": {"a": {}}}


@pytest.mark.parametrize("text", ["[]", "just text", "resources: []", "{}", "{", "[" * 100_000])
def test_what_is_no_document_is_refused_with_a_sentence(text: str) -> None:
    assert problems(lambda: read_stack_document(text, file="web.json", limits=Limits()))
