"""Pruning of a definition's files: only those that its template, environments and nested templates refer to."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource
from orchestrator.template.document import Document, read_document
from orchestrator.template.environment_reader import EnvironmentReader
from orchestrator.template.files import file_references, registry_references
from orchestrator.template.locations import base_between, base_of_key

#: Words that mark a file as a possible template, whose own references count as well.
_TEMPLATE_MARKS = ("heat_template_version", "AWSTemplateFormatVersion", "HeatTemplateFormatVersion")


def named_files(
    template: str,
    *,
    template_file: str,
    environments: Iterable[EnvironmentSource],
    files: Mapping[str, str],
    limits: Limits,
) -> dict[str, str]:
    """Return those of ``files`` that the template, its environments and nested templates may read.

    All files are returned if the name of one is a call, or if a text cannot be parsed, which validation reports.
    """
    named: set[str] = set()
    try:
        waiting = list(_keys(_read(template, template_file, limits), base=""))
        for source in environments:
            waiting += _targets(_read(source.source, source.file, limits), source.file, template_file)
        while waiting:
            key = waiting.pop()
            if key in named or key not in files:
                continue
            named.add(key)
            if any(mark in files[key] for mark in _TEMPLATE_MARKS):
                waiting += _keys(_read(files[key], key, limits), base=base_of_key(key))
    except (InvalidInput, _AnyFile):
        return dict(files)
    return {key: content for key, content in files.items() if key in named}


class _AnyFile(Exception):
    """The name of a file is a call: any file may be read."""


def _read(text: str, file: str, limits: Limits) -> Document:
    document, _ = read_document(text, file=file, limits=limits)
    return document


def _keys(document: Document, *, base: str) -> Iterator[str]:
    """Yield the keys of the files that a template refers to; its names are relative to ``base``."""
    if _has_computed_name(document.data):
        raise _AnyFile
    for reference in file_references(document, base=base, location=""):
        yield reference.key


def _targets(document: Document, file: str, template_file: str) -> Iterator[str]:
    environment = EnvironmentReader(document, [], base_between(file, template_file)).read()
    for reference in registry_references(environment, file):
        yield reference.key


def _has_computed_name(value: object) -> bool:
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(value.get("get_file"), (dict, list)):
            return True
        return any(map(_has_computed_name, value.values()))
    return isinstance(value, list) and any(map(_has_computed_name, value))
