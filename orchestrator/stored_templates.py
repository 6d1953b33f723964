"""Stored templates, read again."""

from collections.abc import Mapping
from typing import Any

from orchestrator.definition import LazyFiles
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from orchestrator.store.store import Store
from orchestrator.template.locations import FilesFrom
from orchestrator.template.template import Template


def load_template(store: Store, template_id: str, context: Mapping[str, Any], settings: Settings) -> Template:
    """Return a stored template under the values of a traversal's context, read again: it was sound when stored."""
    stored = store.templates.load(template_id)
    content = LazyFiles(stored.files, store.templates.file)
    return Template.parse(
        stored.source,
        file=stored.file,
        files=FilesFrom(stored.base, content) if stored.base else content,
        limits=Limits.of(settings),
        values=context["parameters"],
    )
