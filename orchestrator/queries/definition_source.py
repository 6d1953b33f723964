"""A definition that a stack was given, read from the store as far as two of them are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
import yaml

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import IsothermError
from orchestrator.planning.stored_templates import load_template
from orchestrator.queries.definitions import is_pseudo
from orchestrator.store.history.past import TraversalRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.templates import StoredTemplate
from orchestrator.template.definitions import PLACE_KEYS, ResourceDefinition
from orchestrator.template.document import read_document

log = structlog.get_logger()

#: What is told of an environment: nothing that may hold values of parameters, or passwords of who is told of events.
_TOLD: Final = ("resource_registry", "parameter_merge_strategies")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A definition."""

    traversal_id: str
    #: The template's text, whose values are not masked.
    source: str
    #: By name, without those that every stack has; and the names of the hidden ones.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    #: Files by name, each with its digest; environments by name, with as much of their text as may be shown.
    files: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, str] = field(default_factory=dict)
    #: What the template says of each resource that it wants, wherever in the text that stands; None if nobody can tell.
    resources: Mapping[str, Any] | None = None


def given_by(store: Store, settings: Settings, traversal: TraversalRow) -> Given:
    """Return the definition that an operation gave a stack, or went by."""
    stored = store.templates.load(traversal.template_id)
    context = store.traversals.context(traversal.id)
    limits = Limits.of(settings)
    resources: dict[str, Any] | None = None
    try:
        template = load_template(store, traversal.template_id, context, settings)
        resources = {name: _said(definition) for name, definition in template.resources.items()}
    except IsothermError as error:
        # It was sound when it was stored: by now, a function that it calls is not installed here any more.
        log.warning("a stored template cannot be read", traversal=traversal.id, error=str(error))
    return Given(
        traversal_id=traversal.id,
        source=stored.source,
        parameters={name: value for name, value in context["parameters"].items() if not is_pseudo(name)},
        hidden=frozenset(context.get("hidden", ())),
        files=stored.files,
        environments=_environments(stored, limits),
        resources=resources,
    )


def _said(definition: ResourceDefinition) -> dict[str, Any]:
    return {key: value for key, value in definition.fragment().items() if key not in PLACE_KEYS}


def _environments(stored: StoredTemplate, limits: Limits) -> dict[str, str]:
    told = {}
    for file, source in stored.environments:
        document, _ = read_document(source, file=file, limits=limits)
        data = document.data if isinstance(document.data, Mapping) else {}
        shown = {name: data[name] for name in _TOLD if name in data}
        told[file] = yaml.safe_dump(shown, sort_keys=True) if shown else ""
    return told
