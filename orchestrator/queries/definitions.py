"""The definition of a stack by one operation, for faces; hidden values are masked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.template.hiding import HIDDEN
from orchestrator.views.stacks import View

if TYPE_CHECKING:
    from orchestrator.store.history.past import TraversalRow
    from orchestrator.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionView(View):
    """A definition: the template's text, the parameters, and the names of environments and files."""

    traversal_id: str
    #: The template's name and text; defaults that are not shown are replaced by asterisks.
    file: str
    source: str
    #: The values by name; hidden ones are masked. None for each if no values are shown.
    parameters: Mapping[str, Any]
    #: The names of environments, and of files with their lengths in characters.
    environments: tuple[str, ...]
    files: tuple[tuple[str, int], ...]
    #: Whether values of parameters are shown, but for hidden ones.
    shows_values: bool = True


def definition_of(store: "Store", traversal: "TraversalRow", *, shows_values: bool) -> DefinitionView:
    """Return the definition that an operation gave a stack.

    With ``shows_values``, values of parameters are shown, their defaults in the template included; hidden ones never
    are.
    """
    from orchestrator.template.masking import shown_source

    stored = store.templates.load(traversal.template_id)
    context = store.traversals.context(traversal.id)
    shown = shown_parameters(context)
    return DefinitionView(
        traversal_id=traversal.id,
        file=stored.file,
        source=shown_source(stored.source, with_defaults=shows_values),
        parameters=shown if shows_values else dict.fromkeys(shown),
        environments=tuple(file for file, _ in stored.environments),
        files=tuple((name, len(store.templates.file(digest))) for name, digest in stored.files.items()),
        shows_values=shows_values,
    )


def shown_parameters(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a traversal's context without pseudo parameters; hidden values are masked."""
    hidden = set(context.get("hidden", ()))
    given = {name: value for name, value in context["parameters"].items() if not is_pseudo(name)}
    return {name: HIDDEN if name in hidden else value for name, value in given.items()}


def is_pseudo(name: str) -> bool:
    """Return whether a parameter is a pseudo parameter, such as ``OS::stack_name``."""
    return "::" in name
