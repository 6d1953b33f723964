"""Fingerprints of definitions: of what was applied to a resource, and of a nested stack.

An update compares them with what is desired, and visits only where they differ.
"""

import hashlib
from collections.abc import Iterator, Mapping

import msgpack

from orchestrator.definition import is_unknown
from orchestrator.template.locations import FilesFrom
from orchestrator.template.template import Template
from orchestrator.validation.examiner import Examined


def fingerprint(examined: Examined, digests: Mapping[str, str]) -> str:
    """Return a hash of a nested stack's definition, with unknown values masked.

    ``digests`` are those of the files of the root template, by key.
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


def definition_hash(type_name: str, properties: Mapping[str, object], type_version: int) -> str:
    """Return a hash of a type, the version of its code, and resolved properties."""
    parts = [type_name, type_version, sorted(properties.items())]
    return hashlib.sha256(msgpack.packb(parts)).hexdigest()


def metadata_hash(metadata: Mapping[str, object]) -> str:
    """Return a hash of resolved metadata."""
    return hashlib.sha256(msgpack.packb(sorted(metadata.items()))).hexdigest()
