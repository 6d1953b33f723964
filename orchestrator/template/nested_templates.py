"""Nested templates: templates used as resource types, their environments, and the types that they replace."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from hooks.values.nearest import Nearest
from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, ParentResourceProxy, StackDefinition
from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.model.nested_stack import Nesting
from orchestrator.plugins.properties import PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.sandbox.budget import TooMuch, keep
from orchestrator.template.definitions import ResolveError, ResourceDefinition
from orchestrator.template.document import dotted
from orchestrator.template.environment import Environment
from orchestrator.template.given import Given
from orchestrator.template.locations import FilesFrom, base_of_key, is_template, location_of
from orchestrator.template.parameter_types import ParameterType
from orchestrator.template.reader import most_nodes
from orchestrator.template.template import Draft, Template

#: The limits of all templates together, as multiples of the limits of one: in characters, and in keys and values. Each
#: use of a template counts.
_MOST_TEXT: Final = 8
_MOST_NODES: Final = 2

#: By the type of a template's parameter: the property types of the replaced resource type that it is compatible with.
_FACADE_TYPES: Final = {
    ParameterType.STRING: {PropertyType.STRING, PropertyType.ANY},
    ParameterType.NUMBER: {PropertyType.NUMBER, PropertyType.INTEGER, PropertyType.ANY},
    ParameterType.LIST: {PropertyType.LIST, PropertyType.ANY},
    ParameterType.JSON: {PropertyType.MAP, PropertyType.ANY},
    ParameterType.BOOLEAN: {PropertyType.BOOLEAN, PropertyType.ANY},
}


class CannotNest(ValueError):
    """A template cannot be used as a resource type; the message has the reason."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NestedTemplates:
    """The templates among a job's files, each parsed once, and the total size of their uses."""

    def __init__(self, files: Mapping[str, str], limits: Limits) -> None:
        self._files, self._limits = files, limits
        self._root = ""
        self._drafts: dict[str, Draft] = {}
        #: The keys of files that are no templates.
        self._unreadable: set[str] = set()
        self._nearest = Nearest()
        self._resources = self._nodes = self._characters = 0
        self._times = 1

    def begin(self, root: Draft, root_file: str) -> None:
        """Count the root template, which keeps the limits by itself; ``root_file`` is its location."""
        self._resources, self._characters = len(root.resource_names), len(root.source)
        self._nodes = root.document.nodes
        self._root = root_file

    @contextmanager
    def repeated(self, times: int) -> Iterator[None]:
        """Multiply the resources counted meanwhile by ``times``: a group's member is examined once."""
        before, self._times = self._times, self._times * times
        yield
        self._times = before

    def _count(self, draft: Draft) -> None:
        self._resources += self._times * len(draft.resource_names)
        self._characters += len(draft.source)
        self._nodes += draft.document.nodes

    def _refuse_more(self) -> None:
        limits, used = self._limits, "the templates that are used here"
        more = "raise the setting {}, or make several stacks of it"
        if self._resources > limits.max_resources:
            message = f"with {used} there are more than {limits.max_resources} resources"
            raise CannotNest(message, more.format("max_resources_per_stack"))
        if self._nodes > (most := _MOST_NODES * most_nodes(limits.max_bytes)):
            message = f"{used} have more than {most} keys and values"
            raise CannotNest(message, more.format("max_template_bytes"))
        if self._characters > _MOST_TEXT * limits.max_bytes:
            message = f"{used} have more than {_MOST_TEXT} times {limits.max_bytes} bytes"
            raise CannotNest(message, more.format("max_template_bytes"))

    def generated(self, source: str, file: str, base: str, within: tuple[str, ...]) -> Draft:
        """Return the template with this text, which a resource type generated, for use inside ``within``.

        Raises:
            CannotNest: a limit of depth or size is exceeded.
            InvalidInput: the text is no template at all.
        """
        self._refuse_deeper(within)
        files = FilesFrom(base, self._files)
        draft = Draft.read(source, file=file, files=files, limits=self._limits)
        self._count(draft)
        self._refuse_more()
        return draft

    def _refuse_deeper(self, within: tuple[str, ...]) -> None:
        if len(within) >= self._limits.max_nested_depth:
            raise CannotNest(
                f"templates in templates go deeper than {self._limits.max_nested_depth} levels",
                "raise the setting max_nested_stack_depth",
            )

    def draft(self, key: str, within: tuple[str, ...]) -> Draft:
        """Return the template with this key, for use inside the templates ``within``.

        Raises:
            CannotNest: there is no such file, a limit of depth or size is exceeded, or the template uses itself.
            InvalidInput: the file is no template at all; the problems are given the first time only.
        """
        if key in within:
            circle = " -> ".join((*within[within.index(key) :], key))
            raise CannotNest(f"the template uses itself: {circle}")
        self._refuse_deeper(within)
        if key in self._unreadable:
            raise InvalidInput([])
        self._refuse_more()
        draft = self._drafts.get(key) or self._read(key)
        self._count(draft)
        self._refuse_more()
        # A template that exceeds a limit is not kept.
        self._drafts[key] = draft
        return draft

    def _read(self, key: str) -> Draft:
        if key not in self._files:
            hint = self._nearest.hint(key, self._files)
            raise CannotNest(f"no file {cut(key)!r} came with the template", hint)
        files = FilesFrom(base_of_key(key), self._files)
        # Users know the file by its location, not by its key.
        file = location_of(key, self._root)
        try:
            return Draft.read(self._files[key], file=file, files=files, limits=self._limits)
        except InvalidInput:
            self._unreadable.add(key)
            raise


def nested_environment(
    environment: Environment,
    definition: ResourceDefinition,
    draft: Draft,
    stack: StackDefinition,
    hidden: Collection[str],
    *,
    values_required: bool,
) -> tuple[Environment, list[Problem]]:
    """Return the environment of a resource's nested template, and the problems with its parameters.

    Its parameters are the resource's properties, ``UNKNOWN`` if these cannot be evaluated; ``parameter_defaults`` and
    the registry are inherited. Without ``values_required``, parameters may have no value.
    """
    positions = definition.positions
    place = (*definition.path, definition.dialect.properties)
    try:
        properties = definition.resolve_properties(stack)
        keep(properties)
    except (ResolveError, TooMuch) as error:
        too_much = positions.problem(place, f"what is given here {error}")
        problem = error.problem if isinstance(error, ResolveError) else too_much
        unknown = {name: Given(UNKNOWN, dotted(place)) for name in draft.parameters}
        return environment.for_nested(definition.name, definition.type, unknown), [problem]
    given = {}
    for name, value in properties.items():
        is_secret = definition.properties_expression.covered((name,), hidden) is not None
        path = (*place, name)
        given[name] = Given(value, dotted(path), positions.at(path), is_secret=is_secret)
    defaults = environment.parameter_defaults
    problems = [
        positions.problem(place, f"a value of {schema.name!r} is required by {draft.file}")
        for schema in (draft.parameters.values() if values_required else ())
        if schema.required and properties.get(schema.name) is None and schema.name not in defaults
    ]
    return environment.for_nested(definition.name, definition.type, given), problems


def environment_within(
    root: Environment, nesting: Nesting, parameters: Mapping[str, object]
) -> tuple[Environment, tuple[str, ...]]:
    """Return the environment of a nested stack with these ``parameters``, and the templates that it is nested in.

    These are their keys, outermost first; templates that a resource type generated have placeholders.
    """
    environment, within = root, []
    given = {
        name: Given(value, dotted(("parameters", name)), is_secret=name in nesting.secrets)
        for name, value in parameters.items()
    }
    for index, (name, own_type) in enumerate(nesting.route, start=1):
        actual = environment.registry.actual(own_type, (name,))
        within.append(actual if is_template(actual) else generated_key(name))
        environment = environment.for_nested(name, own_type, given if index == len(nesting.route) else {})
    return environment, tuple(within)


def generated_key(resource: str) -> str:
    """Return the placeholder, among keys of templates, of a template that a resource's type generated."""
    return f"<{resource}>"


def attributes_of_nested(template: Template) -> Collection[str]:
    """Return the attributes of a resource with a nested template: its outputs, and the resources in it."""
    resources = (f"resource.{name}" for name in template.resources)
    return dict.fromkeys((*template.outputs, *resources, "OS::stack_id", "outputs"))


def parent_of(definition: ResourceDefinition, stack: StackDefinition) -> ParentResourceProxy:
    """Return the resource as its nested template sees it."""
    try:
        metadata = definition.resolve_metadata(stack)
    except ResolveError:
        metadata = {}
    return ParentResourceProxy(
        name=definition.name,
        metadata=metadata,
        deletion_policy=definition.deletion_policy,
        update_policy=definition.update_policy,
        source=stack.source,
    )


def facade_problems(
    template: Template, definition: ResourceDefinition, facade: type[Resource], draft: Draft
) -> Iterator[Problem]:
    """Yield a problem for each reason why a template cannot replace an installed type.

    It must have parameters for the type's required properties, of compatible types, require no others, and have an
    output for every attribute of the type.
    """
    where = (*definition.path, definition.dialect.type)
    what = f"{cut(draft.file)} cannot stand in for {cut(definition.type)!r}"
    for name, prop in facade.properties_schema.items():
        schema = draft.parameters.get(name)
        if schema is None and prop.required:
            yield template.problem(where, f"{what}: it has no parameter {name!r}")
        elif schema is not None and prop.type not in _FACADE_TYPES[schema.type]:
            message = (
                f"{what}: its parameter {name!r} is of the type {schema.type}, the property is a {prop.type}"
            )
            yield template.problem(where, message)
    if not facade.accepts_anything:
        for name, schema in draft.parameters.items():
            if schema.required and name not in facade.properties_schema:
                yield template.problem(where, f"{what}: the type has no property {name!r}, which it requires")
    for name in facade.attributes_schema:
        if name not in draft.output_names:
            yield template.problem(where, f"{what}: it has no output {name!r}")
