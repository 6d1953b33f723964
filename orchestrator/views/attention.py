"""Views of what needs a person: findings, grouped by kind."""

from dataclasses import dataclass
from typing import Any, Final

from orchestrator.views.stacks import View

#: The kinds of findings with their titles, the most urgent first.
KINDS: Final = {
    "database": "Database",
    "broker": "Broker",
    "process": "Workers and coordinators",
    "machine": "Lost nodes",
    "failed": "Failed stacks",
    "stuck": "Stuck stacks",
    "held": "Resources held at a breakpoint",
    "quiet": "Operations without progress",
    "rolled_back": "Stacks that were rolled back",
    "partial": "Stacks updated in part",
    "drift": "Stacks changed by others",
    "stale": "Stacks with outdated values",
    "sink": "Event sinks that are behind",
    "cache": "Caches",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(View):
    """One thing that needs a person."""

    #: One of ``KINDS``.
    kind: str
    #: Its subject: the name of a stack, a node, a sink or a cache.
    subject: str
    #: The state of the subject, a few words or a sentence.
    what: str
    #: Why it matters, and what to do, in a sentence.
    why: str
    #: By the database's clock; None if unknown.
    since: float | None = None
    #: The page of the dashboard about it, as a path from the dashboard's root; empty for none.
    page: str = ""
    #: The command that does it, or shows more.
    command: str = ""
    #: What a button does: retry, cancel or clear_hook; empty for none.
    action: str = ""
    #: The stack and its operation, and for ``clear_hook`` the resource and the kind of its breakpoint.
    stack: str = ""
    stack_id: str = ""
    traversal_id: str = ""
    resource: str = ""
    hook: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingGroup(View):
    """All findings of one kind."""

    kind: str
    title: str
    #: At most as many as are shown.
    findings: tuple[Finding, ...]
    #: The number of all.
    total: int
    #: The page that lists all of them, as a path from the dashboard's root; empty for none.
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionView(View):
    """What needs a person in one project, the most urgent kind first."""

    project: str
    #: By the database's clock.
    as_of: float
    groups: tuple[FindingGroup, ...] = ()

    @property
    def total(self) -> int:
        """The number of all findings."""
        return sum(group.total for group in self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, ``total`` among them."""
        # super() without arguments does not work in a dataclass with slots, which is a new class.
        return {**View.to_dict(self), "total": self.total}
