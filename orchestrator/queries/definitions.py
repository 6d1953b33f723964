"""What a stack was to be by one operation, as it is shown to people: never a value that a template hides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.queries.sources import shown_source
from orchestrator.store.history.past import TraversalRow
from orchestrator.store.store import Store
from orchestrator.template.hiding import HIDDEN
from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionView(View):
    """A definition: the template's text, what it was given, and what came with it."""

    traversal_id: str
    #: The template's name and text; asterisks stand for the defaults that are not shown.
    file: str
    source: str
    #: By name; hidden ones are masked. None for each, where no values are shown.
    parameters: Mapping[str, Any]
    #: The names of environments, and of files with how many characters are in each.
    environments: tuple[str, ...]
    files: tuple[tuple[str, int], ...]
    #: Whether values of parameters are shown, but for hidden ones.
    shows_values: bool = True


def definition_of(store: Store, traversal: TraversalRow, *, shows_values: bool) -> DefinitionView:
    """Return the definition that a stack was given by an operation.

    ``shows_values`` is whether values of parameters are shown, their defaults in the template among them; hidden ones
    never are.
    """
    stored = store.templates.load(traversal.template_id)
    context = store.traversals.context(traversal.id)
    hidden = set(context.get("hidden", ()))
    given = {name: value for name, value in context["parameters"].items() if not is_pseudo(name)}
    shown = {name: HIDDEN if name in hidden else value for name, value in given.items()}
    return DefinitionView(
        traversal_id=traversal.id,
        file=stored.file,
        source=shown_source(stored.source, with_defaults=shows_values),
        parameters=shown if shows_values else dict.fromkeys(shown),
        environments=tuple(file for file, _ in stored.environments),
        files=tuple((name, len(store.templates.file(digest))) for name, digest in stored.files.items()),
        shows_values=shows_values,
    )


def is_pseudo(name: str) -> bool:
    """Return whether a parameter is one that every stack has, as ``OS::stack_name``."""
    return "::" in name
