"""A new definition of a stack on top of the one it has: what is not given again stays as it was."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.template.locations import base_between
from orchestrator.template.named_files import named_files
from orchestrator.template.template import Draft
from orchestrator.validation.job import environment_of


def upon_existing(given: StackJob, present: StackJob, limits: Limits) -> StackJob:
    """Return the job ``given`` with what the job ``present`` says besides.

    Values that are given win over those that are there, and environments that are given come after. Values of
    parameters that a new template does not declare any more are left out, and so are those that came with an earlier
    order where an environment that is given says something else. Of two files under one key, the given one counts;
    those that are there and that nothing names any more are left out.
    """
    environments = (*_environments(given, present), *given.environments)
    named = named_files(
        given.template,
        template_file=given.template_file,
        environments=environments,
        files={**present.files, **given.files},
        limits=limits,
    )
    return replace(
        given,
        environments=environments,
        parameters={**_values(given, present, limits), **given.parameters},
        files={**named, **given.files},
        timeout_minutes=given.timeout_minutes or present.timeout_minutes,
    )


def _values(given: StackJob, present: StackJob, limits: Limits) -> Mapping[str, Any]:
    """Return the values that came with an earlier order and still count."""
    said, _ = environment_of(given, limits)
    values = {name: value for name, value in present.parameters.items() if name not in said.parameters}
    if given.template == present.template:
        return values
    try:
        draft = Draft.read(given.template, file=given.template_file, files={}, limits=limits)
    except InvalidInput:
        # What is wrong with it is told by whoever takes the job.
        return values
    return {name: value for name, value in values.items() if name in draft.parameters}


def _environments(given: StackJob, present: StackJob) -> tuple[EnvironmentSource, ...]:
    return tuple(
        replace(each, file=_moved(each.file, present.template_file, given.template_file))
        for each in present.environments
    )


def _moved(file: str, before: str, after: str) -> str:
    """Return the name under which an environment names the same files beside a template that is somewhere else."""
    base = base_between(file, before)
    if base_between(file, after) == base:
        return file
    name = posixpath.join(posixpath.dirname(after), base, posixpath.basename(file))
    return name if base_between(name, after) == base else file
