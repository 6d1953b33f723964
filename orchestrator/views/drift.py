"""Views of drift and of observations."""

from dataclasses import dataclass
from typing import Any

from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftView(View):
    """A difference between a resource and its object."""

    #: The name of the resource, with those of the resources that it is nested in before it, separated by slashes.
    resource: str
    type: str
    #: The path of the property; empty: the object is gone.
    key: str
    #: Both values; None if they are secrets, which ``hidden`` says.
    recorded: Any
    observed: Any
    hidden: bool
    #: When it was found first and last, and by how many observations.
    since_at: float
    seen_at: float
    times: int
    #: What is done about it: reported, repairing, postponed or left alone; and why.
    standing: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView(View):
    """What a round of observations did about a stack."""

    stack: str
    #: Whether it was observed in this round.
    observed: bool
    #: How many resources have drift on record, and how many repairs the round has begun.
    drifted: int
    repaired: int
    #: Why nothing, or not all, was observed.
    trouble: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationView(View):
    """The observation of a stack: its policy, and when it was and will be observed."""

    stack: str
    mode: str
    interval_seconds: float
    window: str
    repairs_per_hour: int
    gone: str
    replace: bool
    ignore: tuple[str, ...]
    report_only: tuple[str, ...]
    #: When it was observed as a whole, and when it is next; None: never.
    observed_at: float | None
    due_at: float | None
    #: Why nothing, or not all, was observed the last time.
    trouble: str
    #: How many resources were repaired within the last day.
    repairs: int
