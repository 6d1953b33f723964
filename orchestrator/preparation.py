"""From a stack job to what a traversal needs: parse, check everything that can be checked, make the wishes.

Pure but for what it is handed: nothing is stored, nobody is asked. All problems of a job are found in one go.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from orchestrator.definition import AttributePath, NodeData, ResourceProxy, StackDefinition
from orchestrator.errors import InvalidInput, Problem
from orchestrator.graph import CircularDependency, Graph
from orchestrator.messages import StackJob
from orchestrator.names import check_project, check_stack_name
from orchestrator.plan import Wish
from orchestrator.plugins.properties import PropertyError, check_properties, convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.settings import Settings
from orchestrator.store.templates import StoredTemplate, digest_of
from orchestrator.template.definitions import SNAPSHOT, OutputDefinition, ResolveError, ResourceDefinition
from orchestrator.template.document import Limits
from orchestrator.template.environment import Environment
from orchestrator.template.parameters import Parameters
from orchestrator.template.template import Template

Types = Mapping[str, type[Resource]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A job that was found to be sound."""

    stack_id: str
    template: Template
    parameters: Parameters
    #: The type of each resource, aliases of the environment followed.
    types: Mapping[str, str]
    stored: StoredTemplate
    #: Content by digest.
    files: Mapping[str, str]

    @property
    def context(self) -> dict[str, Any]:
        """What every check of the traversal needs to know."""
        return {
            "id": self.stack_id,
            "name": self.parameters.values["OS::stack_name"],
            "project": self.parameters.values["OS::project_id"],
            "parameters": dict(self.parameters.values),
            "hidden": sorted(self.parameters.hidden),
        }


def load_job(job: StackJob, settings: Settings) -> tuple[Template, Environment]:
    """Parse a job's template and environments.

    Raises:
        InvalidInput: with every problem found in the first of them that has any.
    """
    limits = Limits.of(settings)
    environment = Environment.of_parameters({})
    for source in job.environments:
        environment = environment.merge(Environment.parse(source.source, file=source.file, limits=limits))
    environment = environment.merge(Environment.of_parameters(job.parameters))
    template = Template.parse(job.template, file=job.template_file, files=job.files, limits=limits)
    return template, environment


def prepare(job: StackJob, types: Types, settings: Settings) -> Prepared:
    """Check a job whole: name, language, parameters, references, cycles, types, attributes, properties.

    Raises:
        InvalidInput: with every problem found.
    """
    check_stack_name(job.name)
    check_project(job.project)
    check_timeout(job.timeout_minutes)
    stack_id = str(uuid.uuid4())
    template, environment = load_job(job, settings)
    actual = {name: environment.actual_type(each.type) for name, each in template.resources.items()}
    problems = [
        *template.check_references(),
        *_type_problems(template, actual, types),
        *_policy_problems(template),
        *_cycle_problems(template),
    ]
    pseudo = {"OS::stack_name": job.name, "OS::stack_id": stack_id, "OS::project_id": job.project}
    try:
        parameters = template.resolve_parameters(environment, pseudo=pseudo)
    except InvalidInput as error:
        raise InvalidInput([*problems, *error.problems]) from error
    if not problems:
        problems = [*_attribute_problems(template, actual, types)]
        blank = _blank(job, stack_id, template, parameters)
        problems += _property_problems(template, actual, types, blank, parameters.hidden)
    if problems:
        raise InvalidInput(problems)
    digests = {key: digest_of(content) for key, content in job.files.items()}
    return Prepared(
        stack_id=stack_id,
        template=template,
        parameters=parameters,
        types=actual,
        stored=StoredTemplate(
            source=job.template,
            file=job.template_file,
            environments=tuple((each.file, each.source) for each in job.environments),
            parameters=dict(job.parameters),
            files=digests,
        ),
        files={digests[key]: content for key, content in job.files.items()},
    )


def wishes(prepared: Prepared, *, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> list[Wish]:
    """Return what the template wants of each resource, with an id for each row to be made."""
    template = prepared.template
    wanted = wanted_attributes(template)
    result = []
    for name, definition in template.resources.items():
        fragment: dict[str, Any] = {"definition": definition.fragment()}
        files = {key: prepared.stored.files[key] for key in sorted(definition.required_files)}
        if files:
            fragment["files"] = files
        result.append(
            Wish(
                name=name,
                type=prepared.types[name],
                resource_id=new_id(),
                fragment=fragment,
                requires=definition.requirements,
                wanted=frozenset(wanted[name]),
            )
        )
    return result


def wanted_attributes(template: Template) -> Mapping[str, set[AttributePath]]:
    """Return which attributes of each resource the others and the outputs ask for, in one pass over all."""
    wanted: defaultdict[str, set[AttributePath]] = defaultdict(set)
    holders: Iterable[ResourceDefinition | OutputDefinition] = (
        *template.resources.values(),
        *template.outputs.values(),
    )
    for holder in holders:
        for name, path in holder.required_attributes:
            wanted[name].add(path)
    return wanted


def check_timeout(minutes: float | None) -> None:
    """Refuse a time-out that is no positive number of minutes.

    Raises:
        InvalidInput: it is not.
    """
    if minutes is None:
        return
    if isinstance(minutes, bool) or not isinstance(minutes, (int, float)) or not 0 < minutes < 1e7:
        problem = Problem(
            path="timeout_minutes", message=f"expected a positive number of minutes, got {minutes!r}"
        )
        raise InvalidInput([problem])


def _blank(job: StackJob, stack_id: str, template: Template, parameters: Parameters) -> StackDefinition:
    """Return the stack as it is before anything exists: every resource is there, no value of it is known."""
    proxies = {
        name: ResourceProxy(name=name, type=definition.type)
        for name, definition in template.resources.items()
    }
    return StackDefinition(
        name=job.name,
        id=stack_id,
        project=job.project,
        parameters=parameters.values,
        resources=proxies,
        files=job.files,
    )


def _type_problems(template: Template, actual: Mapping[str, str], types: Types) -> Iterable[Problem]:
    for name, type_name in actual.items():
        if type_name in types:
            continue
        near = get_close_matches(type_name, types, 1)
        hint = f"did you mean {near[0]!r}?" if near else "'isotherm resource-type list' shows those there are"
        path = ("resources", name, "type")
        yield template.problem(path, f"there is no resource type {type_name!r}", hint)


def _policy_problems(template: Template) -> Iterable[Problem]:
    for name, definition in template.resources.items():
        if definition.deletion_policy == SNAPSHOT:
            message = f"a resource of type {definition.type!r} cannot be snapshotted"
            hint = "no resource type can be snapshotted yet; use Delete or Retain"
            yield template.problem(("resources", name, "deletion_policy"), message, hint)


def _cycle_problems(template: Template) -> Iterable[Problem]:
    known = template.resources.keys()
    graph = Graph({name: each.requirements & known for name, each in template.resources.items()})
    try:
        graph.in_order()
    except CircularDependency as error:
        path = ("resources", error.cycle[0])
        yield template.problem(path, str(error), "take one of these references or depends_on away")


def _attribute_problems(template: Template, actual: Mapping[str, str], types: Types) -> Iterable[Problem]:
    holders: list[tuple[tuple[str | int, ...], Any]] = [
        *((("resources", name), each) for name, each in template.resources.items()),
        *((("outputs", name), each) for name, each in template.outputs.items()),
    ]
    for path, holder in holders:
        for name, attribute in sorted(holder.required_attributes, key=repr):
            kind = types[actual[name]]
            if kind.accepts_anything or attribute[0] in kind.attributes_schema:
                continue
            near = get_close_matches(str(attribute[0]), kind.attributes_schema, 1)
            known = ", ".join(sorted(kind.attributes_schema)) or "none"
            hint = f"did you mean {near[0]!r}?" if near else f"attributes: {known}"
            message = f"resource {name!r} ({actual[name]}) has no attribute {attribute[0]!r}"
            yield template.problem(path, message, hint)


def _property_problems(
    template: Template,
    actual: Mapping[str, str],
    types: Types,
    stack: StackDefinition,
    hidden: Collection[str],
) -> Iterable[Problem]:
    for name, definition in template.resources.items():
        try:
            faults = _faults_of(definition, types[actual[name]], stack)
        except ResolveError as error:
            yield error.problem
            continue
        for fault in faults:
            told = definition.tellable(fault, hidden)
            yield template.problem((*definition.path, "properties", *told.path), told.message, told.hint)


def _faults_of(
    definition: ResourceDefinition, kind: type[Resource], stack: StackDefinition
) -> list[PropertyError]:
    given = definition.resolve_properties(stack)
    definition.resolve_metadata(stack)
    found = check_properties(kind.properties_schema, given, accepts_anything=kind.accepts_anything)
    if found:
        return found
    try:
        kind.validate(
            convert_properties(
                kind.properties_schema, given, accepts_anything=kind.accepts_anything, constraints=False
            )
        )
    except PropertyError as error:
        return [error]
    return []


def definition_of_rows(
    context: Mapping[str, Any], template: Template, rows: Iterable[NodeData], files: Mapping[str, str]
) -> StackDefinition:
    """Return a stack as its rows are now: what outputs are resolved from."""
    known = {data.name: data for data in rows}
    proxies = {
        name: ResourceProxy(name=name, type=definition.type, data=known.get(name))
        for name, definition in template.resources.items()
    }
    return StackDefinition(
        name=context["name"],
        id=context["id"],
        project=context["project"],
        parameters=context["parameters"],
        resources=proxies,
        files=files,
    )
