"""The values of a template's parameters, or what is wrong with them."""

from collections.abc import Mapping
from typing import Any

from orchestrator.errors import InvalidInput
from orchestrator.template.environment import Environment
from orchestrator.template.parameters import Parameters
from orchestrator.template.template import Template


def settled(template: Template, environment: Environment, *, pseudo: Mapping[str, Any]) -> Parameters:
    """Return the values; raise ``InvalidInput`` with what is wrong with those given."""
    found = template.draft.settle(environment, pseudo=pseudo)
    if found.problems:
        raise InvalidInput(found.problems)
    return found.parameters
