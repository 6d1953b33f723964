"""Stored templates and environments, parsed again."""

from collections.abc import Mapping
from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import LazyFiles
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.plugins.registry import installed_types
from orchestrator.store.store import Store
from orchestrator.template.locations import FilesFrom
from orchestrator.template.nested_templates import environment_within
from orchestrator.template.resource_registry import Registry
from orchestrator.template.template import Template
from orchestrator.validation.job import environment_of


def load_template(store: Store, template_id: str, context: Mapping[str, Any], settings: Settings) -> Template:
    """Return a stored template, parsed with the parameter values of a traversal's context."""
    stored = store.templates.load(template_id)
    content = LazyFiles(stored.files, store.templates.file)
    return Template.parse(
        stored.source,
        file=stored.file,
        files=FilesFrom(stored.base, content) if stored.base else content,
        limits=Limits.of(settings),
        values=context["parameters"],
        hidden=context.get("hidden", ()),
    )


def load_registry(store: Store, template_id: str, settings: Settings) -> Registry:
    """Return the resource registry of a stored template's environments."""
    stored = store.templates.load(template_id)
    sources = tuple(EnvironmentSource(file=file, source=source) for file, source in stored.environments)
    job = StackJob(name="", template="", template_file=stored.file, environments=sources)
    environment, _ = environment_of(job, Limits.of(settings), installed_types())
    if stored.nesting is not None:
        environment, _ = environment_within(environment, stored.nesting, {})
    return environment.registry
