"""The template and the environment of a stack as functions and plugins see them, without hidden values."""

from collections.abc import Callable, Collection
from typing import Any

from orchestrator.definition import StackSource
from orchestrator.template.environment import Environment
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.masking import shown_source
from orchestrator.template.parameters import Parameters


def stack_source(
    text: str,
    version: str,
    environment: Environment,
    parameters: Parameters,
    parent: Callable[[], StackSource] | None = None,
) -> StackSource:
    """Return the source of a stack with these ``parameters``; the values of hidden ones are masked.

    Parameters that the template does not declare are left out of the environment: whether they are hidden is known only
    where they are declared. Event sinks are left out, too: their options may be secrets.
    """
    given = frozenset(name for name, each in environment.parameters.items() if each.value is not None)
    shown = {
        name: HIDDEN if name in parameters.hidden else value for name, value in parameters.values.items()
    }
    defaults = environment.parameter_defaults.keys() - given

    def section(names: Collection[str]) -> dict[str, Any]:
        return {name: value for name, value in shown.items() if name in names}

    return StackSource(
        template=shown_source(text, with_defaults=True),
        template_version=version,
        environment={
            "parameters": section(given),
            "parameter_defaults": section(defaults),
            "resource_registry": environment.registry.to_plain(),
        },
        parent=parent,
    )
