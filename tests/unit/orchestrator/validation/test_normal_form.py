"""Templates are brought into their normal form from the texts of a job."""

from collections.abc import Mapping

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.validation.normal_form import decided_form, normal_form

SETTINGS = Settings(project="shop")


def job(body: str, *environments: str, parameters: Mapping[str, str] | None = None) -> StackJob:
    return StackJob(
        name="any",
        template=f"heat_template_version: wallaby\n{body}",
        template_file="t.yaml",
        environments=tuple(
            EnvironmentSource(file=f"e{number}.yaml", source=source)
            for number, source in enumerate(environments)
        ),
        parameters=parameters or {},
        project="shop",
    )


def paths(caught: pytest.ExceptionInfo[InvalidInput]) -> list[str]:
    return [problem.path for problem in caught.value.problems]


def output_if(condition: str) -> str:
    return f"outputs: {{o: {{value: {{if: [{condition}, 1, 2]}}}}}}\n"


def test_values_come_from_environments_and_the_job_itself() -> None:
    body = (
        "parameters: {a: {type: string}, b: {type: string}, c: {type: string}}\n"
        "outputs: {o: {value: {if: [{and: [{equals: [{get_param: a}, x]}, {equals: [{get_param: b}, y]}]}, 1, 2]}}}\n"
    )
    told = job(body, "parameters: {a: w}\n", "parameters: {a: x, b: z}\n", parameters={"b": "y"})
    assert decided_form(told, SETTINGS)["outputs"] == {"o": {"value": 1}}


def test_the_project_is_known_and_the_stack_is_not() -> None:
    known = job(output_if("{equals: [{get_param: 'OS::project_id'}, shop]}"))
    assert decided_form(known, SETTINGS)["outputs"] == {"o": {"value": 1}}
    with pytest.raises(InvalidInput) as caught:
        decided_form(job(output_if("{equals: [{get_param: 'OS::stack_name'}, any]}")), SETTINGS)
    assert paths(caught) == ["outputs.o.value"]


def test_a_secret_decides_and_is_not_written() -> None:
    body = (
        "parameters: {p: {type: string, hidden: true}}\n"
        "resources: {r: {type: X, properties: {a: {if: [{equals: [{get_param: p}, s3cret]}, {get_param: p}, 2]}}}}\n"
    )
    form = decided_form(job(body, parameters={"p": "s3cret"}), SETTINGS)
    assert form["resources"]["r"]["properties"] == {"a": {"get_param": "p"}}
    assert "s3cret" not in repr(form)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    body = "parameters: {p: {type: number}}\nresources: {r: {typ: X}}\n"
    with pytest.raises(InvalidInput) as caught:
        decided_form(job(body, "parametres: {}\n", parameters={"p": "x"}), SETTINGS)
    assert sorted(paths(caught)) == ["parameters.p", "parametres", "resources.r", "resources.r.typ"]
    with pytest.raises(InvalidInput) as caught:
        decided_form(job("a: [", "parametres: {}\n"), SETTINGS)
    assert len(caught.value.problems) == 2


def test_limits_are_those_of_the_settings() -> None:
    small = Settings(max_template_bytes=50)
    with pytest.raises(InvalidInput, match="at most 50"):
        normal_form("heat_template_version: wallaby\n" + "#" * 50, file="t.yaml", settings=small)
