"""A draft of a definition: read, checked against the stack, and completed from the present definition."""

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.drafts import (
    Draft,
    check_draft,
    creation,
    judged,
    objects_in,
    plan_of,
    read_draft,
    update,
)
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.template.masking import shown_source
from orchestrator.views.stacks import (
    PartChange,
    PropertyChange,
    ResourcePlan,
    ResourcePreview,
    StackPreview,
    UpdatePlan,
)
from tests.unit.orchestrator.dashboard.test_orders import STACK

COMPLETE = replace(STACK, status="COMPLETE")
TEMPLATE = """
heat_template_version: 2021-04-16
parameter_groups: [{label: Size, description: How large, parameters: [count]}]
parameters:
  count: {type: number, default: 2, label: Number, constraints: [{range: {min: 1, max: 9}}]}
  kind: {type: string, default: a, constraints: [{allowed_values: [a, b]}]}
  password: {type: string, hidden: true, default: quince}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: kind}}}
"""
PRESENT = StackJob(
    name="web",
    template=TEMPLATE,
    template_file="web.yaml",
    environments=(EnvironmentSource(file="e.yaml", source="parameters: {count: 3}"),),
    parameters={"kind": "b", "password": "pear"},
    rollback=True,
)
DRAFT = Draft(name="web", template=TEMPLATE, stack_id="s1", traversal_id="t1")


def problems(sent: Any, *, updates: bool = False) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        read_draft(json.dumps(sent).encode(), updates=updates)
    return [str(each) for each in refused.value.problems]


def test_a_draft_has_only_fields_of_its_kinds() -> None:
    assert problems({}) == ["template: is needed"]
    assert problems([]) == ["expected is a JSON object, and found is a list"]
    wrong = {"template": 1, "files": {"a": 2}, "parameters": [], "environment": None, "stack_id": "s"}
    found = problems(wrong)
    assert found[0].startswith("stack_id: there is no such field")
    assert [each.partition(":")[0] for each in found[1:]] == [
        *("template", "files", "parameters", "environment"),
    ]
    assert problems({"template": "t", "parameters": {"a": "\x00"}})[0].startswith("parameters: it has a char")
    needed = problems({"template": "t", "cleared": "x"}, updates=True)
    assert needed[:2] == ["stack_id: is needed", "traversal_id: is needed"]
    assert needed[2].startswith("cleared: expected is a list of names")
    options = {"template": "t", "tags": ["a,b"], "timeout_minutes": True, "rollback": 1}
    assert [each.partition(":")[0] for each in problems(options)] == ["tags", "timeout_minutes", "rollback"]
    assert problems({"template": "t", "removed_files": []})[0].startswith("removed_files: there is no such")


def test_a_draft_for_a_stack_that_moved_on_is_refused() -> None:
    check_draft(DRAFT, COMPLETE)
    check_draft(DRAFT, STACK)
    with pytest.raises(Conflict, match="another operation meanwhile"):
        check_draft(replace(DRAFT, traversal_id="t0"), COMPLETE)
    with pytest.raises(Conflict, match="another stack is called"):
        check_draft(replace(DRAFT, stack_id="s0"), COMPLETE)
    with pytest.raises(Conflict, match="is being deleted"):
        check_draft(DRAFT, replace(STACK, action="DELETE", status="IN_PROGRESS"))
    with pytest.raises(Conflict, match="is deleted"):
        check_draft(DRAFT, replace(COMPLETE, deleted_at=1.0))
    with pytest.raises(Conflict, match="part of another stack"):
        check_draft(DRAFT, replace(COMPLETE, parent_id="s7"))
    with pytest.raises(InvalidInput, match="expected is the stack's name"):
        check_draft(replace(DRAFT, name="other"), COMPLETE)


def test_an_update_keeps_what_the_page_did_not_change(settings: Settings) -> None:
    shown = shown_source(TEMPLATE, with_defaults=True)
    assert "quince" not in shown
    job = update(replace(DRAFT, template=shown, parameters={"count": "4"}), PRESENT, settings)
    # The masked default is the present one; values that were not sent, hidden ones too, stay.
    assert (job.template, job.name, job.rollback) == (TEMPLATE, "s1", True)
    assert job.parameters == {"kind": "b", "password": "pear", "count": "4"}
    assert job.environments == PRESENT.environments
    cleared = update(replace(DRAFT, cleared=("kind",)), PRESENT, settings)
    assert cleared.parameters == {"password": "pear"}


def test_an_update_changes_the_options_and_removes_what_the_draft_says(settings: Settings) -> None:
    template = f"{TEMPLATE}outputs: {{o: {{value: {{get_file: dir/a.txt}}}}}}\n"
    present = replace(PRESENT, template=template, files={"dir/a.txt": "a"}, timeout_minutes=7)
    body = {"template": template, "name": "web", "stack_id": "s1", "traversal_id": "t1"}
    more = {"tags": ["x"], "timeout_minutes": 5, "rollback": False, "removed_environments": ["e.yaml"]}
    job = update(read_draft(json.dumps(body | more).encode(), updates=True), present, settings)
    assert (job.tags, job.timeout_minutes, job.rollback, job.environments) == (("x",), 5, False, ())
    assert job.files == {"dir/a.txt": "a"}
    kept = update(read_draft(json.dumps(body).encode(), updates=True), present, settings)
    assert (kept.tags, kept.timeout_minutes, kept.rollback) == (None, 7, True)
    reset = read_draft(json.dumps(body | {"default_timeout": True}).encode(), updates=True)
    assert update(reset, present, settings).timeout_minutes is None
    both = {
        "template": "t",
        "stack_id": "s",
        "traversal_id": "t",
        "default_timeout": True,
        "timeout_minutes": 5,
    }
    assert problems(both, updates=True) == [
        "default_timeout: the draft has a time-out: leave timeout_minutes out"
    ]
    assert problems({"template": "t", "default_timeout": True})[0].startswith("default_timeout: there is no")
    removed = read_draft(json.dumps(body | {"removed_files": ["dir/a.txt"]}).encode(), updates=True)
    assert update(removed, present, settings).files == {}
    with pytest.raises(InvalidInput, match="removed_files: the stack has no 'b'"):
        update(replace(removed, removed_files=("b",)), present, settings)


def test_a_masked_default_never_becomes_the_default(settings: Settings) -> None:
    changed = shown_source(TEMPLATE, with_defaults=True).replace("default: a,", "default: b,")
    with pytest.raises(InvalidInput) as refused:
        update(replace(DRAFT, template=changed), PRESENT, settings)
    (problem,) = refused.value.problems
    assert "write it anew" in problem.message
    assert problem.position is not None
    assert (problem.position.file, problem.position.line) == ("web.yaml", 7)


def test_the_form_gets_parameters_with_their_rules(settings: Settings) -> None:
    found = judged(creation(Draft(template=TEMPLATE), settings), settings)
    count, kind, password = found["parameters"]
    assert (count["label"], count["rules"]) == ("Number", [{"range": {"min": 1, "max": 9}}])
    assert kind["rules"] == [{"allowed_values": ["a", "b"]}]
    assert password["hidden"]
    assert "quince" not in json.dumps(found)
    assert found["groups"] == [{"label": "Size", "description": "How large", "parameters": ["count"]}]


@pytest.mark.parametrize("address", ["file:///etc/hostname", "/etc/hostname", "http://127.0.0.1:1/x"])
@pytest.mark.parametrize(
    "use", ["resources: {one: {type: '%s.yaml'}}", "outputs: {o: {value: {get_file: '%s'}}}"]
)
def test_nothing_outside_the_draft_is_read(address: str, use: str, settings: Settings) -> None:
    template = f"heat_template_version: 2021-04-16\n{use % address}\n"
    with pytest.raises(InvalidInput) as refused:
        judged(creation(Draft(template=template), settings), settings)
    assert address in str(refused.value)


def test_the_files_of_a_draft_are_what_it_names(settings: Settings) -> None:
    inner = "heat_template_version: 2021-04-16\nresources: {in: {type: OS::Heat::None}}\n"
    template = "heat_template_version: 2021-04-16\nresources: {one: {type: inner.yaml}}\n"
    draft = Draft(template=template, files={"inner.yaml": inner})
    assert judged(creation(draft, settings), settings)["parameters"] == []


def test_a_plan_has_a_row_for_each_resource_and_part() -> None:
    part = PartChange(path="[0].port", before="p", after="q")
    changes = (
        PropertyChange(
            name="networks", before=[], after=[], meaning="REPLACE", is_certain=True, parts=(part,)
        ),
        PropertyChange(name="value", before="a", after="b", meaning="UPDATE", is_certain=False),
    )
    resources = (
        ResourcePlan(name="one", type="T", action="REPLACE", reason="networks", changes=changes),
        ResourcePlan(name="two", type="T", action="DELETE"),
    )
    plan = plan_of(UpdatePlan(name="web", state="CREATE_COMPLETE", parameters={}, resources=resources))
    assert plan["counts"] == {"REPLACE": 1, "DELETE": 1}
    assert [(each["path"], each["meaning"]) for each in plan["rows"][0]["changes"]] == [
        ("networks[0].port", "REPLACE"),
        ("value", "UPDATE"),
    ]


def test_a_plan_of_a_new_stack_has_nested_resources() -> None:
    def made(name: str, *inner: ResourcePreview) -> ResourcePreview:
        return ResourcePreview(
            name=name,
            type="T",
            actual_type="T",
            action="CREATE",
            properties={"value": 1, "other": None},
            requires=(),
            deletion_policy="Delete",
            resources=inner,
        )

    preview = StackPreview(
        name="web", description="", parameters={}, resources=(made("a", made("b")),), disabled=(), outputs={}
    )
    plan = plan_of(preview)
    assert plan["counts"] == {"CREATE": 2}
    assert [(each["name"], len(each["changes"])) for each in plan["rows"]] == [("a", 1), ("a/b", 1)]


def test_objects_are_lines_with_a_resource_and_an_id() -> None:
    assert objects_in(" page = /srv/a=b.html \n\nlink=x y\npage=/srv/a=b.html\n") == {
        "page": "/srv/a=b.html",
        "link": "x y",
    }
    assert objects_in("") == {}
    with pytest.raises(InvalidInput) as refused:
        objects_in("page\n=x\nlink=\ndisk=1\ndisk=2\n")
    assert [(each.path, each.message) for each in refused.value.problems] == [
        ("objects", "line 1: expected RESOURCE=ID, found 'page'"),
        ("objects", "line 2: expected RESOURCE=ID, found '=x'"),
        ("objects", "line 3: expected RESOURCE=ID, found 'link='"),
        ("objects", "line 5: the resource 'disk' has another object already"),
    ]


def test_objects_are_of_an_import_alone() -> None:
    def sent(**more: object) -> bytes:
        return json.dumps({"template": "x", "stack_id": "i", "traversal_id": "t", **more}).encode()

    assert read_draft(sent(objects="a=b"), updates=True, imports=True).objects == "a=b"
    for imports, more, problem in (
        (False, {"objects": "a=b"}, "objects"),
        (True, {}, "objects: is needed"),
        (True, {"objects": ["a=b"]}, "objects: expected is a text"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            read_draft(sent(**more), updates=True, imports=imports)
