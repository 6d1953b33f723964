"""What tells one definition of a stack in a stack from another: an update visits only where it differs."""

import hashlib
from collections.abc import Iterator, Mapping

import msgpack

from orchestrator.definition import is_unknown
from orchestrator.template.locations import FilesFrom
from orchestrator.template.template import Template
from orchestrator.validation.examiner import Examined


def fingerprint(examined: Examined, digests: Mapping[str, str]) -> str:
    """Return what tells one definition of a stack in a stack from another, as far as it is known beforehand.

    ``digests`` are those of the files that came with the outermost template, by key.
    """
    template = examined.template
    files = {digests[key] for key in _files_of(template) if key in digests}
    values = {name: "?" if is_unknown(value) else value for name, value in examined.parameters.values.items()}
    hooks = {name: sorted(examined.environment.registry.hooks((name,))) for name in template.resources}
    nested = {name: fingerprint(each, digests) for name, each in examined.nested.items()}
    parts = [template.source, *(sorted(each.items()) for each in (values, examined.types, hooks, nested))]
    return hashlib.sha256(msgpack.packb([*parts, sorted(files)])).hexdigest()


def _files_of(template: Template) -> Iterator[str]:
    for definition in template.resources.values():
        for name in definition.required_files:
            key = template.files.key(name) if isinstance(template.files, FilesFrom) else name
            if key is not None:
                yield key
