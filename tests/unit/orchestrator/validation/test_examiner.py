"""All that is wrong with a job is told in one go, each mistake once and at its place."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.preparation import desired_of, prepare
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.validation.examiner import Examined
from orchestrator.validation.job import examine_job

SETTINGS = Settings()
TYPES = ResourceTypes.load()


def job(
    template: str,
    *,
    files: Mapping[str, str] | None = None,
    environments: tuple[str, ...] = (),
    parameters: Mapping[str, Any] | None = None,
) -> StackJob:
    return StackJob(
        name="s",
        template=template,
        template_file="t.yaml",
        files=files or {},
        environments=tuple(
            EnvironmentSource(file=f"e{number}.yaml", source=source)
            for number, source in enumerate(environments, 1)
        ),
        parameters=parameters or {},
    )


def examined(
    template: str, *, values_required: bool = True, settings: Settings = SETTINGS, **more: Any
) -> Examined:
    return examine_job(job(template, **more), TYPES, settings, offline=True, values_required=values_required)


def problems_of(template: str, **more: Any) -> list[Problem]:
    try:
        examined(template, **more)
    except InvalidInput as error:
        return list(error.problems)
    return []


MISTAKES = """\
heat_template_version: wallaby
parameters:
  size: {type: number, constraints: [{range: {min: 1, max: 3}}], default: 7}
  name: {type: string}
  code: {type: text}
resources:
  web:
    type: OS::Heat::TestResource
    properties:
      value: {get_param: nmae}
      wait_sec: 3
  db:
    type: OS::Heat::RandomSting
    depends_on: [wbe]
  app:
    type: OS::Heat::RandomString
    properties:
      length: many
      salt: {list_join: [',', 7]}
  late:
    type: OS::Heat::Value
    condition: nobody
    properties: {value: {get_attr: [app, valeu]}}
outputs:
  o: {valeu: 1}
  p: {value: {get_file: x.sh}}
"""


def test_every_mistake_is_told_once_in_the_order_of_the_text_with_its_place() -> None:
    found = problems_of(
        MISTAKES, environments=("parameters: {nam: x}\nparamters: {}\n",), parameters={"size": 9, "code": "x"}
    )
    assert [(str(problem.position or ""), problem.path) for problem in found] == [
        ("e1.yaml:1:14", "parameters.nam"),
        ("e1.yaml:2:1", "paramters"),
        ("t.yaml:3:66", "parameters.size.default"),
        ("t.yaml:5:10", "parameters.code.type"),
        ("t.yaml:10:15", "resources.web.properties.value.get_param"),
        ("t.yaml:11:7", "resources.web.properties.wait_sec"),
        ("t.yaml:13:5", "resources.db.type"),
        ("t.yaml:14:18", "resources.db.depends_on[0]"),
        ("t.yaml:18:7", "resources.app.properties.length"),
        ("t.yaml:19:31", "resources.app.properties.salt.list_join[1]"),
        ("t.yaml:22:5", "resources.late.condition"),
        ("t.yaml:23:26", "resources.late.properties.value.get_attr"),
        ("t.yaml:25:3", "outputs.o"),
        ("t.yaml:25:7", "outputs.o.valeu"),
        ("t.yaml:26:15", "outputs.p.value.get_file"),
    ]
    assert {problem.hint for problem in found} >= {
        "did you mean 'name'?",
        "did you mean 'parameters'?",
        "did you mean 'wait_secs'?",
        "did you mean 'OS::Heat::RandomString'?",
        "did you mean 'web'?",
        "did you mean 'value'?",
    }


VALUES = """\
heat_template_version: wallaby
parameters: {env: {type: string}, n: {type: number, default: 1}}
conditions: {is_prod: {equals: [{get_param: env}, prod]}}
resources:
  a: {type: OS::Heat::RandomString, condition: is_prod}
  b: {type: OS::Heat::RandomString, properties: {length: {if: [is_prod, 7, 8]}}}
  c: {type: OS::Heat::Value, properties: {value: {get_resource: a}}, depends_on: a}
"""


def test_values_may_be_missing_where_only_the_template_is_checked() -> None:
    (problem,) = problems_of(VALUES)
    assert problem.message == "the parameter 'env' has no value and no default"
    assert str(problem.position) == "t.yaml:2:14"
    found = examined(VALUES, values_required=False)
    assert list(found.template.resources) == ["a", "b", "c"]
    assert found.template.verdicts() == {"is_prod": None}


def test_a_missing_value_is_not_told_where_an_environment_could_not_be_read() -> None:
    found = problems_of(VALUES, environments=("parameters: [",))
    assert [problem.position.file for problem in found if problem.position] == ["e1.yaml"]


@pytest.mark.parametrize(("env", "names"), [("prod", ["a", "b", "c"]), ("dev", ["b", "c"])])
def test_conditions_follow_the_values(env: str, names: list[str]) -> None:
    found = problems_of(VALUES, parameters={"env": env})
    assert bool(found) == (env == "dev")
    if env == "dev":
        (problem,) = found
        assert problem.path == "resources.c.properties.value.get_resource"
        assert "under its condition" in problem.message
    else:
        assert list(examined(VALUES, parameters={"env": env}).template.resources) == names


def test_a_circle_that_a_condition_breaks_is_none() -> None:
    body = VALUES + "  d: {type: OS::Heat::None, depends_on: [{IF}]}\n"
    looped = body.replace("[{IF}]", "e") + "  e: {type: OS::Heat::None, condition: is_prod, depends_on: d}\n"
    assert "other" in str(
        problems_of(looped.replace("{get_resource: a}", "x"), parameters={"env": "prod"})[0]
    )
    assert problems_of(looped.replace("{get_resource: a}", "x"), parameters={"env": "dev"}) == []


def test_a_resource_that_exists_already_is_not_asked_about_its_properties() -> None:
    template = (
        "heat_template_version: newton\nresources: {a: {type: OS::Heat::RandomString, external_id: x%s}}"
    )
    assert problems_of(template % ", properties: {length: many, what: 1}") == []
    (problem,) = problems_of(template.replace("RandomString", "RandomSting") % "")
    assert "no resource type" in problem.message


def test_an_update_policy_needs_a_type_that_has_one() -> None:
    template = (
        "heat_template_version: newton\nresources: {a: {type: OS::Heat::None, update_policy: {batch: 1}}}"
    )
    (problem,) = problems_of(template)
    assert problem.path == "resources.a.update_policy"
    assert "has no update policy" in problem.message


@pytest.mark.parametrize("asked", ["[a]", "[a, show]", "[a, show, value]", "[a, value]"])
def test_every_resource_tells_all_its_attributes(asked: str) -> None:
    resources = "resources: {a: {type: OS::Heat::RandomString}}"
    template = f"heat_template_version: wallaby\n{resources}\noutputs: {{o: {{value: %s}}}}"
    assert problems_of(template % f"{{get_attr: {asked}}}") == []


def test_too_many_files_are_refused() -> None:
    files = {str(number): "" for number in range(3)}
    template = "heat_template_version: wallaby"
    assert problems_of(template, files=files, settings=Settings(max_template_files=3)) == []
    few = Settings(max_template_files=2)
    for more in ({"files": files}, {"environments": ("", "", "")}):
        (problem,) = problems_of(template, settings=few, **more)
        assert "max_template_files" in problem.hint


def test_encrypted_names_hide_what_the_template_shows() -> None:
    template = (
        "heat_template_version: wallaby\nparameters: {p: {type: string, constraints: [{length: {max: 1}}]}}"
    )
    environment = "encrypted_param_names: [p]\nparameters: {p: x}"
    assert examined(template, environments=(environment,)).parameters.shown() == {"p": "******"}
    template = template.replace("length: {max: 1}", "allowed_values: [y]")
    (problem,) = problems_of(template, environments=(environment,))
    assert "x" not in problem.message.split()[0]
    assert "'x'" not in str(problem)


@pytest.mark.parametrize("hooks", ["pre-create", "[post-delete, pre-update]"])
def test_hooks_stand_with_what_is_wished_of_each_resource_that_they_match(hooks: str) -> None:
    environment = f"resource_registry: {{resources: {{'a*': {{hooks: {hooks}}}}}}}"
    template = (
        "heat_template_version: wallaby\nresources: {ab: {type: OS::Heat::None}, b: {type: OS::Heat::None}}"
    )
    assert problems_of(template, environments=(environment,)) == []
    desired_resources = {
        desired.name: desired
        for desired in desired_of(prepare(job(template, environments=(environment,)), TYPES, SETTINGS))
    }
    assert desired_resources["ab"].fragment["hooks"] == sorted(hooks.strip("[]").split(", "))
    assert "hooks" not in desired_resources["b"].fragment


def test_hooks_that_are_none_are_found_with_their_place_and_the_nearest_name() -> None:
    environment = "resource_registry:\n  resources:\n    a: {hooks: [pre-create, post-crate]}\n"
    template = "heat_template_version: wallaby\nresources: {a: {type: OS::Heat::None}}"
    (problem,) = problems_of(template, environments=(environment,))
    assert problem.position is not None
    assert (problem.position.line, problem.position.column) == (3, 29)
    assert problem.path == "resource_registry.resources.a.hooks[1]"
    assert problem.message.endswith("found 'post-crate'")
    assert problem.hint == "did you mean 'post-create'?"


WORDS = st.sampled_from(
    ["a", "b", "nobody", "is_prod", "env", "n", "value", "OS::Heat::None", "7", "", "true"]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "get_param",
                    "get_resource",
                    "get_attr",
                    "if",
                    "equals",
                    "not",
                    "list_join",
                    "str_replace",
                    "repeat",
                    "x",
                ]
            ),
            inner,
            max_size=2,
        )
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["OS::Heat::None", "OS::Heat::RandomString", "X", "x.yaml"]) | VALUE,
                "properties": VALUE,
                "metadata": VALUE,
                "condition": VALUE,
                "depends_on": VALUE,
                "deletion_policy": VALUE,
                "update_policy": VALUE,
                "external_id": VALUE,
            },
        )
        | VALUE,
        max_size=3,
    ),
    st.dictionaries(st.sampled_from(["is_prod", "other"]), VALUE, max_size=2),
    VALUE,
    st.none() | st.sampled_from(["prod", 7, "dev"]),
)
def test_nothing_but_problems_comes_of_any_template(
    resources: dict[str, Any], conditions: dict[str, Any], output: Any, env: Any
) -> None:
    template = {
        "heat_template_version": "wallaby",
        "parameters": {"env": {"type": "string"}, "n": {"type": "number", "default": 1}},
        "conditions": conditions,
        "resources": resources,
        "outputs": {"o": {"value": output}},
    }
    files = {"x.yaml": "heat_template_version: wallaby\nparameters: {x: {type: json}}"}
    found = problems_of(
        json.dumps(template), files=files, parameters={"env": env} if env else {}, values_required=False
    )
    assert len(found) == len(set(found))
    for problem in found:
        assert problem.message
        assert problem.position is not None or problem.path.startswith("parameters.")
