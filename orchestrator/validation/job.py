"""Validation of a job: its sizes, environments, template, references, types and properties, in one pass.

Nothing is stored. Other systems are queried only through the clients that the caller passes.
"""

import uuid
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from orchestrator.config.garbage import paused_collection
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import StackJob
from orchestrator.model.nested_stack import NestedJob
from orchestrator.plugins.examination_clients import ExaminationClients
from orchestrator.sandbox.budget import TooMuch, evaluation, weight_of
from orchestrator.template.contents import MOST_BYTES
from orchestrator.template.document import dotted, read_document
from orchestrator.template.environment import Environment
from orchestrator.template.environment_reader import EnvironmentReader
from orchestrator.template.locations import FilesFrom, base_between
from orchestrator.template.nested_templates import environment_within
from orchestrator.template.reader import most_nodes
from orchestrator.template.registry_reader import MOST_PATTERNS
from orchestrator.template.resource_registry import Registry
from orchestrator.template.template import Draft, in_order
from orchestrator.validation.examiner import Examined, Examiner, Place
from orchestrator.validation.external import external_problems
from orchestrator.validation.rules import Types

if TYPE_CHECKING:
    from orchestrator.plugins.clients import Clients

_FEWER: Final = "make them smaller, or raise the setting max_template_bytes"


@paused_collection()
def examine_job(
    job: StackJob,
    types: Types,
    settings: Settings,
    *,
    clients: "Clients | None" = None,
    offline: bool = False,
    values_required: bool = True,
    stack_id: str = "",
    was_accepted: bool = False,
) -> Examined:
    """Validate a job: language, values, references, cycles, types, properties.

    ``stack_id`` is that of an existing stack; ``was_accepted`` means that the stack had this definition before, so that
    settings on event sinks do not apply. Without ``clients``, constraints that query other systems are skipped, and if
    ``offline`` those whose plugin is not installed; without ``values_required``, parameters may have no value.

    Raises:
        InvalidInput: with every problem found.
        NotVerified: another system could not be queried.
    """
    limits = Limits.of(settings)
    problems = [*_size_problems(job, limits)]
    if problems:
        raise InvalidInput(problems)
    environment, faults = environment_of(job, limits, types)
    within: tuple[str, ...] = ()
    if isinstance(job, NestedJob):
        environment, within = environment_within(environment, job.nesting, job.parameters)
    problems += faults
    if environment.event_sinks and not was_accepted and not isinstance(job, NestedJob):
        # Few environments name any, and what they are made of takes long to import.
        from orchestrator.sinks.environments import sink_problems

        problems += sink_problems(environment.event_sinks, settings, offline=offline)
    # A value that an invalid environment contains is not missing.
    values_required = values_required and not faults
    project_clients = ExaminationClients(clients.of(job.project, job.credential)) if clients else None
    examiner = Examiner(
        types,
        settings,
        job.files,
        offline=offline,
        values_required=values_required,
        clients=project_clients,
    )
    stack_id = stack_id or str(uuid.uuid4())
    facade = job.nesting.facade if isinstance(job, NestedJob) else None
    place = Place(
        stack=StackDefinition(name=job.name, id=stack_id, project=job.project, parent=facade),
        pseudo=_pseudo_values(job, stack_id, settings),
        base=environment.registry.base,
        within=within,
        root=root_file_of(job),
    )
    try:
        with evaluation(limits):
            files = FilesFrom(place.base, job.files) if place.base else job.files
            draft = Draft.read(job.template, file=job.template_file, files=files, limits=limits)
            examined = examiner.examine(draft, environment, place)
            if environment.moves:
                # Most environments have none.
                from orchestrator.validation.moves import move_problems

                problems += move_problems(environment.moves, draft)
    except InvalidInput as error:
        raise InvalidInput(in_order([*problems, *examiner.problems, *error.problems])) from error
    problems += examiner.problems
    if project_clients and not problems:
        problems += external_problems(examined, types, project_clients, seconds=settings.step_timeout_seconds)
    if problems:
        raise InvalidInput(in_order(problems))
    return examined


def environment_of(
    job: StackJob, limits: Limits, installed: Collection[str] | None = None
) -> tuple[Environment, list[Problem]]:
    """Return the merged environment of a job, from its valid parts, and the problems with the others.

    For a nested stack, it is the environment of the outermost stack, without the values of its parameters. Without the
    names of the ``installed`` types, aliases with wildcards lead to types that do not exist, too.
    """
    environment, nodes = Environment(registry=Registry(installed=installed)), 0
    problems = [*_environment_problems(job, limits)]
    for source in job.environments if not problems else ():
        try:
            document, faults = read_document(source.source, file=source.file, limits=limits)
        except InvalidInput as error:
            problems += error.problems
            continue
        nodes += document.nodes
        if nodes > (most := most_nodes(limits.max_bytes)):
            message = f"all environments together have more than {most} keys and values"
            problems.append(document.positions.problem((), message, _FEWER))
            break
        base = base_between(source.file, root_file_of(job))
        environment = environment.merge(EnvironmentReader(document, faults, base).read())
        problems += faults
    if environment.registry.most_patterns() > MOST_PATTERNS:
        message = f"all environments together have more than {MOST_PATTERNS} names of resources with a '*'"
        problems.append(Problem(path="environments", message=message, hint="one pattern can match many"))
        environment = replace(environment, registry=Registry())
    own = {} if isinstance(job, NestedJob) else job.parameters
    return environment.merge(Environment.of_parameters(own)), problems


def root_file_of(job: StackJob) -> str:
    """Return the name of the outermost template's file."""
    return job.nesting.root_file if isinstance(job, NestedJob) else job.template_file


def _environment_problems(job: StackJob, limits: Limits) -> Iterator[Problem]:
    if len(job.environments) > limits.max_files:
        message = f"there are {len(job.environments)} environments; at most {limits.max_files} are allowed"
        yield Problem(path="environments", message=message, hint="raise the setting max_template_files")
    size = sum(len(each.source) for each in job.environments)
    if size > limits.max_bytes:
        message = f"all environments together have {size} characters; at most {limits.max_bytes} are allowed"
        yield Problem(path="environments", message=message, hint=_FEWER)


def _pseudo_values(job: StackJob, stack_id: str, settings: Settings) -> dict[str, object]:
    return {
        "OS::stack_name": job.name,
        "OS::stack_id": stack_id,
        "OS::project_id": job.project,
        "AWS::StackName": job.name,
        "AWS::StackId": stack_id,
        "AWS::Region": settings.aws_region,
    }


def _size_problems(job: StackJob, limits: Limits) -> Iterator[Problem]:
    if len(job.files) > limits.max_files:
        message = f"there are {len(job.files)} files; at most {limits.max_files} are allowed"
        yield Problem(path="files", message=message, hint="raise the setting max_template_files")
    for name, value in job.parameters.items():
        try:
            weight_of(value)
        except TooMuch as error:
            yield Problem(path=dotted(("parameters", name)), message=f"this value {error}")
    # The files of a nested stack were counted with those of the outermost one.
    size = 0 if isinstance(job, NestedJob) else sum(map(len, job.files.values()))
    if size > MOST_BYTES:
        message = f"all files together have {size} characters; at most {MOST_BYTES} are allowed"
        yield Problem(path="files", message=message, hint="let resources read what is large from elsewhere")
