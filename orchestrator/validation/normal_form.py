"""Normal forms of templates for reading and comparing, computed from texts without a database."""

from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import UNKNOWN
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.sandbox.budget import evaluation
from orchestrator.template.normal import normal, resolved
from orchestrator.template.parameters import pseudo_parameters
from orchestrator.template.template import Draft, in_order
from orchestrator.validation.job import environment_of


def normal_form(source: str, *, file: str, settings: Settings) -> dict[str, object]:
    """Return a template in normal form; ``file`` is its name in problems.

    Neither the values of its parameters nor the files that it refers to are needed.

    Raises:
        InvalidInput: the template is invalid; with every problem found.
    """
    limits = Limits.of(settings)
    with evaluation(limits):
        draft = Draft.read(source, file=file, files={}, limits=limits)
        template = draft.under(draft.unknown_values())
    if template.problems:
        raise InvalidInput(in_order(template.problems))
    return normal(draft)


def decided_form(job: StackJob, settings: Settings) -> dict[str, Any]:
    """Return a job's template in normal form, with its conditions evaluated with the values of its parameters.

    Parameters that no condition depends on may have no value.

    Raises:
        InvalidInput: the template or a value is invalid, or a condition cannot be evaluated; with every problem found.
    """
    limits = Limits.of(settings)
    with evaluation(limits):
        return _decided(job, settings, limits)


def _decided(job: StackJob, settings: Settings, limits: Limits) -> dict[str, object]:
    environment, problems = environment_of(job, limits)
    try:
        draft = Draft.read(job.template, file=job.template_file, files=job.files, limits=limits)
    except InvalidInput as error:
        raise InvalidInput(in_order([*problems, *error.problems])) from error
    pseudo = dict.fromkeys(pseudo_parameters(draft.version), UNKNOWN)
    known = {"OS::project_id": job.project, "AWS::Region": settings.aws_region}
    settled = draft.settle(environment, pseudo={**pseudo, **known}, offline=True)
    template = draft.under(settled.parameters.values, settled.parameters.hidden)
    problems += [*settled.problems, *template.problems]
    if problems:
        raise InvalidInput(in_order(problems))
    values = settled.parameters.values
    return resolved(template, [name for name in draft.parameters if values[name] is UNKNOWN])
