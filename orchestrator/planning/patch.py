"""Patch updates (``--existing``): a new definition merged into the stack's present one."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.template.locations import base_between
from orchestrator.template.named_files import named_files
from orchestrator.template.template import Draft
from orchestrator.validation.job import environment_of


def upon_existing(given: StackJob, present: StackJob, limits: Limits) -> StackJob:
    """Return the job ``given``, completed from the job ``present``.

    Given parameters win over present ones, and given environments come after present ones. Present values of parameters
    that the new template does not declare, or that a given environment sets, are left out. A given file replaces the
    present one of the same key; present files that nothing names any more are left out.
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


def _values(given: StackJob, present: StackJob, limits: Limits) -> Mapping[str, object]:
    environment, _ = environment_of(given, limits)
    values = {name: value for name, value in present.parameters.items() if name not in environment.parameters}
    if given.template == present.template:
        return values
    try:
        draft = Draft.read(given.template, file=given.template_file, files={}, limits=limits)
    except InvalidInput:
        # The validation of the job reports it.
        return values
    return {name: value for name, value in values.items() if name in draft.parameters}


def _environments(given: StackJob, present: StackJob) -> tuple[EnvironmentSource, ...]:
    return tuple(
        replace(each, file=_moved(each.file, present.template_file, given.template_file))
        for each in present.environments
    )


def _moved(file: str, before: str, after: str) -> str:
    """Return an environment's file name relative to a template that moved from ``before`` to ``after``."""
    base = base_between(file, before)
    if base_between(file, after) == base:
        return file
    name = posixpath.join(posixpath.dirname(after), base, posixpath.basename(file))
    return name if base_between(name, after) == base else file
