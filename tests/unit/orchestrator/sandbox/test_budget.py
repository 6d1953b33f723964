"""A hostile template costs bounded time and memory, however many calls it is made of."""

import json
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sandbox import budget
from orchestrator.template.definitions import ResolveError
from orchestrator.template.template import Template
from orchestrator.validation.job import examine_job


class Clock:
    """Time that passes with every look at it."""

    def __init__(self, step: float) -> None:
        self.now, self._step = 0.0, step

    def monotonic(self) -> float:
        self.now += self._step
        return self.now


def template_of(*properties: Any, parameters: dict[str, Any] | None = None) -> str:
    return json.dumps(
        {
            "heat_template_version": "wallaby",
            "parameters": parameters or {},
            "resources": {
                f"r{number}": {"type": "OS::Heat::None", "properties": {"p": value}}
                for number, value in enumerate(properties)
            },
        }
    )


def examine(template: str, **parameters: Any) -> None:
    job = StackJob(name="s", template=template, template_file="t", parameters=parameters)
    examine_job(job, ResourceTypes.load(), Settings(evaluation_seconds=10))


SPLIT = {"str_split": [",", "a,b"]}


@pytest.mark.parametrize(
    "template",
    [
        template_of(*[SPLIT] * 20),
        template_of([SPLIT] * 20),
        template_of(*[{"list_join": [",", {"get_param": "p"}]}] * 20, parameters={"p": {"type": "json"}}),
        template_of(*[{"if": [{"equals": [1, 2]}, 1, 2]}] * 20),
        template_of(parameters={f"p{number}": {"type": "json", "default": {}} for number in range(20)}),
    ],
)
def test_an_evaluation_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch, template: str) -> None:
    monkeypatch.setattr(budget, "time", Clock(step=1.0))
    values: dict[str, Any] = {"p": []} if "get_param" in template else {}
    with pytest.raises(InvalidInput) as caught:
        examine(template, **values)
    problem = caught.value.problems[-1]
    assert problem.message == "evaluating the template takes longer than 10 seconds"
    assert "evaluation_seconds" in problem.hint
    assert problem.position is not None
    monkeypatch.setattr(budget, "time", Clock(step=0.001))
    examine(template, **values)


def test_one_value_cannot_gather_more_than_so_much() -> None:
    big = "x" * 4_000_000
    calls = [{"get_param": "p"}] * 9
    job = StackJob(
        name="s", template=template_of(calls, parameters={"p": {"type": "string"}}), parameters={"p": big}
    )
    with pytest.raises(InvalidInput, match="characters and parts"):
        examine_job(job, ResourceTypes.load(), Settings())
    separately = StackJob(
        name="s", template=template_of(*calls, parameters={"p": {"type": "string"}}), parameters={"p": big}
    )
    examine_job(separately, ResourceTypes.load(), Settings())


def test_on_a_worker_the_same_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    template = Template.parse(
        template_of([{"get_param": "p"}] * 20, parameters={"p": {"type": "string"}}),
        file="t",
        files={},
        limits=Limits(),
    )
    definition = template.resources["r0"]
    rebuilt = type(definition).from_fragment("r0", definition.fragment(), Limits(evaluation_seconds=10))
    stack = StackDefinition(name="s", id="", parameters={"p": "x" * 4_000_000})
    with pytest.raises(ResolveError, match="characters and parts"):
        rebuilt.resolve_properties(stack)
    monkeypatch.setattr(budget, "time", Clock(step=1.0))
    with pytest.raises(InvalidInput, match="longer than 10 seconds"):
        rebuilt.resolve_properties(StackDefinition(name="s", id="", parameters={"p": "x"}))
