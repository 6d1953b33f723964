"""Imports: existing objects that are taken into a stack which exists already, and what must be true of the rest.

Pure functions. An import changes no object: the definition must leave all other resources as they are. All problems
are reported together, before anything is stored.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.graph import Graph
from orchestrator.model.plan import IMPORTED, DesiredResource, Match, begins_no_update
from orchestrator.planning.adoption import adopted_rows
from orchestrator.planning.comparison import Comparison
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.store.traversals.new_traversal import Adopted
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types

_ELSEWHERE: Final = (
    "an import changes nothing else: update the stack first, or import by the present definition"
)


def with_imports(
    compared: Comparison, entries: Mapping[str, Any], types: Types
) -> tuple[Comparison, Mapping[str, Adopted]]:
    """Return a comparison in which the resources of ``entries`` are imported, and their objects by the new row's id.

    ``entries`` are as in an adopt file, by the resource's name.

    Raises:
        InvalidInput: an entry does not fit, or the definition would change something else; all problems are listed.
    """
    desired = {each.name: each for each in compared.desired_resources}
    read = _read_again(compared, desired, entries)
    problems = [*_faults(compared, desired, entries, types), *_changes(compared, entries, read, types)]
    if problems:
        raise InvalidInput(problems)
    made = {
        name: replace(
            desired[name],
            resource_id=str(uuid.uuid4()),
            fragment={**desired[name].fragment, IMPORTED: True},
        )
        for name in entries
    }
    adopted = adopted_rows(compared.prepared, list(made.values()), entries, types)
    matches = {**compared.matches, **dict.fromkeys(entries, Match())}
    made |= {name: begins_no_update(desired[name]) for name in read}
    resources = [made.get(each.name, each) for each in compared.desired_resources]
    return replace(compared, desired_resources=resources, matches=matches), adopted


def _faults(
    compared: Comparison, desired: Mapping[str, DesiredResource], entries: Mapping[str, Any], types: Types
) -> Iterator[Problem]:
    """Yield the problems of the resources that are named; those of their entries are found by the adoption."""
    nearest, template = Nearest(), compared.prepared.template
    present = {row.name: row for row in compared.rows}
    spare = [name for name in desired if name not in present]
    if not entries:
        yield Problem(path="resources", message="expected at least one resource, found none")
    for name in entries:
        path = f"resources.{name}"
        if name not in desired:
            hint = nearest.hint(name, spare, "add the resource to the template first")
            if "/" in name:
                hint = "what is in a nested stack cannot be imported: only resources of the stack itself"
            yield Problem(path=path, message="the template has no such resource", hint=hint)
            continue
        if row := present.get(name):
            state = f"{row.action}_{row.status}"
            yield Problem(
                path=path,
                message=f"the stack has the resource already ({state}, {row.physical_id or 'without an object'})",
                hint="remove it by an update first, with deletion_policy: Retain to keep its object",
            )
        kind = kind_of_type(types, desired[name].type)
        if kind is not None and issubclass(kind, StackResource):
            message = f"{desired[name].type} is a nested stack, which cannot be imported"
            yield Problem(path=path, message=message, hint="isotherm stack adopt takes whole stacks")
        elif kind is not None and kind.is_row:
            message = f"a resource of the type {desired[name].type} has no object outside of its stack"
            yield Problem(path=path, message=message, hint="an update makes it")
        if template.resources[name].external_id is not None:
            message = "the template has an external_id: its object is not owned by the stack"
            yield Problem(path=path, message=message, hint="an update takes it as it is")


def _read_again(
    compared: Comparison, desired: Mapping[str, DesiredResource], entries: Mapping[str, Any]
) -> frozenset[str]:
    """Return the resources that are visited to read attributes to which imported ones refer, and their dependents."""
    read: set[str] = set()
    for name in Graph({name: each.requires for name, each in desired.items()}).in_order():
        match = compared.matches[name]
        if name not in entries and (match.read_only or not read.isdisjoint(desired[name].requires)):
            read.add(name)
    return frozenset(read)


def _changes(
    compared: Comparison, entries: Mapping[str, Any], read: Collection[str], types: Types
) -> Iterator[Problem]:
    """Yield what the definition would change of resources that are not imported, ``read`` are visited to be read."""
    kept = {match.row.id for match in compared.matches.values() if match.row is not None}
    for name, before in compared.moved.paths.items():
        message = f"the environment moves {before!r} to it"
        yield Problem(path=f"resources.{name}", message=message, hint=_ELSEWHERE)
    for name, match in compared.matches.items():
        if name in entries:
            continue
        path = f"resources.{name}"
        kind = kind_of_type(types, match.row.type) if match.row else None
        is_left_alone = match.clean or match.read_only
        if match.row is None:
            hint = f"import its object as well ({name}=ID), or leave it to an update"
            yield Problem(path=path, message="the stack has no such resource yet", hint=hint)
        elif not is_left_alone or (name in read and (kind is None or kind.always_updates)):
            message = "an update by this definition would visit the resource, and may change it"
            yield Problem(path=path, message=message, hint=_ELSEWHERE)
    for row in compared.rows:
        if row.id not in kept and row.name not in entries:
            message = "an update by this definition would remove it from the stack"
            yield Problem(path=f"resources.{row.name}", message=message, hint=_ELSEWHERE)
