"""Views of projects: their limits, and what they use."""

from dataclasses import dataclass

from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectLimitView(View):
    """A limit that was set for a project."""

    project: str
    limit: str
    #: None for any number.
    most: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectUsageView(View):
    """What a project uses of one of its limits."""

    project: str
    limit: str
    #: What is limited, in words.
    what: str
    #: None where that is not counted.
    used: float | None
    #: None for any number.
    most: float | None
