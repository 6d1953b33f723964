"""Descriptions of the language's functions and versions, for the command line and the language reference.

The classes of the functions are the only source: their docstrings, lifetimes and examples.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from inspect import cleandoc
from typing import Any, Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.definition import ParentResourceProxy
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.functions.base import Example
from orchestrator.template.functions.registry import (
    CallableClass,
    all_functions,
    condition_functions_of,
    functions_of,
)
from orchestrator.template.versions import (
    FORMATS,
    HOT,
    Lifetime,
    TemplateVersion,
    find_version,
    version_of_date,
)

_ALL_VERSIONS: Final = tuple(version for versions in FORMATS.values() for version in versions)
#: The first line of a function's docstring: the forms of its call, and the result.
_FIRST_LINE: Final = re.compile(r"(?P<calls>``[^`]+``(?: or ``[^`]+``)*): (?P<summary>.+)")
_CALL: Final = re.compile(r"``([^`]+)``")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of versions of one format that have a feature."""

    since: TemplateVersion
    #: The first version that no longer has it.
    until: TemplateVersion | None = None

    @classmethod
    def of(cls, has: Iterable[TemplateVersion], key: str) -> "Span | None":
        """Return the versions among ``has`` whose version key is ``key``; None if there are none."""
        having = [version for version in has if version.key == key]
        if not having:
            return None
        later = [version for version in FORMATS[key] if version > having[-1]]
        return cls(since=having[0], until=later[0] if later else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDescription:
    """The description of one function."""

    name: str
    #: The forms of its call, such as ``get_param: name``; the name alone where its author gives none.
    calls: tuple[str, ...]
    #: The result of a call, in one line; code is in backquotes, here and in the details.
    summary: str
    #: Further paragraphs.
    details: tuple[str, ...]
    #: The versions in which values can call it, and those in which conditions can, format by format.
    versions: tuple[TemplateVersion, ...]
    condition_versions: tuple[TemplateVersion, ...]
    examples: tuple[Example, ...]

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON types: versions by their dates."""
        return {
            "name": self.name,
            "calls": list(self.calls),
            "summary": self.summary,
            "details": list(self.details),
            "versions": [version.date for version in self.versions],
            "condition_versions": [version.date for version in self.condition_versions],
            "examples": [_plain_example(example) for example in self.examples],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDescription:
    """One version, and its differences from the previous version of the same format."""

    version: TemplateVersion
    #: The names of functions that values can call, those that conditions can call, and those that are gone.
    adds: tuple[str, ...]
    adds_in_conditions: tuple[str, ...]
    removes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "date": self.version.date,
            "alias": self.version.alias,
            "format": self.version.key,
            "adds": list(self.adds),
            "adds_in_conditions": list(self.adds_in_conditions),
            "removes": list(self.removes),
        }


def describe_function(function: CallableClass) -> FunctionDescription:
    """Return the description of a function, read from its class."""
    first, *paragraphs = [" ".join(part.split()) for part in cleandoc(function.__doc__ or "").split("\n\n")]
    found = _FIRST_LINE.fullmatch(first)
    return FunctionDescription(
        name=function.name,
        calls=tuple(_CALL.findall(found["calls"])) if found else (function.name,),
        summary=_in_backquotes(found["summary"] if found else first),
        details=tuple(map(_in_backquotes, paragraphs)),
        versions=_versions_in(function.lifetime),
        condition_versions=_versions_in(function.in_conditions),
        # Inherited examples show the call of another function.
        examples=tuple(vars(function).get("examples", ())),
    )


def describe_functions(
    version: TemplateVersion | None = None, *, in_conditions: bool = False
) -> list[FunctionDescription]:
    """Return the functions that templates of ``version`` can call, by name; all functions if it is None.

    With ``in_conditions``, those that conditions can call.

    Raises:
        PluginMistake: an installed function cannot be loaded.
    """
    functions = all_functions()
    if version is not None:
        functions = condition_functions_of(version) if in_conditions else functions_of(version)
    return [describe_function(functions[name]) for name in sorted(functions)]


def describe_versions() -> list[VersionDescription]:
    """Return all versions, HOT's first, each format from its oldest version to its latest.

    Raises:
        PluginMistake: an installed function cannot be loaded.
    """
    described = []
    for versions in FORMATS.values():
        before: Mapping[str, CallableClass] = {}
        before_in_conditions: Mapping[str, CallableClass] = {}
        for version in versions:
            functions, in_conditions = functions_of(version), condition_functions_of(version)
            gone = (before.keys() | before_in_conditions.keys()) - functions.keys() - in_conditions.keys()
            described.append(
                VersionDescription(
                    version=version,
                    adds=tuple(sorted(functions.keys() - before.keys())),
                    adds_in_conditions=tuple(sorted(in_conditions.keys() - before_in_conditions.keys())),
                    removes=tuple(sorted(gone)),
                )
            )
            before, before_in_conditions = functions, in_conditions
    return described


def version_named(name: str) -> TemplateVersion:
    """Return the version with this date or code name, with or without its key: ``heat_template_version.rocky``.

    Raises:
        InvalidInput: there is none; the hint names the nearest.
    """
    key, _, rest = name.rpartition(".")
    version = find_version(rest, key) if key in FORMATS else version_of_date(name) or find_version(name)
    if version is None:
        names = [each for known in _ALL_VERSIONS for each in (known.date, known.alias) if each]
        hint = Nearest().hint(rest or name, names, f"versions: {', '.join(names)}")
        raise InvalidInput(
            [Problem(message=f"there is no version {name[:80]!r}", path="--version", hint=hint)]
        )
    return version


def latest_version() -> TemplateVersion:
    """Return the latest version of HOT."""
    return FORMATS[HOT][-1]


def _versions_in(lifetime: Lifetime) -> tuple[TemplateVersion, ...]:
    return tuple(version for version in _ALL_VERSIONS if version in lifetime)


def _in_backquotes(text: str) -> str:
    return text.replace("``", "`")


def plain_parent(parent: ParentResourceProxy) -> dict[str, object]:
    """Return the parts of a parent that an example gives."""
    return {
        "name": parent.name,
        "metadata": parent.metadata,
        "deletion_policy": parent.deletion_policy,
        "update_policy": parent.update_policy,
    }


def _plain_example(example: Example) -> dict[str, object]:
    given = {
        each.name: getattr(example, each.name) for each in fields(example) if getattr(example, each.name)
    }
    if example.parent is not None:
        given["parent"] = plain_parent(example.parent)
    return {**given, "call": example.call, "result": example.result}
