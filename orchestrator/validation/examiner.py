"""Examination of a template under an environment: all problems are found in one pass; properties are checked offline.

A mistake stops only the checks that depend on it: the properties of a resource with a wrong reference are not checked,
and values that depend on a parameter without a value stay open.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from orchestrator.errors import InvalidInput, Problem
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import Blueprint, StackResource
from orchestrator.plugins.validating import schema_faults, typed_properties
from orchestrator.sandbox.budget import check_time
from orchestrator.template.definitions import ResolveError, ResourceDefinition
from orchestrator.template.environment import Environment
from orchestrator.template.generated import generated_template
from orchestrator.template.given import Given
from orchestrator.template.locations import FilesFrom, base_of_key, is_template
from orchestrator.template.nested_templates import (
    CannotNest,
    NestedTemplates,
    attributes_of_nested,
    facade_problems,
    generated_key,
    nested_environment,
    parent_of,
)
from orchestrator.template.parameters import Parameters
from orchestrator.template.stack_source import stack_source
from orchestrator.template.template import Draft, Template
from orchestrator.validation.implied import implied_requirements
from orchestrator.validation.rules import (
    ReferencedType,
    Types,
    attribute_problems,
    cycle_problems,
    policy_problems,
    property_problems,
    support_problems,
    type_problem,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """An examined template: its environment, parameters, types and nested templates."""

    template: Template
    environment: Environment
    parameters: Parameters
    #: By resource: its actual type after aliases, an installed type or the key of a template.
    types: Mapping[str, str]
    #: The stack before anything exists: it has every resource, with unknown values, and any other name that calls refer
    #: to, whose absence is a problem of its own.
    blank: StackDefinition
    #: By resource: its nested template.
    nested: Mapping[str, "Examined"]

    def used(self, types: Types) -> dict[str, type[Resource]]:
        """Return those of the installed types that resources of this template and of nested ones have."""
        found = {name: types[name] for name in dict.fromkeys(self.types.values()) if name in types}
        for nested in self.nested.values():
            found |= nested.used(types)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a template in the tree of nested templates."""

    #: The stack's name, id and project; of a nested stack, only the project is known.
    stack: StackDefinition
    pseudo: Mapping[str, Any]
    #: The directory of the template's file, relative to the root template's; empty for the root's own.
    base: str = ""
    #: The keys of this template and of the enclosing ones, outermost first; empty for the outermost.
    within: tuple[str, ...] = ()
    #: The name of the outermost template's file, if the examination begins with this template.
    root: str | None = None


class Examiner:
    """Examines a root template and its nested templates; adds what is wrong to ``problems``."""

    def __init__(
        self,
        types: Types,
        settings: Settings,
        files: Mapping[str, str],
        *,
        offline: bool,
        values_required: bool,
        clients: NamedClients | None = None,
    ) -> None:
        """Keep the arguments.

        With ``offline``, constraints whose plugin is not installed are skipped. ``clients`` query other systems about
        parameters; for properties see :mod:`orchestrator.validation.external`. Without ``values_required``, parameters
        may have no value, those of nested templates included.
        """
        self.problems: list[Problem] = []
        self._types, self._settings, self._files = types, settings, files
        self._offline, self._values_required = offline, values_required
        self._clients = clients
        self._nested = NestedTemplates(files, Limits.of(settings))
        self._nearest = Nearest()

    def examine(self, draft: Draft, environment: Environment, place: Place) -> Examined:
        """Examine a template and, as far as they can be read, its nested templates.

        Raises:
            NotVerified: another system could not be queried about a parameter.
            InvalidInput: the time limit of the evaluation is exceeded.
        """
        if place.root is not None:
            self._nested.begin(draft, place.root)
        settled = draft.settle(environment, pseudo=place.pseudo, offline=self._offline, clients=self._clients)
        template = draft.under(settled.parameters.values, settled.parameters.hidden)
        wrong = [*template.problems, *template.check_references(), *cycle_problems(template)]
        self.problems += [*settled.problems, *wrong]
        if self._values_required and place.root is not None:
            self.problems += settled.missing
        examined = self._examined(template, environment, settled.parameters, place)
        if not wrong:
            examined = self._with_implied(examined)
            template = examined.template
        types = self._referenced_types(examined)
        for definition in template.resources.values():
            check_time(partial(template.problem, definition.path))
            self._check(examined, definition, types)
        for output in template.outputs.values():
            self.problems += attribute_problems(template, output, types, self._nearest)
        return examined

    def _examined(
        self, template: Template, environment: Environment, parameters: Parameters, place: Place
    ) -> Examined:
        blank = _blank(template, environment, parameters, place, FilesFrom(place.base, self._files))
        types = {name: self._actual(template, environment, each) for name, each in template.resources.items()}
        examined = Examined(
            template=template,
            environment=environment,
            parameters=parameters,
            types=types,
            blank=blank,
            nested={},
        )
        nested: dict[str, Examined | None] = {}
        for name, actual in types.items():
            definition, kind = template.resources[name], self._types.get(actual)
            if is_template(actual):
                nested[name] = self._examine_nested(examined, definition, place)
            elif kind is not None and issubclass(kind, StackResource) and definition.external_id is None:
                nested[name] = self._examine_generated(examined, definition, kind, place)
        return replace(examined, nested={name: each for name, each in nested.items() if each})

    def _with_implied(self, examined: Examined) -> Examined:
        """Return the examined template with the requirements that types of resources add."""
        kinds = {name: self._types.get(actual) for name, actual in examined.types.items()}
        implied = implied_requirements(examined.template.resources, kinds, examined.blank)
        return replace(examined, template=examined.template.with_implied(implied))

    @staticmethod
    def _actual(template: Template, environment: Environment, definition: ResourceDefinition) -> str:
        check_time(partial(template.problem, definition.path))
        return environment.registry.actual(definition.type, (definition.name,))

    def _referenced_types(self, examined: Examined) -> dict[str, ReferencedType]:
        types: dict[str, ReferencedType] = {}
        installed: dict[str, ReferencedType] = {}
        for name, actual in examined.types.items():
            if actual in installed:
                types[name] = installed[actual]
            elif name in examined.nested and is_template(actual):
                attributes = attributes_of_nested(examined.nested[name].template)
                types[name] = ReferencedType(name=actual, attributes=attributes)
            elif actual in self._types:
                types[name] = installed[actual] = _referenced(actual, self._types[actual])
        return types

    def _check(
        self, examined: Examined, definition: ResourceDefinition, types: Mapping[str, ReferencedType]
    ) -> None:
        template, actual = examined.template, examined.types[definition.name]
        kind = self._types.get(actual)
        self.problems += support_problems(template, definition, actual, kind)
        self.problems += policy_problems(template, definition, kind, self._types)
        if kind is None and not is_template(actual) and definition.type:
            self.problems.append(type_problem(template, definition, actual, self._types, self._nearest))
        self.problems += attribute_problems(template, definition, types, self._nearest)
        if kind is not None and definition.external_id is None:
            self.problems += property_problems(
                template,
                definition,
                kind,
                examined.blank,
                examined.parameters.hidden,
            )

    def _examine_nested(
        self, examined: Examined, definition: ResourceDefinition, place: Place
    ) -> Examined | None:
        """Examine the nested template of a resource; None, after recording a problem, if that is impossible."""
        template, key = examined.template, examined.types[definition.name]
        where = (*definition.path, definition.dialect.type)
        check_time(partial(template.problem, where))
        try:
            draft = self._nested.draft(key, place.within)
        except InvalidInput as error:
            self.problems += error.problems
            return None
        except CannotNest as error:
            self.problems.append(template.problem(where, str(error), error.hint))
            return None
        facade = self._types.get(definition.type)
        if facade is not None:
            self.problems += facade_problems(template, definition, facade, draft)
        environment, problems = nested_environment(
            examined.environment,
            definition,
            draft,
            examined.blank,
            examined.parameters.hidden,
            values_required=self._values_required,
        )
        self.problems += problems
        return self.examine(draft, environment, _inside(examined, definition, place, key, base_of_key(key)))

    def _examine_generated(
        self, examined: Examined, definition: ResourceDefinition, kind: type[StackResource], place: Place
    ) -> Examined | None:
        """Examine the template that a resource's type generates, as far as it is known; None if nothing is known."""
        template, hidden = examined.template, examined.parameters.hidden
        where = (*definition.path, definition.dialect.type)
        blueprint = _blueprint_of(definition, kind, examined.blank)
        if blueprint is None:
            return None
        is_secret = definition.properties_expression.covered(blueprint.place, hidden) is not None
        text = generated_template(blueprint.child, is_secret=is_secret)
        key = generated_key(definition.name)
        outer, self.problems = self.problems, []
        try:
            with self._nested.repeated(blueprint.times):
                draft = self._nested.generated(text.source, blueprint.child.file, place.base, place.within)
                given = {
                    name: Given(value, is_secret=name in text.secrets)
                    for name, value in text.parameters.items()
                }
                environment = examined.environment.for_nested(definition.name, definition.type, given)
                return self.examine(draft, environment, _inside(examined, definition, place, key, place.base))
        except CannotNest as error:
            outer.append(template.problem(where, str(error), error.hint))
            return None
        except InvalidInput as error:
            self.problems += error.problems
            return None
        finally:
            found = self.problems
            if not isinstance(blueprint.child.template, str):
                found = [_at_properties(problem, definition, blueprint) for problem in found]
            self.problems = [*outer, *dict.fromkeys(found)]


def _referenced(name: str, kind: type[Resource]) -> ReferencedType:
    return ReferencedType(
        name=name,
        attributes=kind.attributes_schema,
        # The attributes of a stack depend on its resources.
        accepts_anything=kind.accepts_anything or kind.any_attribute or issubclass(kind, StackResource),
        refused={
            each: attribute.support_status.advice
            for each, attribute in kind.attributes_schema.items()
            if attribute.support_status.is_refused
        },
    )


def _inside(examined: Examined, definition: ResourceDefinition, place: Place, key: str, base: str) -> Place:
    project = {name: place.pseudo[name] for name in ("OS::project_id",)}
    return Place(
        stack=replace(examined.blank, name="", id="", parent=parent_of(definition, examined.blank)),
        pseudo={**dict.fromkeys(place.pseudo, UNKNOWN), **project},
        base=base,
        within=(*place.within, key),
    )


def _blueprint_of(
    definition: ResourceDefinition, kind: type[StackResource], blank: StackDefinition
) -> Blueprint | None:
    """Return the blueprint of a resource's nested stack; None if it is not known, or the properties are wrong."""
    try:
        if definition.properties_expression.is_call:
            return None
        given = definition.resolve_properties(blank)
        if schema_faults(kind, given):
            # Reported with the resource's properties.
            return None
        return kind.blueprint(definition.name, typed_properties(kind, given))
    except (ResolveError, PropertyError):
        return None


def _at_properties(problem: Problem, definition: ResourceDefinition, blueprint: Blueprint) -> Problem:
    """Return a problem with a generated template as one with the properties that it was generated from."""
    place = (*definition.path, definition.dialect.properties, *blueprint.place)
    # The first two steps are the section, and the name that the type generated.
    inner = tuple(problem.path.split(".")[2:])
    return definition.positions.problem((*place, *inner), problem.message, problem.hint)


class _Parameters(dict[str, Any]):
    """Parameters with a value for every name: missing ones are reported as wrong references."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> object:
        return UNKNOWN


class _Resources(dict[str, ResourceProxy]):
    """Resources with a proxy for every name; see :class:`_Parameters`."""

    def __missing__(self, name: str) -> ResourceProxy:
        return ResourceProxy(name=name)


def _blank(
    template: Template,
    environment: Environment,
    parameters: Parameters,
    place: Place,
    files: Mapping[str, str],
) -> StackDefinition:
    present = [name for name in template.draft.resource_names if name not in template.disabled]
    types = {name: definition.type for name, definition in template.resources.items()}
    proxies = {name: ResourceProxy(name=name, type=types.get(name, "")) for name in present}
    return replace(
        place.stack,
        parameters=_Parameters(parameters.values),
        resources=_Resources(proxies),
        files=files,
        source=cache(
            partial(
                stack_source,
                template.source,
                template.version,
                environment,
                parameters,
                place.stack.parent.source if place.stack.parent else None,
            )
        ),
    )
