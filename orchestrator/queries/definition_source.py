"""The source of an operation's definition, as far as two definitions are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from orchestrator.config.limits import Limits
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import IsothermError
from orchestrator.planning.stored_templates import load_template
from orchestrator.queries.definitions import is_pseudo
from orchestrator.store.history.past import TraversalRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.templates import StoredTemplate
from orchestrator.template.definitions import PLACE_KEYS, ResourceDefinition
from orchestrator.template.document import read_document

log = get_logger()

#: The parts of an environment that are shown. The others may hold values of parameters, or passwords of event sinks.
_SHOWN: Final = ("resource_registry", "parameter_merge_strategies")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionSource:
    """The texts and values of a definition."""

    traversal_id: str
    #: The template's text, with unmasked values.
    source: str
    #: The parameters by name, without pseudo parameters, and the names of hidden ones.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    #: The digests of files by name, and the parts of environments that may be shown by name.
    files: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, str] = field(default_factory=dict)
    #: The definition of each resource, without its position in the text; None if the template cannot be read.
    resources: Mapping[str, Any] | None = None


def source_of(store: Store, settings: Settings, traversal: TraversalRow) -> DefinitionSource:
    """Return the source of an operation's definition."""
    stored = store.templates.load(traversal.template_id)
    context = store.traversals.context(traversal.id)
    limits = Limits.of(settings)
    resources: dict[str, Mapping[str, object]] | None = None
    try:
        template = load_template(store, traversal.template_id, context, settings)
        resources = {name: _without_place(definition) for name, definition in template.resources.items()}
    except IsothermError as error:
        # It was valid when it was stored, but calls a function that is not installed any more.
        log.warning("a stored template cannot be read", traversal=traversal.id, error=str(error))
    return DefinitionSource(
        traversal_id=traversal.id,
        source=stored.source,
        parameters={name: value for name, value in context["parameters"].items() if not is_pseudo(name)},
        hidden=frozenset(context.get("hidden", ())),
        files=stored.files,
        environments=_environments(stored, limits),
        resources=resources,
    )


def _without_place(definition: ResourceDefinition) -> Mapping[str, object]:
    return {key: value for key, value in definition.fragment().items() if key not in PLACE_KEYS}


def _environments(stored: StoredTemplate, limits: Limits) -> dict[str, str]:
    found = {}
    for file, source in stored.environments:
        document, _ = read_document(source, file=file, limits=limits)
        data = document.data if isinstance(document.data, Mapping) else {}
        shown = {name: data[name] for name in _SHOWN if name in data}
        found[file] = yaml.safe_dump(shown, sort_keys=True) if shown else ""
    return found
