"""What none of the parts of a job does alone: many mistakes, long names, much time and much memory, all together."""

from pathlib import Path

import pytest

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import MOST_PROBLEMS, InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.template.files import load_stack
from orchestrator.validation.report import validate_job
from tests.unit.orchestrator.template.hostile import (
    FACES,
    NONE,
    VERSION,
    Face,
    hot,
    job,
    plan,
    problems_of,
    told,
    valued,
)

LONG_NAME = "x" * 90_000


# -- mistakes --------------------------------------------------------------------------------------------------


def test_of_very_many_mistakes_the_first_are_told() -> None:
    problems = problems_of(job(valued([{"filter": n} for n in range(5000)])))
    assert len(problems) == MOST_PROBLEMS
    assert problems[0].path == "resources.r0.properties.p[0].filter"
    assert problems[-1].message == f"these are the first {MOST_PROBLEMS - 1} problems; there are more"


@pytest.mark.parametrize(
    "template",
    [
        f"resources:\n ? {'x' * 50_000}\n : {{type: {NONE}, properties: {{p: [{'{filter: x},' * 2000}]}}}}",
        f"parameters:\n ? {'x' * 50_000}\n : {{type: string, constraints: [{'{rango: x},' * 2000}]}}",
        f"x:\n ? {'x' * 50_000}\n : [{'0x,' * 2000}]",
        f"resources: {{a: {{type: {LONG_NAME}, deletion_policy: Snapshot}}}}",
        f"resources: {{a: {{type: OS::Heat::RandomString, properties: {{? {LONG_NAME} : 1}}}}}}",
        f"resources: {{a: {{type: OS::Heat::Value}}}}\noutputs: {{o: {{value: {{get_attr: [a, {LONG_NAME}]}}}}}}",
        f"outputs: {{o: {{value: {{get_param: {LONG_NAME}}}}}}}",
        f"outputs: {{o: {{value: {{get_file: {LONG_NAME}}}}}}}",
        f"conditions: {{o: {{not: {LONG_NAME}}}}}",
        f"? {LONG_NAME}\n: 1",
        f"x: *{LONG_NAME}",
        f"x: !<{LONG_NAME}> a",
    ],
)
def test_names_of_any_length_are_cut_where_they_are_told(template: str) -> None:
    problems = problems_of(job(f"{VERSION}{template}"))
    assert problems
    assert all(len(str(problem)) < 6000 for problem in problems)


def test_what_a_call_gives_is_no_name_that_a_sentence_tells() -> None:
    secret = {"type": "string", "default": "s3cret", "hidden": True}
    for call in ({"get_param": {"get_param": "p"}}, {"get_file": {"get_param": "p"}}):
        template = hot(
            parameters={"p": secret},
            resources={"r": {"type": "OS::Heat::Value", "properties": {"value": call}}},
            conditions={"c": {"equals": [{"get_param": {"get_param": "p"}}, 1]}},
            outputs={"o": {"value": {"if": ["c", 1, call]}}},
        )
        problems = problems_of(job(template))
        assert problems
        assert "s3cret" not in told(problems)


# -- time ------------------------------------------------------------------------------------------------------

NESTED = {"n.yaml": hot(outputs={"o": {"value": 1}})}
LONG: dict[str, StackJob] = {
    "a parameter": job(valued(p=("json", {}))),
    "a constraint": job(hot(parameters={"p": {"type": "string", "constraints": [{"length": {"min": 1}}]}})),
    "a condition": job(hot(conditions={"c": True})),
    "a resource": job(valued(1)),
    "an output": job(hot(outputs={"o": {"value": 1}})),
    "a call": job(hot(outputs={"o": {"value": {"list_concat": []}}})),
    "a nested template": job(hot(resources={"r": {"type": "n.yaml"}}), files=NESTED),
    "merging": job(valued(p=("json", {})), *["parameters: {p: {a: 1}}"] * 2),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("order", LONG.values(), ids=LONG)
def test_whatever_there_may_be_many_of_ends_when_the_time_is_up(order: StackJob, face: Face) -> None:
    problems = problems_of(order, face, evaluation_seconds=1e-9)
    assert "evaluating the template takes longer than" in told(problems)


def test_conditions_that_nobody_asks_for_and_outputs_take_no_longer_than_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = {"yaql": {"expression": "range($.data).len() > 1", "data": {"get_param": "n"}}}
    parameters = {"n": {"type": "number", "default": 1000}}
    asked_by_view = job(hot(parameters=parameters, conditions={f"c{n}": slow for n in range(1000)}))
    shown = job(hot(parameters=parameters, outputs={f"o{n}": {"value": slow} for n in range(1000)}))
    for order, face in ((asked_by_view, validate_job), (shown, preview_job)):
        assert "takes longer than 0.2 seconds" in told(problems_of(order, face, evaluation_seconds=0.2))


# -- memory ----------------------------------------------------------------------------------------------------

LARGE = {"str_replace": {"template": "x" * 2000, "params": {"x": {"get_param": "p"}}}}
PARAMETER = {"p": {"type": "string", "default": "y" * 2000}}


def test_values_that_are_too_much_together_are_left_out_of_a_preview() -> None:
    shown = preview_job(
        job(hot(parameters=PARAMETER, outputs={f"o{n}": {"value": LARGE} for n in range(20)})), Settings()
    )
    lengths = [len(value) for value in shown.outputs.values()]
    assert lengths[:16] == [4_000_000] * 16
    assert shown.outputs["o19"].startswith(
        "(left out: this value has more than 67108864 characters and parts"
    )


def test_properties_of_which_only_the_whole_is_known_are_shown_as_one() -> None:
    template = hot(
        resources={
            "a": {"type": "OS::Heat::Value", "properties": {"value": {}}},
            "b": {"type": NONE, "properties": {"get_attr": ["a", "value"]}},
        }
    )
    _, b = preview_job(job(template), Settings()).resources
    assert b.properties == {"*": "(known once it exists)"}


def test_what_nested_templates_are_given_is_bounded_together() -> None:
    inner = hot(parameters={"p": {"type": "string"}})
    resources = {f"r{n}": {"type": "n.yaml", "properties": {"p": LARGE}} for n in range(20)}
    problems = problems_of(
        job(hot(parameters=PARAMETER, resources=resources), files={"n.yaml": inner}), validate_job
    )
    assert [problem.path for problem in problems] == [f"resources.r{n}.properties" for n in range(16, 20)]
    assert "what is given here has more than 67108864 characters and parts" in problems[0].message


def test_environments_add_only_so_much_to_what_is_there() -> None:
    entries = "".join(f"    k{n}: *l\n" for n in range(90))
    environment = (
        f"parameters:\n  p:\n    k: &l {'x' * 30_000}\n{entries}parameter_merge_strategies: {{p: deep_merge}}"
    )
    order = job(hot(parameters={"p": {"type": "json"}}), *[environment] * 3)
    first, second = problems_of(order, validate_job, max_template_bytes=4_000_000)
    assert "all that environments add to what is there has more than 2097152" in first.message
    assert (first.path, second.path) == ("parameters.p", "parameters.p")


def test_telling_many_resources_of_many_files_is_refused() -> None:
    key = {"get_file": {"get_attr": ["r0", "a"]}}
    few, many = ({f"{'x' * 900}{n}": "" for n in range(count)} for count in (10, 1000))
    template = valued(1, *[key] * 150)
    settings = {"max_template_files": 1000, "max_template_bytes": 4_000_000}
    assert problems_of(job(template, files=few), plan, **settings) == ()
    (problem,) = problems_of(job(template, files=many), plan, **settings)
    assert problem.message.startswith("too many resources call get_file")


# -- templates in templates ------------------------------------------------------------------------------------


def doubled(levels: int) -> dict[str, str]:
    files = {
        f"n{n}.yaml": hot(resources={c: {"type": f"n{n + 1}.yaml"} for c in "abcd"}) for n in range(levels)
    }
    return {**files, f"n{levels}.yaml": hot(resources={"r": {"type": NONE}})}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (doubled(4), "there are more than 200 resources"),
        (
            {"n0.yaml": hot(resources={"r": {"type": "n0.yaml"}})},
            "the template uses itself: n0.yaml -> n0.yaml",
        ),
        (
            {f"n{n}.yaml": hot(resources={"r": {"type": f"n{n + 1}.yaml"}}) for n in range(9)},
            "deeper than 5 levels",
        ),
        ({"n0.yaml": hot(outputs={"o": {"value": [0] * 9000}})}, "more than 50000 keys and values"),
        ({"n0.yaml": f"{VERSION}description: {LONG_NAME}"}, "more than 8 times 100000 bytes"),
    ],
)
def test_templates_in_templates_are_bounded_together(files: dict[str, str], reason: str) -> None:
    order = job(hot(resources={f"r{n}": {"type": "n0.yaml"} for n in range(20)}), files=files)
    assert reason in told(problems_of(order, validate_job))


def test_what_is_no_template_is_told_once_however_often_it_is_used() -> None:
    order = job(
        hot(resources={f"r{n}": {"type": "n.yaml"} for n in range(150)}),
        files={"n.yaml": f"{VERSION}x: [{'{[]},' * 30_000}"},
    )
    (problem,) = problems_of(order, validate_job)
    assert problem.position
    assert problem.position.file == "n.yaml"


# -- the client ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ("{get_file: a}," * 5000, 0),
        (",".join(f"{{get_file: missing{n}}}" for n in range(5000)), 51),
        (",".join(f"{{get_file: {'./' * (n % 90)}a}}" for n in range(5000)), 1),
    ],
)
def test_the_client_looks_into_so_many_names_only(tmp_path: Path, calls: str, count: int) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "t.yaml").write_text(f"{VERSION}outputs: {{o: {{value: [{calls}]}}}}")
    limits = Limits(max_files=50)
    if count == 0:
        assert load_stack(str(tmp_path / "t.yaml"), limits=limits).files == {"a": "x"}
        return
    with pytest.raises(InvalidInput, match="more than 50 files are named") as caught:
        load_stack(str(tmp_path / "t.yaml"), limits=limits)
    assert len(caught.value.problems) in (count, count + 1)
