"""Warnings about a valid job: parts that are accepted, though perhaps not meant, or that will not be for ever."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from orchestrator.errors import Problem
from orchestrator.template.locations import is_template
from orchestrator.validation.deprecations import outdated_warnings
from orchestrator.validation.examiner import Examined
from orchestrator.validation.rules import Types

#: The most warnings that are returned: they are stored with each traversal.
MOST_WARNINGS: Final = 50


def warnings_of(examined: Examined, types: Types) -> tuple[Problem, ...]:
    """Return the warnings about a job's environments, template and nested templates, each once, up to the limit."""
    every = chain(examined.environment.warnings, _doubtful(examined), outdated_warnings(examined, types))
    found = tuple(islice(dict.fromkeys(every), MOST_WARNINGS + 1))
    if len(found) <= MOST_WARNINGS:
        return found
    more = Problem(message=f"these are the first {MOST_WARNINGS - 1} warnings; there are more")
    return (*found[: MOST_WARNINGS - 1], more)


def _doubtful(examined: Examined, *, is_generated: bool = False) -> Iterator[Problem]:
    """Yield the warnings about the texts of a template and its nested templates, not of generated ones."""
    if not is_generated:
        yield from examined.template.warnings()
    for name, nested in examined.nested.items():
        yield from _doubtful(nested, is_generated=not is_template(examined.types[name]))
