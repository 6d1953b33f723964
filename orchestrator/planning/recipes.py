"""Recipes: what each property of a resource is made of, compared before the values of other resources exist.

Two definitions with the same recipe give a resource the same properties, as soon as the resources that it refers to are
as their definitions say. So a row that was made for an earlier definition is recognized when a stack returns to it,
although the present attributes of other resources are still those of another definition.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from orchestrator.definition import StackDefinition
from orchestrator.errors import IsothermError
from orchestrator.model.graph import Graph
from orchestrator.planning.decision import WHOLE
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.expressions import Expression, unbuilt
from orchestrator.template.template import Template

#: A fingerprint for each property, by name.
Recipe = Mapping[str, bytes]
#: The bytes of a fingerprint; a wrong match by chance would only prefer another row.
_BYTES: Final = 12


def recipes_of(
    template: Template, stack: StackDefinition, types: Mapping[str, str], children: Mapping[str, str]
) -> dict[str, Recipe]:
    """Return the recipe of each resource of a template.

    ``stack`` has the parameters and files, and no values of resources; ``types`` are the types of the resources, and
    ``children`` the fingerprints of nested stacks, both by the resource's name.
    """
    recipes: dict[str, Recipe] = {}
    #: A fingerprint of all that is known of a resource in advance, by name.
    wholes: dict[str, bytes] = {}
    requirements = {name: each.requirements for name, each in template.resources.items()}
    for name in Graph(requirements).in_order():
        definition = template.resources[name]
        recipe = _recipe_of(definition, stack, wholes)
        recipes[name] = recipe
        wholes[name] = _digest(
            types[name], definition.external_id, children.get(name), sorted(recipe.items())
        )
    return recipes


def _recipe_of(definition: ResourceDefinition, stack: StackDefinition, wholes: Mapping[str, bytes]) -> Recipe:
    expression = definition.properties_expression
    entries: Mapping[str, Expression] = {WHOLE: expression} if expression.is_call else expression.entries()
    return {str(name): _fingerprint(entry, stack, wholes) for name, entry in entries.items()}


def _fingerprint(expression: Expression, stack: StackDefinition, wholes: Mapping[str, bytes]) -> bytes:
    try:
        value, names = expression.as_far_as_known(stack)
    except IsothermError:
        # It is known only with the values of other resources whether the call fails.
        value, names = unbuilt(expression.plain), frozenset(expression.requirements())
    return _digest(value, sorted((name, wholes.get(name)) for name in names))


def _digest(*parts: object) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()[:_BYTES]
