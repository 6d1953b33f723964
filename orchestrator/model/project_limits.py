"""Limits of a project: their names, and the refusal of what exceeds one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from orchestrator.errors import Conflict, InvalidInput, Problem

STACKS: Final = "stacks"
RESOURCES: Final = "resources"
JOBS: Final = "jobs"
EVALUATION: Final = "evaluation_seconds"
STREAMS: Final = "streams"
TEMPLATE: Final = "template_bytes"
SOFTWARE: Final = "software"

#: What is limited, by the limit's name.
WHAT: Final[Mapping[str, str]] = {
    STACKS: "stacks, nested ones not counted",
    RESOURCES: "resources in all stacks, nested ones included",
    JOBS: "jobs waiting",
    EVALUATION: "seconds of processor time a minute for the evaluation of templates",
    STREAMS: "streams of events open on a dashboard",
    TEMPLATE: "bytes in a job's template, files and environments",
    SOFTWARE: "software configs and deployments",
}

#: The word for any number, and how many digits another may have.
UNLIMITED: Final = "unlimited"
_MOST_DIGITS: Final = 15
#: The most of each by name; None for any number.
ProjectLimits = Mapping[str, float | None]
NO_LIMITS: Final[ProjectLimits] = MappingProxyType({})


def refuse_beyond(limits: ProjectLimits, name: str, project: str, *, used: float, wanted: float) -> None:
    """Refuse what would take a project beyond one of its limits.

    Raises:
        Conflict: it would; the sentence has the limit, what is used of it and what was wanted.
    """
    most = limits.get(name)
    if most is not None and used + wanted > most:
        raise Conflict(
            f"limit {name!r}: project {project!r} may have {as_text(most)} {WHAT[name]}; it has {as_text(used)}, and "
            f"this needs {as_text(wanted)} more (an administrator raises it with "
            f"'isotherm project limits set {project} {name}=NUMBER')"
        )


def limited(limits: ProjectLimits, added: Mapping[str, int]) -> Mapping[str, int]:
    """Return what is added of that for which there is a limit."""
    return {name: count for name, count in added.items() if count and limits.get(name) is not None}


def read_limits(given: Mapping[str, str]) -> ProjectLimits:
    """Return limits of texts, each a number or ``unlimited``.

    Raises:
        InvalidInput: there is no such limit, or a text is neither.
    """
    problems = [
        Problem(path=name, message="there is no such limit", hint=f"limits: {', '.join(WHAT)}")
        for name in given
        if name not in WHAT
    ]
    limits: dict[str, float | None] = {}
    for name, text in given.items():
        digits = text.replace(".", "", 1) if name == EVALUATION else text
        if text == UNLIMITED:
            limits[name] = None
        elif digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
            limits[name] = float(text)
        else:
            message = f"expected a number from 0 on, or {UNLIMITED!r}, got {text!r}"
            problems.append(Problem(path=name, message=message))
    if problems:
        raise InvalidInput(problems)
    return limits


def as_text(amount: float) -> str:
    """Return a number as people write it."""
    return f"{amount:.0f}" if float(amount).is_integer() else f"{amount:.2f}"
