"""Validation rules: a function for each kind of problem with a parsed template; all are pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from itertools import islice
from typing import Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.definition import StackDefinition, is_unknown
from orchestrator.errors import NotVerified, PluginMistake, Problem, cut, typed_message
from orchestrator.model.graph import CircularDependency, Graph
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.properties import (
    EVERY_ATTRIBUTE,
    PropertyError,
    PropertyNotVerified,
    check_properties,
)
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.validating import property_faults
from orchestrator.template.definitions import SNAPSHOT, Definition, ResolveError, ResourceDefinition
from orchestrator.template.template import Template

Types = Mapping[str, type[Resource]]

#: Longer lists of attributes are cut in messages.
_SHOWN_ATTRIBUTES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencedType:
    """The facts about a resource's type that references to the resource are checked with."""

    #: The name of the type in messages.
    name: str
    attributes: Collection[str]
    accepts_anything: bool = False
    #: The unsupported attributes, with advice on what to use instead.
    refused: Mapping[str, str] = field(default_factory=dict)


def cycle_problems(template: Template) -> Iterator[Problem]:
    """Yield a problem if resources require each other."""
    known = template.resources.keys()
    graph = Graph({name: each.requirements & known for name, each in template.resources.items()})
    try:
        graph.in_order()
    except CircularDependency as error:
        path = template.resources[error.cycle[0]].path
        yield template.problem(path, str(error), "take one of these references or depends_on away")


def type_problem(
    template: Template, definition: ResourceDefinition, actual: str, types: Types, nearest: Nearest
) -> Problem:
    """Return the problem with a resource whose type is not installed."""
    offered = [name for name, kind in types.items() if not kind.support_status.is_hidden]
    hint = nearest.hint(actual, offered, "'isotherm resource-type list' shows those there are")
    path = (*definition.path, definition.dialect.type)
    return template.problem(path, f"there is no resource type {cut(actual)!r}", hint)


def support_problems(
    template: Template, definition: ResourceDefinition, actual: str, kind: type[Resource] | None
) -> Iterator[Problem]:
    """Yield a problem if the type of a resource is not supported."""
    if kind is not None and kind.support_status.is_refused:
        status = kind.support_status
        since = f" since {status.version}" if status.version else ""
        message = f"the resource type {cut(actual)!r} is not supported{since}"
        yield template.problem((*definition.path, definition.dialect.type), message, status.advice)


def policy_problems(
    template: Template, definition: ResourceDefinition, kind: type[Resource] | None, types: Types
) -> Iterator[Problem]:
    """Yield the problems with the deletion policy and the update policy of a resource."""
    words = definition.dialect
    if definition.deletion_policy == SNAPSHOT and not (kind and kind.implements("handle_snapshot_delete")):
        message = f"a resource of type {cut(definition.type)!r} leaves no snapshot behind when it is deleted"
        able = sorted(name for name, each in types.items() if each.implements("handle_snapshot_delete"))
        hint = f"use Delete or Retain; types that do: {_listed(able)}"
        yield template.problem((*definition.path, words.deletion_policy), message, hint)
    if kind is None or not definition.update_policy:
        return
    path = (*definition.path, words.update_policy)
    schema = kind.update_policy_schema
    if not schema:
        message = f"a resource of type {cut(definition.type)!r} has no update policy"
        yield template.problem(path, message, "take it away")
        return
    for fault in check_properties(schema, definition.update_policy):
        yield template.problem((*path, *fault.path), fault.message, fault.hint)


def attribute_problems(
    template: Template,
    holder: Definition,
    types: Mapping[str, ReferencedType],
    nearest: Nearest,
) -> Iterator[Problem]:
    """Yield a problem for each reference to an attribute that the resource's type does not have."""
    for name, attribute in sorted(holder.required_attributes, key=repr):
        kind, wanted = types.get(name), attribute[0]
        if kind is not None and (refused := kind.refused.get(str(wanted))) is not None:
            message = f"the attribute {cut(str(wanted))!r} of resource {name!r} is not supported"
            yield template.problem(holder.place_of(name, attribute), message, refused)
        if kind is None or kind.accepts_anything or wanted in kind.attributes or wanted in EVERY_ATTRIBUTE:
            continue
        hint = nearest.hint(str(wanted), kind.attributes, f"attributes: {_listed(kind.attributes)}")
        message = f"resource {name!r} ({cut(kind.name)}) has no attribute {cut(str(wanted))!r}"
        yield template.problem(holder.place_of(name, attribute), message, hint)


def _listed(attributes: Collection[str]) -> str:
    shown = sorted(islice(attributes, _SHOWN_ATTRIBUTES))
    more = ", ..." if len(attributes) > len(shown) else ""
    return f"{', '.join(map(cut, shown)) or 'none'}{more}"


def snapshot_problems(
    template: Template, definition: ResourceDefinition, kind: type[Resource], clients: NamedClients
) -> Iterator[Problem]:
    """Yield a problem if the other system cannot take the snapshot that the deletion policy asks for.

    Raises:
        NotVerified: the system could not be queried.
    """
    if definition.deletion_policy != SNAPSHOT:
        return
    path = (*definition.path, definition.dialect.deletion_policy)
    try:
        refusal = kind.refuses_snapshots(clients)
    except PluginMistake:
        raise
    except Exception as error:
        message = f"it is not known whether snapshots can be taken: {typed_message(error)}"
        raise NotVerified(template.problem(path, message)) from error
    if refusal:
        yield template.problem(path, refusal, "use Delete or Retain")


def property_problems(
    template: Template,
    definition: ResourceDefinition,
    kind: type[Resource],
    stack: StackDefinition,
    hidden: Collection[str],
    *,
    clients: NamedClients | None = None,
) -> Iterator[Problem]:
    """Yield the problems with the properties of a resource, as far as their values are known.

    Raises:
        NotVerified: another system could not be queried by ``clients``.
    """
    place = (*definition.path, definition.dialect.properties)
    try:
        faults = _faults_of(definition, kind, stack, clients)
    except ResolveError as error:
        yield error.problem
        return
    except PropertyNotVerified as error:
        shown = definition.redacted(error.fault, hidden, kind.properties_schema)
        raise NotVerified(template.problem((*place, *shown.path), shown.message, shown.hint)) from error
    for fault in faults:
        shown = definition.redacted(fault, hidden, kind.properties_schema)
        yield template.problem((*place, *shown.path), shown.message, shown.hint)


def _faults_of(
    definition: ResourceDefinition,
    kind: type[Resource],
    stack: StackDefinition,
    clients: NamedClients | None,
) -> list[PropertyError]:
    whole = definition.properties_expression
    if whole.is_call and is_unknown(whole.resolve(stack)):
        return []
    given = definition.resolve_properties(stack)
    definition.resolve_metadata(stack)
    return property_faults(kind, given, clients=clients)
