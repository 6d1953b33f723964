"""What other systems say of a template in which nothing else is wrong: many are asked at the same time.

Whoever writes a template waits for the slowest answers, not for their sum; and nobody is asked about a template that
is refused anyway.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from orchestrator.errors import Problem
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.custom import Custom, CustomConstraints
from orchestrator.plugins.groups import VersionedProperties
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import Resource
from orchestrator.sandbox.budget import outside
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.validation.examiner import Examined
from orchestrator.validation.rules import Types, property_problems

#: How many requests are under way at a time; a client's own limit may be lower.
AT_ONCE: Final = 16


def outside_problems(examined: Examined, types: Types, clients: ProjectClients) -> list[Problem]:
    """Return what other systems say is wrong with the properties of all resources, in the template's order.

    What ``examined`` says without asking anybody is known to be right already, and to be evaluated in time.

    Raises:
        NotVerified: one of them does not tell.
    """
    asked = list(_asking(examined, {name: kind for name, kind in types.items() if asks_outside(kind)}))
    if not asked:
        return []

    def ask(within: Examined, definition: ResourceDefinition, kind: type[Resource]) -> list[Problem]:
        stack, hidden = within.blank, within.parameters.hidden
        return list(property_problems(within.template, definition, kind, stack, hidden, clients=clients))

    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="asking")
    try:
        with outside():
            answers = [pool.submit(ask, *each) for each in asked]
            return [problem for answer in answers for problem in answer.result()]
    finally:
        # After one did not answer, nobody waits for those that were not asked yet.
        pool.shutdown(cancel_futures=True)


def _asking(
    examined: Examined, types: Types
) -> Iterator[tuple[Examined, ResourceDefinition, type[Resource]]]:
    """Yield the resources of these types, each with the template it is in."""
    for name, definition in examined.template.resources.items():
        kind = types.get(examined.types[name])
        if kind is not None and definition.external_id is None:
            yield examined, definition, kind
        if name in examined.nested:
            yield from _asking(examined.nested[name], types)


def asks_outside(kind: type[Resource]) -> bool:
    """Tell whether another system may have to be asked whether properties of this type are right."""
    # Which rules there are depends on the properties: any of them may resolve a name.
    translates = any("translation_rules" in vars(base) for base in kind.__mro__ if base is not Resource)
    if translates or any(isinstance(group, VersionedProperties) for group in kind.properties_groups):
        return True
    return any(
        isinstance(constraint, Custom) and _is_outside(constraint.name)
        for constraint in _constraints(kind.properties_schema.values())
    )


def _constraints(schemas: Iterable[Property]) -> Iterator[object]:
    for schema in schemas:
        yield from schema.constraints
        inner = schema.schema
        if isinstance(inner, Property):
            yield from _constraints([inner])
        elif inner is not None:
            yield from _constraints(inner.values())


def _is_outside(name: str) -> bool:
    plugin = CustomConstraints.load().get(name)
    return plugin is not None and plugin.asks_outside
