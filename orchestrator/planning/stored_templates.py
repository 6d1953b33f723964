"""Stored templates and environments, parsed again."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from orchestrator.config.limits import Limits
from orchestrator.definition import LazyFiles, StackSource
from orchestrator.template.locations import FilesFrom
from orchestrator.template.template import Draft, Template

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.model.messages import StackJob
    from orchestrator.store.stacks.stacks import StackRow
    from orchestrator.store.store import Store
    from orchestrator.store.traversals.templates import StoredTemplate
    from orchestrator.template.environment import Environment
    from orchestrator.template.resource_registry import Registry


def load_template(
    store: "Store", template_id: str, context: Mapping[str, Any], settings: "Settings"
) -> Template:
    """Return a stored template, parsed with the parameter values of a traversal's context."""
    draft = load_draft(store, template_id, settings)
    return draft.valid_under(context["parameters"], context.get("hidden", ()))


def load_draft(store: "Store", template_id: str, settings: "Settings") -> Draft:
    """Return the parts of a stored template that do not depend on values."""
    stored = store.templates.load(template_id)
    content = LazyFiles(stored.files, store.templates.file)
    files = FilesFrom(stored.base, content) if stored.base else content
    return Draft.read(stored.source, file=stored.file, files=files, limits=Limits.of(settings))


def load_registry(store: "Store", template_id: str, settings: "Settings") -> "Registry":
    """Return the resource registry of a stored template's environments."""
    return _environment(store.templates.load(template_id), settings).registry


def load_source(
    store: "Store", template_id: str, context: Mapping[str, Any], settings: "Settings"
) -> StackSource:
    """Return the source of a stack with a stored template and a traversal's context; the parent's is read later."""
    from orchestrator.template.document import read_document
    from orchestrator.template.parameters import Parameters
    from orchestrator.template.stack_source import stack_source
    from orchestrator.template.version_reader import read_version

    stored = store.templates.load(template_id)
    document, _ = read_document(stored.source, file=stored.file, limits=Limits.of(settings))
    version = read_version(document, [])
    return stack_source(
        stored.source,
        version.date if version else "",
        _environment(stored, settings),
        Parameters(values=context["parameters"], hidden=frozenset(context.get("hidden", ()))),
        partial(_parent_source, store, context["id"], settings) if stored.nesting else None,
    )


def _parent_source(store: "Store", stack_id: str, settings: "Settings") -> StackSource:
    stack = store.stacks.by_id(stack_id)
    parent = store.stacks.by_id(stack.parent_id) if stack and stack.parent_id else None
    if parent is None:
        return StackSource()
    context = store.traversals.context(parent.traversal_id)
    return load_source(store, parent.template_id, context, settings)


def _environment(stored: "StoredTemplate", settings: "Settings") -> "Environment":
    """Return the environment of a stored definition, with the values of its job."""
    from orchestrator.model.messages import EnvironmentSource, StackJob
    from orchestrator.plugins.registry import installed_types
    from orchestrator.template.nested_templates import environment_within
    from orchestrator.validation.job import environment_of

    job = StackJob(
        name="",
        template="",
        template_file=stored.file,
        environments=tuple(
            EnvironmentSource(file=file, source=source) for file, source in stored.environments
        ),
        parameters={} if stored.nesting else dict(stored.parameters),
    )
    environment, _ = environment_of(job, Limits.of(settings), installed_types())
    if stored.nesting is not None:
        environment, _ = environment_within(environment, stored.nesting, stored.parameters)
    return environment


def job_of_template(store: "Store", stack: "StackRow", template_id: str, *, job_id: str = "") -> "StackJob":
    """Return the job of an update to the stored template ``template_id``, secrets included."""
    from orchestrator.model.messages import EnvironmentSource, StackJob

    stored = store.templates.load(template_id)
    return StackJob(
        name=stack.name,
        project=stack.project,
        template=stored.source,
        template_file=stored.file,
        files={key: store.templates.file(digest) for key, digest in stored.files.items()},
        environments=tuple(
            EnvironmentSource(file=file, source=source) for file, source in stored.environments
        ),
        parameters=stored.parameters,
        timeout_minutes=stack.timeout_minutes,
        job_id=job_id,
    )
