"""What is told of a template, and of a stack that is not there yet."""

import time
from typing import Any

import pytest

from hooks.errors import Refusal
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.config.settings import Settings
from orchestrator.engine.plan_changes import KNOWN_LATER
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.validation.report import validate_job
from orchestrator.views.stacks import ResourcePreview
from tests.unit.orchestrator.template.test_nested_templates import INNER
from tests.unit.orchestrator.validation.test_examiner import job

SETTINGS = Settings()

TEMPLATE = """\
heat_template_version: rocky
description: a site
parameter_groups: [{label: Sizes, description: how large, parameters: [size]}, {parameters: [code]}]
parameters:
  size: {type: number, label: Size, description: of it, constraints: [{range: {min: 1}}], tags: [t]}
  code: {type: string, hidden: true, default: s3cret, immutable: true}
conditions:
  large: {equals: [{get_param: size}, 9]}
  coded: {equals: [{get_param: code}, '']}
resources:
  word:
    type: OS::Heat::RandomString
    deletion_policy: retain
    properties: {length: {get_param: size}, salt: {get_param: code}}
  copy:
    type: OS::Heat::Value
    properties:
      value:
        of: {get_attr: [word, value]}
        code: {str_replace: {template: x-C, params: {C: {get_param: code}}}}
        size: {get_param: size}
  more: {type: OS::Heat::None, condition: large, depends_on: copy}
  old: {type: OS::Heat::None, external_id: '17'}
outputs:
  word: {value: {get_attr: [word, value]}}
  size: {value: {get_param: size}}
  code: {value: [{get_param: code}]}
  many: {value: {get_resource: copy}, condition: large}
"""


def test_a_template_is_described_without_values() -> None:
    view = validate_job(job(TEMPLATE), SETTINGS)
    assert (view.version, view.description) == ("2018-08-31", "a site")
    size, code = view.parameters
    assert size == {
        "name": "size",
        "type": "number",
        "label": "Size",
        "description": "of it",
        "default": None,
        "hidden": False,
        "immutable": False,
        "tags": ["t"],
        "constraints": ["must be at least 1"],
        "required": True,
        "value": None,
    }
    assert (code["default"], code["value"], code["required"], code["immutable"]) == (
        "******",
        "******",
        False,
        True,
    )
    assert view.parameter_groups == (
        {"label": "Sizes", "description": "how large", "parameters": ["size"]},
        {"label": "", "description": "", "parameters": ["code"]},
    )
    assert view.conditions == {"large": None, "coded": False}
    assert [name for name, _ in view.resources] == ["word", "copy", "more", "old"]
    assert view.disabled == ()
    assert view.outputs == ("word", "size", "code", "many")


def test_with_values_a_template_is_described_as_it_would_be() -> None:
    view = validate_job(job(TEMPLATE, parameters={"size": "3"}), SETTINGS)
    assert view.parameters[0]["value"] == 3
    assert view.conditions == {"large": False, "coded": False}
    assert view.disabled == ("more",)
    assert "s3cret" not in str(view.to_dict())


def test_a_preview_needs_every_value() -> None:
    with pytest.raises(InvalidInput, match="the parameter 'size' has no value"):
        preview_job(job(TEMPLATE), SETTINGS)


def test_a_preview_shows_what_a_create_would_make() -> None:
    view = preview_job(job(TEMPLATE, parameters={"size": 3}), SETTINGS)
    assert view.parameters == {"size": 3, "code": "******"}
    assert view.disabled == ("more",)
    word, copy, old = view.resources
    assert word == ResourcePreview(
        name="word",
        type="OS::Heat::RandomString",
        actual_type="OS::Heat::RandomString",
        action="CREATE",
        properties={"length": 3, "salt": "******"},
        requires=(),
        deletion_policy="Retain",
    )
    assert copy.properties == {"value": {"of": KNOWN_LATER, "code": "******", "size": 3}}
    assert copy.requires == ("word",)
    assert old.action == "ADOPT"
    assert view.outputs == {"word": KNOWN_LATER, "size": 3, "code": ["******"], "many": None}
    assert "s3cret" not in str(view.to_dict())


def test_a_preview_shows_what_templates_in_templates_would_make() -> None:
    outer = "heat_template_version: wallaby\nresources: {a: {type: My::Type, properties: {size: 5}}}"
    view = preview_job(
        job(
            outer,
            files={"inner.yaml": INNER},
            environments=("resource_registry: {My::Type: inner.yaml}",),
        ),
        SETTINGS,
    )
    (a,) = view.resources
    assert (a.type, a.actual_type) == ("My::Type", "inner.yaml")
    (word,) = a.resources
    assert (word.name, word.properties) == ("word", {"length": 5})


def test_an_output_that_cannot_be_told_is_no_mistake_of_the_stack() -> None:
    template = """\
heat_template_version: wallaby
parameters: {n: {type: json, default: [1]}}
outputs: {o: {value: {list_join: [',', {get_param: n}]}}}
"""
    view = preview_job(job(template), SETTINGS)
    assert view.outputs["o"].startswith("(error: expected text")


def test_a_constraint_that_is_not_installed_is_left_out_with_a_warning() -> None:
    template = """\
heat_template_version: 2021-04-16
parameters:
  when: {type: string, default: x, constraints: [{custom_constraint: cron_expresion}]}
  where: {type: string, default: UTC, constraints: [{custom_constraint: timezone}]}
resources: {a: {type: OS::Heat::None}}
"""
    (warning,) = validate_job(job(template), Settings()).warnings
    assert (warning.path, warning.position and warning.position.line) == ("parameters.when", 3)
    told = "there is no custom constraint 'cron_expresion' here; did you mean 'cron_expression'?"
    assert warning.message == f"it was not checked: {told}"


class Says(LifecyclePlugin):
    """Says something of what it is only shown."""

    name = "says"

    def do_preview(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations:
        assert (context.operation_id, current_stack, action) == ("", None, "CREATE")
        return Annotations(
            warnings=[f"{len(stack.resources)} resources"],
            stack={"cost": 3},
            resources={name: {"node": "n1"} for name in stack.resources},
        )


class Refuses(LifecyclePlugin):
    """Refuses what it is only shown."""

    name = "refuses"

    def do_preview(self, *_: object) -> None:
        raise Refusal("too dear")


def test_a_preview_tells_what_lifecycle_plugins_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.placement.joining.lifecycle_plugins", lambda _: (Says(),))
    source = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}"
    wanted = StackJob(name="web", template=source)
    view = preview_job(wanted, Settings())
    assert [each.message for each in view.warnings] == ["lifecycle plugin 'says': 1 resources"]
    assert view.annotations == {"says": {"": {"cost": 3}, "a": {"node": "n1"}}}
    monkeypatch.setattr("orchestrator.placement.joining.lifecycle_plugins", lambda _: (Says(), Refuses()))
    with pytest.raises(Conflict, match="too dear"):
        preview_job(wanted, Settings())


def test_the_time_that_lifecycle_plugins_take_is_no_time_of_evaluating(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(LifecyclePlugin):
        def do_preview(self, *_: object) -> None:
            late = time.monotonic() + 1000
            monkeypatch.setattr("orchestrator.sandbox.budget.time.thread_time", lambda: late)

    monkeypatch.setattr("orchestrator.placement.joining.lifecycle_plugins", lambda _: (Slow(),))
    source = "{heat_template_version: 2021-04-16, outputs: {o: {value: {list_join: ['-', [a, b]]}}}}"
    assert preview_job(StackJob(name="web", template=source), Settings()).outputs == {"o": "a-b"}


# -- nested templates --------------------------------------------------------------------------------------------

ROOT = "heat_template_version: wallaby\nresources: {m: {type: middle.yaml}}"
GROUPED = """\
heat_template_version: wallaby
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: middle.yaml}}}"""
MIDDLE = """\
heat_template_version: wallaby
parameters: {name: {type: string}, size: {type: number}}
conditions: {large: {equals: [{get_param: size}, 9]}}
resources:
  a: {type: inner.yaml, properties: {size: {get_param: size}}}
  b: {type: inner.yaml, condition: large}
  c: {type: inner.yaml, properties: {tags: [x]}}"""


@pytest.mark.parametrize("root", [ROOT, GROUPED])
def test_parameters_of_nested_templates_may_have_no_value_either(root: str) -> None:
    files = {"middle.yaml": MIDDLE, "inner.yaml": INNER}
    assert validate_job(job(root, files=files), SETTINGS).version == "2021-04-16"
    environment = "parameter_defaults: {name: x, size: 3}"
    assert validate_job(job(root, files=files, environments=(environment,)), SETTINGS)
    # A create needs them: parameter_defaults may give them, too.
    with pytest.raises(InvalidInput) as caught:
        preview_job(job(root, files=files), SETTINGS)
    messages = [problem.message for problem in caught.value.problems]
    assert any("a value of 'name' is required by middle.yaml" in each for each in messages)
    assert any("a value of 'size' is required by inner.yaml" in each for each in messages)
    with pytest.raises(InvalidInput) as caught:
        preview_job(job(root, files=files, environments=("parameter_defaults: {name: x}",)), SETTINGS)
    assert all("size" in problem.message for problem in caught.value.problems)
    preview_job(job(root, files=files, environments=(environment,)), SETTINGS)


def test_a_wrong_value_for_a_nested_template_is_still_refused() -> None:
    files = {"middle.yaml": MIDDLE.replace("{tags: [x]}", "{size: 70}"), "inner.yaml": INNER}
    with pytest.raises(InvalidInput) as caught:
        validate_job(job(ROOT, files=files), SETTINGS)
    (problem,) = caught.value.problems
    assert "70 is out of range" in problem.message


@pytest.mark.parametrize("missing", ["", "properties: {name: {get_file: nope}, size: {str_split: 7}}"])
@pytest.mark.parametrize("examine", [validate_job, preview_job])
def test_mistakes_of_all_levels_are_found_in_one_run(examine: Any, missing: str) -> None:
    files = {
        "middle.yaml": f"{MIDDLE}\n  wrong: {{type: OS::Heat::Nonee}}",
        "inner.yaml": INNER.replace("RandomString", "RandomSting"),
    }
    root = ROOT.replace("type: middle.yaml", f"type: middle.yaml, {missing}") + "\noutputs: {o: {vale: 1}}"
    with pytest.raises(InvalidInput) as caught:
        examine(job(root, files=files), SETTINGS)
    found = {problem.position.file for problem in caught.value.problems if problem.position}
    assert found == {"t.yaml", "middle.yaml", "inner.yaml"}
    messages = " ".join(problem.message for problem in caught.value.problems)
    for word in ("RandomSting", "Nonee", "vale"):
        assert word in messages
