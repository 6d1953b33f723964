"""Detection of the format and version of a template."""

from orchestrator.errors import Problem
from orchestrator.template.document import Document
from orchestrator.template.functions.base import kind_of
from orchestrator.template.versions import (
    FORMATS,
    HOT,
    VERSIONS,
    TemplateVersion,
    find_version,
    nearest_version,
)


def read_version(document: Document, problems: list[Problem]) -> TemplateVersion | None:
    """Return the version that a document names; None, after recording a problem, if it names none."""
    data, positions = document.data, document.positions
    if not isinstance(data, dict):
        found = "nothing" if data is None else kind_of(data)
        problems.append(positions.problem((), f"expected a template, a map with {HOT!r}, found {found}"))
        return None
    named = [key for key in FORMATS if isinstance(data.get(key), str)]
    if len(named) > 1:
        message = f"only one version can be given, but there is {named[0]!r} as well"
        problems.append(positions.problem((named[1],), message))
    elif not named:
        wrong = next((key for key in FORMATS if key in data), None)
        if wrong is None:
            message, hint = f"there is no {HOT!r}", f"the latest is {VERSIONS[-1].date}"
            problems.append(positions.problem((), message, hint))
        else:
            message = f"expected a version as text, found {kind_of(data[wrong])}"
            problems.append(positions.problem((wrong,), message))
    else:
        (key,) = named
        given = data[key][:80]
        version = find_version(data[key], key)
        if version is None:
            message, hint = f"there is no version {given!r}", nearest_version(given, key)
            problems.append(positions.problem((key,), message, hint))
        return version
    return None
