"""Jobs in few lines, and what each face of the engine makes of them.

The settings are small here, so that a small text passes them. No test of hostile texts asks for a time: one that is
lost ends by the time-out that every test has.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.preparation import plan_job
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.validation.report import validate_job

VERSION = "heat_template_version: wallaby\n"
NONE = "OS::Heat::None"
LIMITS: dict[str, Any] = {
    "max_template_bytes": 100_000,
    "max_resources_per_stack": 200,
    "max_template_files": 50,
    "pattern_seconds": 0.2,
    "yaql_seconds": 0.3,
}


def hot(**sections: Any) -> str:
    return json.dumps({"heat_template_version": "wallaby", **sections})


def cfn(**sections: Any) -> str:
    return json.dumps({"AWSTemplateFormatVersion": "2010-09-09", **sections})


def valued(*values: Any, **parameters: Any) -> str:
    """Return a template with a resource for each value, and parameters by their types and defaults."""
    return hot(
        parameters={name: {"type": kind, "default": value} for name, (kind, value) in parameters.items()},
        resources={
            f"r{number}": {"type": NONE, "properties": {"p": value}} for number, value in enumerate(values)
        },
    )


def job(
    template: str,
    *environments: str,
    files: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> StackJob:
    sources = (EnvironmentSource(file=f"e{n}.yaml", source=text) for n, text in enumerate(environments))
    return StackJob(
        name="s",
        template=template,
        template_file="t.yaml",
        environments=tuple(sources),
        files=files or {},
        parameters=parameters or {},
    )


def plan(order: StackJob, settings: Settings) -> Any:
    return plan_job(order, ResourceTypes.load(), settings)


Face = Callable[[StackJob, Settings], Any]
FACES: tuple[Face, ...] = (validate_job, preview_job, plan)


def problems_of(order: StackJob, face: Face = preview_job, **limits: Any) -> tuple[Problem, ...]:
    """Return why an order is refused; nothing if it is not."""
    try:
        face(order, Settings(**{**LIMITS, **limits}))
    except InvalidInput as error:
        return error.problems
    return ()


def told(problems: Iterable[Problem]) -> str:
    return "\n".join(map(str, problems))
