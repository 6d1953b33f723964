"""Warnings about deprecated types, properties and attributes in a valid template."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from orchestrator.definition import is_unknown
from orchestrator.errors import Problem, cut
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.validating import outdated_properties
from orchestrator.template.definitions import Definition, ResolveError, ResourceDefinition
from orchestrator.template.locations import is_template
from orchestrator.validation.examiner import Examined
from orchestrator.validation.rules import Types


def outdated_warnings(examined: Examined, types: Types) -> Iterator[Problem]:
    """Yield the warnings about a template and its nested templates, in the order of resources."""
    outdated = {name: kind for name, kind in examined.used(types).items() if _has_outdated(kind)}
    if outdated:
        yield from _warnings(examined, outdated)


def _warnings(examined: Examined, outdated: Types) -> Iterator[Problem]:
    """Yield the warnings about a template; ``outdated`` are the types with deprecations."""
    kinds = {name: outdated[actual] for name, actual in examined.types.items() if actual in outdated}
    for name, definition in examined.template.resources.items():
        actual = examined.types[name]
        if name in kinds:
            yield from _of_type(examined, definition, actual, kinds[name])
        if kinds:
            yield from _of_attributes(examined, definition, kinds)
        if name in examined.nested:
            inner = _warnings(examined.nested[name], outdated)
            yield from inner if is_template(actual) else _at_properties(examined, definition, inner)
    for output in examined.template.outputs.values() if kinds else ():
        yield from _of_attributes(examined, output, kinds)


def _of_type(
    examined: Examined, definition: ResourceDefinition, actual: str, kind: type[Resource]
) -> Iterator[Problem]:
    template, words = examined.template, definition.dialect
    if kind.support_status.is_outdated:
        message = f"the resource type {cut(actual)!r} is {kind.support_status.describe()}"
        yield template.problem((*definition.path, words.type), message)
    if definition.external_id is not None:
        return
    whole = definition.properties_expression
    try:
        if whole.is_call and is_unknown(whole.resolve(examined.blank)):
            return
        given = definition.resolve_properties(examined.blank)
    except ResolveError:
        # Reported by the examiner.
        return
    for fault in outdated_properties(kind, given):
        shown = definition.redacted(fault, examined.parameters.hidden, kind.properties_schema)
        yield template.problem((*definition.path, words.properties, *shown.path), shown.message)


def _of_attributes(
    examined: Examined, holder: Definition, kinds: Mapping[str, type[Resource]]
) -> Iterator[Problem]:
    for name, attribute in sorted(holder.required_attributes, key=repr):
        schema = kinds[name].attributes_schema.get(str(attribute[0])) if name in kinds else None
        if schema is not None and schema.support_status.is_outdated:
            status = schema.support_status.describe()
            message = f"the attribute {cut(str(attribute[0]))!r} of resource {name!r} is {status}"
            yield examined.template.problem(holder.place_of(name, attribute), message)


def _at_properties(
    examined: Examined, definition: ResourceDefinition, inner: Iterator[Problem]
) -> Iterator[Problem]:
    """Yield warnings about a generated template at the properties that it was generated from."""
    place = (*definition.path, definition.dialect.properties)
    position = examined.template.problem(place, "")
    for each in inner:
        yield replace(each, path=position.path, position=position.position)


def _has_outdated(kind: type[Resource]) -> bool:
    statuses = [kind.support_status, *(each.support_status for each in kind.attributes_schema.values())]
    return any(each.is_outdated for each in statuses) or _any_outdated(kind.properties_schema.values())


def _any_outdated(schemas: Collection[Property]) -> bool:
    for schema in schemas:
        inner = schema.schema
        children = [inner] if isinstance(inner, Property) else list((inner or {}).values())
        if schema.support_status.is_outdated or _any_outdated(children):
            return True
    return False
