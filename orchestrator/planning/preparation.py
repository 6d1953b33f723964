"""Preparation of a stack job: parses and validates it, and makes the desired resources.

Nothing is stored; other systems are queried only by the ``clients`` given. All problems of a job are reported together.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.config.garbage import paused_collection
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import (
    AttributePath,
    ParentResourceProxy,
    ResourceProxy,
    StackDefinition,
    StackSource,
    is_unknown,
)
from orchestrator.errors import InvalidInput, IsothermError, Problem
from orchestrator.model.messages import StackJob
from orchestrator.model.names import check_project, check_stack_name
from orchestrator.model.nested_stack import Family, NestedJob
from orchestrator.model.plan import DesiredResource, Plan, plan_create
from orchestrator.model.tags import check_tags
from orchestrator.planning.fingerprints import fingerprint
from orchestrator.planning.recipes import recipes_of
from orchestrator.plugins.clients import Clients
from orchestrator.sandbox.budget import evaluation
from orchestrator.store.traversals.templates import StoredTemplate, digest_of
from orchestrator.template.contents import MOST_BYTES
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.locations import FilesFrom, is_template
from orchestrator.template.parameters import Parameters
from orchestrator.template.resource_registry import Registry
from orchestrator.template.template import Template
from orchestrator.validation.examiner import Examined
from orchestrator.validation.job import examine_job
from orchestrator.validation.rules import Types
from orchestrator.validation.warnings import warnings_of

if TYPE_CHECKING:
    from orchestrator.template.moves import Move

#: The characters of a file's digest.
_DIGEST: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A validated job, with everything that its traversal needs."""

    stack_id: str
    name: str
    project: str
    template: Template
    parameters: Parameters
    #: The type of each resource, aliases of the environment followed.
    types: Mapping[str, str]
    #: The attributes of other resources that each resource reads: those that its definition refers to, and those that
    #: its type reads besides.
    needs: Mapping[str, frozenset[tuple[str, AttributePath]]]
    #: The resource registry of the environment.
    registry: Registry
    stored: StoredTemplate
    #: The contents of files, by digest.
    files: Mapping[str, str]
    #: The validated definitions of nested stacks, by resource.
    nested: Mapping[str, Examined]
    #: The parent resource of a nested stack.
    facade: ParentResourceProxy | None = None
    #: The parent and root of a nested stack.
    family: Family | None = None
    #: The event sinks of the environment: each a map with the sink's type and its options.
    event_sinks: tuple[Mapping[str, Any], ...] = ()
    #: The parts of the observation policy that the environment sets.
    observation: Mapping[str, object] = field(default_factory=dict)
    #: The resources that have another name from now on.
    moves: "tuple[Move, ...]" = ()
    #: Reads the template and the environment as functions and plugins see them.
    source: Callable[[], StackSource] = StackSource
    #: Deprecated features that it uses.
    warnings: tuple[Problem, ...] = ()
    #: The id of the credential by which its resources act in another system; empty for none.
    credential: str = ""

    @property
    def context(self) -> dict[str, Any]:
        """The context that every check of the traversal gets."""
        return {
            "id": self.stack_id,
            "name": self.name,
            "project": self.project,
            "parameters": dict(self.parameters.values),
            "hidden": sorted(self.parameters.hidden),
            **({"description": self.template.description} if self.template.description else {}),
            "has_outputs": bool(self.template.outputs),
            **({} if self.facade is None else {"parent": self.facade.to_wire()}),
            **({"credential": self.credential} if self.credential else {}),
            **({"warnings": [each.to_wire() for each in self.warnings]} if self.warnings else {}),
        }


@paused_collection()
def prepare_update(
    job: StackJob,
    types: Types,
    settings: Settings,
    *,
    stack_id: str,
    before: Mapping[str, object],
    clients: Clients | None = None,
    was_accepted: bool = False,
) -> tuple[Prepared, list[DesiredResource]]:
    """Validate a new definition of a stack; ``before`` are the present values of its parameters.

    The desired resources have no ids yet: most have rows.

    ``was_accepted``: the stack had this definition before.

    Raises:
        InvalidInput: the job has problems; all are listed.
        NotVerified: another system that ``clients`` query did not answer.
    """
    prepared = prepare(job, types, settings, stack_id=stack_id, clients=clients, was_accepted=was_accepted)
    problems = [
        prepared.template.problem(
            schema.path, f"the parameter {schema.name!r} is immutable: it keeps its value"
        )
        for schema in prepared.template.parameters.values()
        if schema.immutable
        and schema.name in before
        and before[schema.name] != prepared.parameters.values[schema.name]
    ]
    if problems:
        raise InvalidInput(problems)
    return prepared, desired_of(prepared, new_id=str)


@paused_collection()
def plan_job(
    job: StackJob, types: Types, settings: Settings, clients: Clients | None = None, *, stack_id: str = ""
) -> tuple[Prepared, Plan]:
    """Validate a job, and plan the traversal that creates the stack, whose id may be given.

    Raises:
        InvalidInput: the job has problems; all are listed.
        NotVerified: another system that ``clients`` query did not answer.
    """
    prepared = prepare(job, types, settings, stack_id=stack_id, clients=clients)
    return prepared, plan_create(desired_of(prepared))


def prepare(
    job: StackJob,
    types: Types,
    settings: Settings,
    *,
    stack_id: str = "",
    clients: Clients | None = None,
    was_accepted: bool = False,
) -> Prepared:
    """Validate a job, and return it prepared; without ``stack_id``, the stack gets a new id.

    ``was_accepted``: the stack had this definition before.

    Raises:
        InvalidInput: the job has problems; all are listed.
        NotVerified: another system that ``clients`` query did not answer.
    """
    if not isinstance(job, NestedJob):
        check_stack_name(job.name)
    check_project(job.project)
    check_tags(job.tags)
    check_timeout(job.timeout_minutes)
    if isinstance(job, NestedJob):
        stack_id = job.stack_id
    with evaluation(Limits.of(settings)):
        examined = examine_job(
            job, types, settings, stack_id=stack_id, clients=clients, was_accepted=was_accepted
        )
        problems = [*_file_problems(examined.template)]
        if problems:
            raise InvalidInput(problems)
    return prepared_of(job, examined, types)


def prepared_of(job: StackJob, examined: Examined, types: Types) -> Prepared:
    """Return the prepared job of a validated one."""
    nested = job if isinstance(job, NestedJob) else None
    # The files of a nested stack are stored with the root stack's.
    digests = nested.digests if nested else {key: digest_of(content) for key, content in job.files.items()}
    return Prepared(
        stack_id=examined.blank.id,
        name=job.name,
        project=job.project,
        template=examined.template,
        parameters=examined.parameters,
        types=examined.types,
        needs=attributes_read(examined.template, examined.types, types),
        registry=examined.environment.registry,
        stored=StoredTemplate(
            source=job.template,
            file=job.template_file,
            environments=tuple((each.file, each.source) for each in job.environments),
            parameters=dict(job.parameters),
            files=digests,
            nesting=nested.nesting if nested else None,
            base=examined.environment.registry.base,
        ),
        files={} if nested else {digests[key]: content for key, content in job.files.items()},
        nested=examined.nested,
        facade=nested.nesting.facade if nested else None,
        family=nested.family if nested else None,
        event_sinks=tuple(each.value for each in examined.environment.event_sinks),
        observation={} if nested else examined.environment.observation,
        moves=examined.environment.moves,
        source=examined.blank.source,
        warnings=warnings_of(examined, types),
        credential=job.credential,
    )


def _file_problems(template: Template) -> Iterator[Problem]:
    """Yield a problem if the lists of files that each resource may read are too large to store."""
    times = Counter(definition.required_files for definition in template.resources.values())
    size = sum(count * sum(len(key) + _DIGEST for key in keys) for keys, count in times.items())
    if size > MOST_BYTES:
        message = (
            "too many resources call get_file with a name that only a call tells: each may read every file"
        )
        words = template.draft.dialect
        yield template.problem((words.resources,), message, "write the names out, or bring fewer files")


def desired_of(
    prepared: Prepared, *, new_id: Callable[[], str] = lambda: str(uuid.uuid4())
) -> list[DesiredResource]:
    """Return the desired resource of each resource of the template, with an id for a row to be made."""
    template = prepared.template
    asks = prepared.stored.nesting.asks if prepared.stored.nesting else ()
    wanted = wanted_attributes(prepared, asks)
    result = []
    named = _digests(prepared)
    children = {name: fingerprint(each, prepared.stored.files) for name, each in prepared.nested.items()}
    recipes = recipes_of(template, blank_stack(prepared)[1], prepared.types, children)
    for name, definition in template.resources.items():
        fragment: dict[str, Any] = {
            "definition": definition.fragment(),
            "recipe": recipes[name],
            **hooks_of(prepared.registry, name),
        }
        if restricted := prepared.registry.restricted_actions((name,)):
            fragment["restricted"] = sorted(restricted)
        files = dict(named[definition.required_files])
        if name in prepared.nested:
            fragment["child"] = children[name]
            if is_template(prepared.types[name]):
                files[prepared.types[name]] = prepared.stored.files[prepared.types[name]]
        if files:
            fragment["files"] = files
        result.append(
            DesiredResource(
                name=name,
                type=prepared.types[name],
                resource_id=new_id(),
                fragment=fragment,
                requires=definition.requirements,
                wanted=frozenset(wanted[name]),
                needs=prepared.needs[name],
            )
        )
    return result


def blank_stack(prepared: Prepared) -> tuple[dict[str, ResourceProxy], StackDefinition]:
    """Return a stack without values of resources, and its resources, which are replaced by those with values."""
    proxies = blank_proxies(prepared.template)
    return proxies, StackDefinition(
        name=prepared.name,
        id=prepared.stack_id,
        project=prepared.project,
        parameters=prepared.parameters.values,
        resources=proxies,
        files=prepared.template.files,
        parent=prepared.facade,
        source=prepared.source,
    )


def blank_proxies(template: Template) -> dict[str, ResourceProxy]:
    """Return proxies of all resources without node data, so that every attribute is unknown."""
    return {name: ResourceProxy(name=name, type=each.type) for name, each in template.resources.items()}


def hooks_of(registry: Registry, name: str) -> dict[str, list[str]]:
    """Return the part of a node's fragment with its breakpoints; empty if it has none."""
    hooks = sorted(registry.hooks((name,)))
    return {"hooks": hooks} if hooks else {}


def _digests(prepared: Prepared) -> dict[frozenset[str], dict[str, str]]:
    all_keys = {definition.required_files for definition in prepared.template.resources.values()}
    stored = prepared.stored
    digests = FilesFrom(stored.base, stored.files) if stored.base else stored.files
    return {keys: {key: digests[key] for key in sorted(keys)} for keys in all_keys}


def wanted_attributes(
    prepared: Prepared, asks: Iterable[AttributePath] = ()
) -> Mapping[str, set[AttributePath]]:
    """Return the attributes of each resource that other resources and the outputs refer to.

    ``asks`` are references from outside of the stack: each a resource's name, and the path of an attribute.
    """
    wanted: defaultdict[str, set[AttributePath]] = defaultdict(set)
    outputs = (output.required_attributes for output in prepared.template.outputs.values())
    for needed in (*prepared.needs.values(), *outputs):
        for name, path in needed:
            wanted[name].add(path)
    for path in asks:
        wanted[str(path[0])].add(path[1:])
    return wanted


def attributes_read(
    template: Template, named: Mapping[str, str], types: Types
) -> Mapping[str, frozenset[tuple[str, AttributePath]]]:
    """Return the attributes of other resources that each resource reads: its definition, and its type besides.

    ``named`` are the type names by resource.
    """
    read: dict[str, frozenset[tuple[str, AttributePath]]] = {}
    for name, definition in template.resources.items():
        read[name] = definition.required_attributes
        kind = types.get(named[name])
        if kind is None or not kind.reads:
            continue
        for other in definition.properties_expression.requirements():
            target = types.get(named.get(other, ""))
            if target is not None:
                also = kind.reads & target.attributes_schema.keys()
                read[name] |= {(other, (attribute,)) for attribute in also}
    return read


def check_timeout(minutes: float | None) -> None:
    """Refuse a timeout that is not a positive number of minutes.

    Raises:
        InvalidInput: it is not one.
    """
    if minutes is None:
        return
    if isinstance(minutes, bool) or not isinstance(minutes, (int, float)) or not 0 < minutes < 1e7:
        problem = Problem(
            path="timeout_minutes", message=f"expected a positive number of minutes, got {minutes!r}"
        )
        raise InvalidInput([problem])


def known_properties(
    name: str, fragment: Mapping[str, object], stack: Callable[[ResourceDefinition], StackDefinition]
) -> dict[str, object]:
    """Return the properties of a resource by an earlier definition, as far as they are known in a stack."""
    try:
        definition = ResourceDefinition.from_fragment(name, fragment)
        properties = definition.resolve_properties(stack(definition))
    except IsothermError:
        # That definition cannot be resolved any more: nothing is known.
        return {}
    return {name: value for name, value in properties.items() if not is_unknown(value)}
