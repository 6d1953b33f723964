"""Templates as resource types: what they are given, what they tell, and how far they may go."""

from typing import Any

import pytest

from orchestrator.config.settings import Settings
from tests.unit.orchestrator.validation.test_examiner import examined, problems_of

INNER = """\
heat_template_version: wallaby
parameters:
  size: {type: number, constraints: [{range: {min: 1, max: 9}}]}
  tags: {type: comma_delimited_list, default: ''}
  about: {type: json, default: {}}
resources:
  word: {type: OS::Heat::RandomString, properties: {length: {get_param: size}}}
outputs:
  value: {value: {get_attr: [word, value]}}
"""
OUTER = """\
heat_template_version: wallaby
parameters: {size: {type: number, default: 7}}
resources:
  a: {type: inner.yaml, properties: {size: {get_param: size}, tags: [x, y], about: {k: 1}}}
  b: {type: OS::Heat::RandomString, properties: {length: {get_attr: [a, value]}}}
outputs: {o: {value: {get_attr: [a, value]}}, p: {value: {get_attr: [a, resource.word, value]}}}
"""


def test_a_template_is_a_type_whose_properties_are_its_parameters() -> None:
    found = examined(OUTER, files={"inner.yaml": INNER})
    assert found.types == {"a": "inner.yaml", "b": "OS::Heat::RandomString"}
    inner = found.nested["a"]
    values = inner.parameters.values
    assert (values["size"], values["tags"], values["about"]) == (7, ["x", "y"], {"k": 1})
    assert inner.template.resources["word"].resolve_properties(inner.blank) == {"length": 7}


@pytest.mark.parametrize(
    ("change", "to", "place", "message"),
    [
        ("size: {get_param: size}", "size: 10", "t.yaml:4:38", "10 is out of range"),
        ("size: {get_param: size}", "size: many", "t.yaml:4:38", "expected a number"),
        ("size: {get_param: size}, ", "", "t.yaml:4:25", "a value of 'size' is required by inner.yaml"),
        ("tags:", "tag:", "t.yaml:4:63", "declares no parameter 'tag'"),
        ("[a, value]}}}\no", "[a, valeu]}}}\no", "t.yaml:5:59", "has no attribute 'valeu'"),
        ("get_attr: [a, value]}}, p", "get_attr: [a, valeu]}}, p", "t.yaml:6:23", "has no attribute 'valeu'"),
    ],
)
def test_what_a_template_is_given_and_asked_is_checked_where_it_stands(
    change: str, to: str, place: str, message: str
) -> None:
    assert change in OUTER
    (problem,) = problems_of(OUTER.replace(change, to), files={"inner.yaml": INNER})
    assert str(problem.position) == place
    assert message in problem.message


def test_mistakes_inside_a_template_are_told_once_at_their_place_in_it() -> None:
    wrong = INNER.replace("RandomString", "RandomSting")
    two = OUTER + "  # used twice\n"
    two = two.replace("outputs:", "  c: {type: inner.yaml, properties: {size: 3}}\noutputs:")
    (problem,) = problems_of(two, files={"inner.yaml": wrong})
    assert str(problem.position) == "inner.yaml:7:10"
    assert "RandomSting" in problem.message


def test_a_secret_that_is_handed_down_stays_one() -> None:
    outer = OUTER.replace("{type: number, default: 7}", "{type: number, default: 70, hidden: true}")
    (problem,) = problems_of(outer, files={"inner.yaml": INNER})
    assert "70" not in str(problem)
    assert "must be from 1 to 9" in problem.message
    found = examined(outer.replace("70", "5"), files={"inner.yaml": INNER})
    assert found.nested["a"].parameters.shown()["size"] == "******"


def test_values_that_are_known_later_are_known_later_inside() -> None:
    outer = OUTER.replace("size: {get_param: size}", "size: {get_attr: [c, value]}").replace(
        "outputs:", "  c: {type: OS::Heat::RandomString}\noutputs:"
    )
    assert problems_of(outer, files={"inner.yaml": INNER}) == []


def test_files_are_relative_to_the_file_that_names_them() -> None:
    files = {
        "lib/middle.yaml": "heat_template_version: wallaby\nresources: {m: {type: deep/inner.yaml}}",
        "lib/deep/inner.yaml": """\
heat_template_version: wallaby
resources: {i: {type: OS::Heat::Value, properties: {value: {get_file: ../x.sh}}}}""",
        "lib/x.sh": "content",
    }
    outer = "heat_template_version: wallaby\nresources: {o: {type: lib/middle.yaml}}"
    inner = examined(outer, files=files).nested["o"].nested["m"]
    assert inner.template.resources["i"].resolve_properties(inner.blank) == {"value": "content"}
    (problem,) = problems_of(
        outer, files={**files, "lib/deep/inner.yaml": files["lib/deep/inner.yaml"] + "x"}
    )
    assert problem.position is not None
    assert problem.position.file == "lib/deep/inner.yaml"
    del files["lib/deep/inner.yaml"]
    (problem,) = problems_of(outer, files=files)
    assert problem.message == "no file 'lib/deep/inner.yaml' came with the template"
    assert str(problem.position) == "lib/middle.yaml:2:17"


def test_an_environment_maps_types_to_templates_relative_to_itself() -> None:
    outer = OUTER.replace("inner.yaml", "My::Word")
    environment = "resource_registry: {'My::*': lib/inner.yaml}\nparameter_defaults: {tags: 'u,v'}"
    found = examined(
        outer.replace(", tags: [x, y]", ""), files={"lib/inner.yaml": INNER}, environments=(environment,)
    )
    assert found.types["a"] == "lib/inner.yaml"
    assert found.nested["a"].parameters.values["tags"] == ["u", "v"]


def test_a_template_may_use_the_type_that_it_stands_in_for() -> None:
    size = "size: {type: number, constraints: [{range: {min: 1, max: 9}}]}"
    facade = INNER.replace(size, "length: {type: number, default: 3}").replace(
        "get_param: size", "get_param: length"
    )
    outer = "heat_template_version: wallaby\nresources: {a: {type: OS::Heat::RandomString}}"
    environment = "resource_registry: {'OS::Heat::RandomString': inner.yaml}"
    found = examined(outer, files={"inner.yaml": facade}, environments=(environment,))
    assert found.types == {"a": "inner.yaml"}
    assert found.nested["a"].types == {"word": "OS::Heat::RandomString"}


@pytest.mark.parametrize(
    ("inner", "messages"),
    [
        (
            "parameters: {length: {type: json, default: {}}}\noutputs: {value: {value: 1}}",
            ["'length' is of the type json"],
        ),
        (
            "parameters: {what: {type: string}}\noutputs: {value: {value: 1}}",
            ["no property 'what'", "a value of 'what'"],
        ),
        ("description: x", ["it has no output 'value'"]),
    ],
)
def test_a_template_that_cannot_stand_in_for_a_type_is_refused(inner: str, messages: list[str]) -> None:
    outer = "heat_template_version: wallaby\nresources: {a: {type: OS::Heat::RandomString}}"
    found = problems_of(
        outer,
        files={"inner.yaml": f"heat_template_version: wallaby\n{inner}"},
        environments=("resource_registry: {'OS::Heat::RandomString': inner.yaml}",),
    )
    assert len(found) == len(messages)
    assert all(any(message in problem.message for problem in found) for message in messages)


def test_a_template_that_needs_what_the_type_does_not_take_lacks_required_properties() -> None:
    properties = "{handle: x, timeout: 1}"
    resources = f"resources: {{a: {{type: OS::Heat::WaitCondition, properties: {properties}}}}}"
    outer = f"heat_template_version: wallaby\n{resources}"
    found = problems_of(
        outer,
        files={"inner.yaml": "heat_template_version: wallaby\noutputs: {data: {value: 1}}"},
        environments=("resource_registry: {'OS::Heat::WaitCondition': inner.yaml}",),
    )
    assert {"it has no parameter 'handle'", "it has no parameter 'timeout'"} <= {
        problem.message.rpartition(": ")[2] for problem in found
    }


def chain(length: int) -> dict[str, str]:
    files = {
        f"{number}.yaml": f"heat_template_version: wallaby\nresources: {{r: {{type: {number + 1}.yaml}}}}"
        for number in range(1, length)
    }
    return {**files, f"{length}.yaml": "heat_template_version: wallaby"}


def test_templates_in_templates_go_so_deep_and_no_deeper() -> None:
    outer = "heat_template_version: wallaby\nresources: {r: {type: 1.yaml}}"
    assert problems_of(outer, files=chain(5)) == []
    (problem,) = problems_of(outer, files=chain(6))
    assert "deeper than 5 levels" in problem.message
    assert "max_nested_stack_depth" in problem.hint


@pytest.mark.parametrize("names", [["1.yaml"], ["1.yaml", "2.yaml"]])
def test_a_template_that_uses_itself_is_refused(names: list[str]) -> None:
    files = {
        name: f"heat_template_version: wallaby\nresources: {{r: {{type: {after}}}}}"
        for name, after in zip(names, [*names[1:], names[0]], strict=True)
    }
    (problem,) = problems_of("heat_template_version: wallaby\nresources: {r: {type: 1.yaml}}", files=files)
    assert problem.message == f"the template uses itself: {' -> '.join([*names, names[0]])}"


def test_templates_that_double_at_each_level_end_at_the_limit() -> None:
    files = {
        f"{number}.yaml": "heat_template_version: wallaby\nresources:\n"
        + "".join(f"  r{each}: {{type: {number + 1}.yaml}}\n" for each in range(20))
        for number in range(1, 5)
    }
    files["5.yaml"] = (
        "heat_template_version: wallaby\nresources: {r: {type: OS::Heat::None, condition: false}}"
    )
    outer = "heat_template_version: wallaby\nresources: {r: {type: 1.yaml}}"
    found = problems_of(outer, files=files, settings=Settings(max_resources_per_stack=2000))
    assert found
    assert all("more than 2000 resources" in problem.message for problem in found)


def test_a_resource_facade_shows_what_the_resource_above_says() -> None:
    inner = """\
heat_template_version: wallaby
resources:
  r:
    type: OS::Heat::Value
    properties:
      value: [{resource_facade: metadata}, {resource_facade: deletion_policy}]
"""
    outer = """\
heat_template_version: wallaby
resources: {a: {type: inner.yaml, metadata: {k: v}, deletion_policy: Retain}}
"""
    found = examined(outer, files={"inner.yaml": inner}).nested["a"]
    value: Any = found.template.resources["r"].resolve_properties(found.blank)
    assert value == {"value": [{"k": "v"}, "Retain"]}
    (problem,) = problems_of(inner)
    assert "resource_facade" in problem.path
